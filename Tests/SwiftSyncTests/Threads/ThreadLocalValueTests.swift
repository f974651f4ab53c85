import Testing

@testable import SwiftSync

/// Keys of this file begin with its name: the tests of a process share them all.
@Suite(.endsInTime)
struct ThreadLocalValueTests {
    @Test
    func keysAndNamespaces() {
        let plain = ThreadLocalValue<Int>(key: "ThreadLocalValueTests.plain")
        #expect(plain.namespace == nil && plain.key == "ThreadLocalValueTests.plain" && plain.fullKey == plain.key)
        let spaced = ThreadLocalValue<Int>(namespace: "ThreadLocalValueTests", key: "key")
        #expect(
            spaced.namespace == "ThreadLocalValueTests" && spaced.key == "key"
                && spaced.fullKey == "ThreadLocalValueTests.key")
        let other = ThreadLocalValue<Int>(namespace: "Other", key: "key")
        Threads.run(1) { _ in
            spaced.setValue(1)
            other.set(2)
            #expect(spaced.value() == 1 && other.value() == 2)
            #expect(
                ThreadLocalValue<Int>(key: "ThreadLocalValueTests.key").cachedValue() == 1, "one full key, one value")
        }
    }

    @Test
    func keysAreComparedWhole() {
        let keys = ["", "a", "a\0", "a\0b", "ä", String(repeating: "k", count: 5000)].map {
            "ThreadLocalValueTests.whole\($0)"
        }
        Threads.run(1) { _ in
            for (index, key) in keys.enumerated() { ThreadLocalValue<Int>(key: key).setValue(index) }
            for (index, key) in keys.enumerated() { #expect(ThreadLocalValue<Int>(key: key).cachedValue() == index) }
        }
    }

    @Test
    func eachThreadHasItsOwn() {
        let made = Shared()
        let value = ThreadLocalValue<Int>(key: "ThreadLocalValueTests.own") { _ in
            made.increment()
            return 100
        }
        Threads.run(8) { index in
            #expect(value.cachedValue() == nil)
            #expect(value.value() == 100)
            for round in 0..<1000 {
                value.setValue(index * 1000 + round)
                #expect(value.value() == index * 1000 + round && value.cachedValue() == index * 1000 + round)
            }
        }
        #expect(made.value == 8)
    }

    @Test
    func theInstantiatorIsAskedWhereThereIsNoneAndItsNilIsNotKept() {
        let asked = Shared(), answer = Shared<String?>(nil)
        let value = ThreadLocalValue<String>(namespace: "ThreadLocalValueTests", key: "asked") { instance in
            asked.increment()
            return answer.value.map { "\(instance.fullKey) \($0)" }
        }
        Threads.run(1) { _ in
            #expect(value.value() == nil && value.value() == nil && value.cachedValue() == nil)
            #expect(asked.value == 2)
            answer.access { $0 = "made" }
            #expect(value.value() == "ThreadLocalValueTests.asked made")
            answer.access { $0 = "other" }
            #expect(value.value() == "ThreadLocalValueTests.asked made" && asked.value == 3)
            value.setValue(nil)
            #expect(value.cachedValue() == nil)
            #expect(value.value() == "ThreadLocalValueTests.asked other" && asked.value == 4)
        }
        let provided = ThreadLocalValue<Int>(key: "ThreadLocalValueTests.provided", valueProvider: { _ in 5 })
        let spaced = ThreadLocalValue<Int>(
            namespace: "ThreadLocalValueTests", key: "provided2", valueProvider: { _ in 6 })
        Threads.run(1) { _ in #expect(provided.value() == 5 && spaced.value() == 6) }
    }

    @Test
    func aValueOfAnotherTypeReadsAsNil() {
        let number = ThreadLocalValue<Int>(key: "ThreadLocalValueTests.types")
        let text = ThreadLocalValue<String>(key: "ThreadLocalValueTests.types") { _ in "made" }
        let any = ThreadLocalValue<any Sendable>(key: "ThreadLocalValueTests.types")
        let optional = ThreadLocalValue<String?>(key: "ThreadLocalValueTests.types")
        Threads.run(1) { _ in
            number.setValue(1)
            #expect(text.cachedValue() == nil && any.cachedValue() as? Int == 1)
            #expect(number.cachedValue() == 1, "looking changes nothing")
            #expect(text.value() == "made")
            #expect(number.value() == nil, "the instantiator's value has taken its place")
            #expect(optional.cachedValue() == .some("made"))
            number.setValue(nil)
            #expect(text.cachedValue() == nil, "nil takes away what is there, whatever it is")
            number.setValue(7)
            #expect(optional.cachedValue() == nil)
            optional.setValue(.some(nil))
            #expect(optional.cachedValue() == .some(nil) && text.cachedValue() == nil)
        }
    }

    private class Base: @unchecked Sendable {}
    private final class Derived: Base, @unchecked Sendable {}

    @Test
    func aSubclassReadsAsItsSuperclass() {
        let base = ThreadLocalValue<Base>(key: "ThreadLocalValueTests.class"),
            derived = ThreadLocalValue<Derived>(key: "ThreadLocalValueTests.class")
        Threads.run(1) { _ in
            let object = Derived()
            derived.setValue(object)
            #expect(base.cachedValue() === object)
            base.setValue(Base())
            #expect(derived.cachedValue() == nil)
        }
    }

    @Test
    func valueOrSetKeepsWhatItMakes() throws {
        struct Failure: Error {}
        let value = ThreadLocalValue<[Int]>(key: "ThreadLocalValueTests.orSet") { _ in [0] }
        Threads.run(1) { _ in
            #expect(throws: Failure.self) { try value.value { () throws(Failure) in throw Failure() } }
            #expect(value.cachedValue() == nil)
            #expect(value.value(orSet: { [1] }) == [1])
            #expect(value.value(orSet: { [2] }) == [1])
        }
    }

    /// It could be sent to another task, without a word from the compiler.
    @Test
    func aValueThatIsNotSendableIsUsedInPlace() {
        final class Counter { var count = 0 }
        let counter = ThreadLocalValue<Counter>(key: "ThreadLocalValueTests.counter") { _ in Counter() }
        let bare = ThreadLocalValue<Counter>(key: "ThreadLocalValueTests.bare")
        Threads.run(4) { _ in
            for _ in 0..<100 { counter.withValue { $0!.count += 1 } }
            #expect(counter.withValue { $0?.count } == 100)
            #expect(bare.withValue { $0 == nil } && bare.withValue { $0 == nil })
            bare.withValue { $0 = Counter() }
            bare.withValue { $0?.count += 7 }
            #expect(bare.withValue { $0?.count } == 7)
            bare.withValue { $0 = nil }
            #expect(bare.withValue { $0 == nil })
        }
    }

    @Test
    func whatABodyLeavesIsKeptAlsoWhenItThrows() {
        struct Failure: Error {}
        let value = ThreadLocalValue<[Int]>(key: "ThreadLocalValueTests.body") { _ in [0] }
        let text = ThreadLocalValue<String>(key: value.fullKey),
            any = ThreadLocalValue<any Sendable>(key: value.fullKey)
        Threads.run(1) { _ in
            #expect(throws: Failure.self) {
                try value.withValue { (array) throws(Failure) in
                    array?.append(1)
                    throw Failure()
                }
            }
            #expect(value.cachedValue() == [0, 1])
            // Inside, the place is empty: whoever asks gets a value of its own, which goes afterwards.
            value.withValue { array in
                #expect(value.cachedValue() == nil && value.value() == [0])
                text.setValue("of another type")
                array?.append(2)
            }
            #expect(value.cachedValue() == [0, 1, 2])
            text.withValue { #expect($0 == nil) }
            #expect(value.cachedValue() == [0, 1, 2], "a look at a value of another type leaves it")
            any.withValue { $0 = nil }
            #expect(value.cachedValue() == nil)
        }
    }

    @Test
    func anArrayIsChangedInPlaceWithoutACopy() {
        let value = ThreadLocalValue<[Int]>(key: "ThreadLocalValueTests.place") { _ in Array(repeating: 0, count: 100) }
        Threads.run(1) { _ in
            let places = (0..<3).map { round in
                value.withValue { array in
                    array![0] = round
                    return array!.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
                }
            }
            #expect(Set(places).count == 1)
        }
    }

    @Test
    func valuesAreReleasedWhenReplacedAndWhenTheirThreadEnds() {
        let alive = Shared()
        let value = ThreadLocalValue<Tracked>(key: "ThreadLocalValueTests.released") { _ in Tracked(alive) }
        let pair = ThreadLocalValue<(Tracked, Tracked)>(key: "ThreadLocalValueTests.pair")
        Threads.run(4) { _ in
            for _ in 0..<100 { value.setValue(Tracked(alive)) }
            pair.setValue((Tracked(alive), Tracked(alive)))
            #expect(value.value() != nil)
        }
        #expect(alive.value == 0)
        Threads.run(1) { _ in
            value.setValue(Tracked(alive, number: 1))
            #expect(alive.value == 1)
            value.setValue(Tracked(alive, number: 2))
            #expect(alive.value == 1 && value.value()?.number == 2)
            ThreadLocalValue<Int>(key: value.fullKey).setValue(1)
            #expect(alive.value == 0)
            #expect(value.value()?.number == 0)
            #expect(alive.value == 1)
            value.setValue(nil)
            #expect(alive.value == 0)
        }
        #expect(alive.value == 0)
    }

    @Test
    func ofDetachedThreadsToo() {
        let alive = Shared(), ended = Shared()
        let value = ThreadLocalValue<Tracked>(key: "ThreadLocalValueTests.detached") { _ in Tracked(alive) }
        for _ in 0..<20 {
            onThread {
                #expect(value.value() != nil)
                ended.increment()
            }
        }
        waitUntil { ended.value == 20 && alive.value == 0 }
    }

    @Test
    func tasksFindTheValuesOfTheThreadTheyAreOn() async {
        let value = ThreadLocalValue<UInt>(key: "ThreadLocalValueTests.tasks") { _ in Threads.current }
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    let before = value.value() == Threads.current
                    await Task.yield()
                    return before && value.value() == Threads.current
                }
            }
            for await right in group { #expect(right) }
        }
    }

    @Test
    func keysHaveNoLimit() {
        Threads.run(2) { thread in
            let values = (0..<3000).map { ThreadLocalValue<Int>(namespace: "ThreadLocalValueTests.many", key: "\($0)") }
            for (index, value) in values.enumerated() { value.setValue(index + thread) }
            #expect(values.enumerated().allSatisfy { $1.value() == $0 + thread })
        }
    }
}
