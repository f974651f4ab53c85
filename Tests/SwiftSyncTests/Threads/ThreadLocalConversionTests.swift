import Testing

@testable import SwiftSync

/// Values that are read as another type than they were set as.
@Suite(.endsInTime)
struct ThreadLocalConversionTests {
    private let alive = Shared()
    private let tracked: ThreadLocalValue<Tracked>
    private let object: ThreadLocalValue<AnyObject & Sendable>
    private let any: ThreadLocalValue<any Sendable>

    init() {
        let key = "ThreadLocalConversionTests \(UInt64.random(in: 0...UInt64.max))"
        tracked = ThreadLocalValue(key: key)
        object = ThreadLocalValue(key: key)
        any = ThreadLocalValue(key: key)
    }

    @Test
    func aValueIsReadAsManyTypesByTurns() {
        Threads.run(1) { _ in
            let value = Tracked(alive, number: 7)
            tracked.setValue(value)
            for _ in 0..<3 {
                #expect(object.value() === value && object.cachedValue() === value)
                #expect((any.value() as? Tracked) === value)
                #expect(tracked.value() === value)
            }
            #expect(object.value() === value)
            object.withValue { #expect($0 === value) }
            #expect(tracked.cachedValue() === value)
        }
        #expect(alive.value == 0)
    }

    @Test
    func aValueIsReadAsAnyAsItIsAndAnEmptyPlaceAsNothing() {
        Threads.run(1) { _ in
            let number = ThreadLocalValue<Int>(key: any.fullKey)
            let made = ThreadLocalValue<any Sendable>(key: any.fullKey) { _ in "made" }
            number.setValue(7)
            #expect(any.value().map { "\($0)" } == "7")
            number.setValue(nil)
            #expect(any.cachedValue() == nil)
            #expect(made.value().map { "\($0)" } == "made")
        }
    }

    private final class AsksAtItsEnd: Sendable {
        let any: ThreadLocalValue<any Sendable>
        init(_ any: ThreadLocalValue<any Sendable>) { self.any = any }
        deinit { _ = any.cachedValue() }
    }

    @Test
    func whatTheInstantiatorMadeIsThereThoughADeinitAsksForItAsAnotherType() {
        Threads.run(1) { _ in
            ThreadLocalValue<AsksAtItsEnd>(key: any.fullKey).setValue(AsksAtItsEnd(any))
            #expect(ThreadLocalValue<Int>(key: any.fullKey) { _ in 7 }.value() == 7)
        }
    }

    @Test
    func aValueThatIsReachedAsAnotherTypeIsNowhereElseMeanwhile() {
        Threads.run(1) { _ in
            tracked.setValue(Tracked(alive, number: 1))
            object.withValue { value in
                #expect(value != nil && tracked.cachedValue() == nil && any.cachedValue() == nil)
            }
            #expect(tracked.cachedValue()?.number == 1)
        }
        #expect(alive.value == 0)
    }

    @Test
    func aValueThatWasReadAsAnotherTypeIsReleasedWhenItIsReplaced() {
        Threads.run(1) { _ in
            tracked.setValue(Tracked(alive, number: 1))
            #expect(object.value() != nil)
            tracked.setValue(Tracked(alive, number: 2))
            #expect(alive.value == 1 && (object.value() as? Tracked)?.number == 2)
            tracked.withValue { $0 = Tracked(alive, number: 3) }
            #expect(alive.value == 1 && (object.value() as? Tracked)?.number == 3)
            any.setValue(4)
            #expect(alive.value == 0 && tracked.cachedValue() == nil)
            tracked.setValue(Tracked(alive, number: 5))
            #expect(object.value() != nil && any.value() != nil)
            object.setValue(nil)
            #expect(alive.value == 0 && tracked.cachedValue() == nil && any.cachedValue() == nil)
            tracked.setValue(Tracked(alive, number: 6))
            #expect(object.value() != nil)
            tracked.setValue(nil)
            #expect(alive.value == 0 && object.cachedValue() == nil)
        }
    }

    @Test
    func aValueThatWasReadAsAnotherTypeEndsWithItsThread() {
        Threads.run(4) { _ in
            tracked.setValue(Tracked(alive))
            #expect(object.value() != nil)
        }
        #expect(alive.value == 0)
    }

    @Test
    func aValueThatIsTakenFromAnotherTypesPlaceComesBackInItsOwn() {
        Threads.run(1) { _ in
            tracked.setValue(Tracked(alive, number: 1))
            object.withValue { $0 = Tracked(alive, number: ($0 as? Tracked).map { $0.number + 1 } ?? 0) }
            #expect(alive.value == 1)
            #expect((object.cachedValue() as? Tracked)?.number == 2 && tracked.cachedValue()?.number == 2)
        }
        #expect(alive.value == 0)
    }
}
