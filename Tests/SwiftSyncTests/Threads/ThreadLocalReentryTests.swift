import Testing

@testable import SwiftSync

/// Instantiators and `deinit`s that use the slot that they are called for.
@Suite(.endsInTime)
struct ThreadLocalReentryTests {
    @Test
    func anInstantiatorThatAsksForItsOwnValueGetsNilAndIsNotAskedAgain() {
        let asked = Shared()
        let value = ThreadLocalValue<Int>(key: "ThreadLocalReentryTests.value") { instance in
            asked.increment()
            let inside = instance.value()
            #expect(inside == nil && instance.cachedValue() == nil)
            #expect(instance.value { 5 } == 5)
            return (instance.value() ?? 0) + 1
        }
        Threads.run(1) { _ in
            #expect(value.value() == 6, "what it returns replaces what it has set")
            #expect(value.value() == 6 && asked.value == 1)
            value.setValue(nil)
            #expect(value.value() == 6 && asked.value == 2)
        }
    }

    @Test
    func anInstantiatorThatSetsAndReturnsNil() {
        let value = ThreadLocalValue<Int>(key: "ThreadLocalReentryTests.set") { instance in
            instance.setValue(3)
            return nil
        }
        Threads.run(1) { _ in
            #expect(value.value() == nil)
            #expect(value.value() == 3)
        }
    }

    @Test
    func instantiatorsThatAskForEachOther() {
        let first = Shared<ThreadLocalValue<[String]>?>(nil)
        let second = ThreadLocalValue<[String]>(key: "ThreadLocalReentryTests.second") { _ in
            (first.value!.value() ?? ["nil"]) + ["second"]
        }
        first.access {
            $0 = ThreadLocalValue(key: "ThreadLocalReentryTests.first") { _ in (second.value() ?? []) + ["first"] }
        }
        Threads.run(1) { _ in
            #expect(first.value!.value() == ["nil", "second", "first"])
            #expect(second.value() == ["nil", "second"])
        }
    }

    /// Calls `atEnd` when it goes.
    private final class Ending: @unchecked Sendable {
        let atEnd: @Sendable () -> Void
        private let tracked: Tracked
        init(_ alive: Shared<Int>, _ atEnd: @escaping @Sendable () -> Void) {
            tracked = Tracked(alive)
            self.atEnd = atEnd
        }
        deinit { atEnd() }
    }

    @Test
    func aReplacedValuesDeinitSeesTheNewOneAndMaySetAnother() {
        let alive = Shared()
        let value = ThreadLocalValue<Ending>(key: "ThreadLocalReentryTests.replaced")
        let number = ThreadLocalValue<Int>(key: value.fullKey)
        Threads.run(1) { _ in
            let new = Ending(alive) {}
            value.setValue(Ending(alive) { #expect(value.cachedValue() === new) })
            value.setValue(new)
            value.setValue(Ending(alive) { number.setValue(4) })
            value.setValue(nil)
            #expect(number.value() == 4)
            value.setValue(Ending(alive) { #expect(number.value() == 6) })
            number.setValue(6)
            #expect(number.value() == 6)
        }
        #expect(alive.value == 0)
    }

    @Test
    func atTheEndOfAThreadADeinitMayUseAllValues() {
        let alive = Shared(), ends = Shared()
        let older = ThreadLocalValue<Tracked>(key: "ThreadLocalReentryTests.older") { _ in Tracked(alive) }
        let value = ThreadLocalValue<Ending>(key: "ThreadLocalReentryTests.end")
        let newer = ThreadLocalValue<Tracked>(key: "ThreadLocalReentryTests.newer") { _ in Tracked(alive) }
        Threads.run(4) { _ in
            older.setValue(Tracked(alive, number: 8))
            value.setValue(
                Ending(alive) {
                    #expect(value.cachedValue() == nil)
                    #expect(older.value()?.number == 8, "older keys' values are still there")
                    #expect(newer.value()?.number == 0, "newer ones are made anew")
                    value.setValue(Ending(alive) { ends.increment() })
                    ends.increment()
                })
            #expect(newer.value() != nil)
        }
        #expect(ends.value == 8)
        #expect(alive.value == 0)
    }

    @Test
    func valuesThatMakeOthersForEverEndWithTheirThreadAndLeakNothing() {
        let alive = Shared(), ends = Shared()
        let value = ThreadLocalValue<Ending>(key: "ThreadLocalReentryTests.ever") { instance in
            // Each makes its successor at its end.
            Ending(alive) {
                ends.increment()
                _ = instance.value()
            }
        }
        Threads.run(4) { _ in #expect(value.value() != nil) }
        #expect(alive.value == 0)
        #expect(ends.value == 4 * 5, "four rounds, and a last one after which nothing is made")

        let set = ThreadLocalValue<Ending>(key: "ThreadLocalReentryTests.everSet"), last = Shared<[Bool]>([])
        @Sendable func successor(_ depth: Int) -> Ending {
            Ending(alive) {
                guard depth < 20 else { return }
                set.setValue(successor(depth + 1))
                last.append(set.cachedValue() != nil)
            }
        }
        Threads.run(1) { _ in set.setValue(successor(0)) }
        #expect(alive.value == 0)
        #expect(last.value.contains(true) && last.value.contains(false))
    }
}
