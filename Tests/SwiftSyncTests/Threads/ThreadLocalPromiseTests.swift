import Testing

@testable import SwiftSync

/// What an instantiator may do inside itself.
struct ThreadLocalPromiseTests {
    @Test func namespacesAreToldApartWhateverTheInstantiatorIsCalled() {
        let first = ThreadLocalValue<Int>(namespace: "promise 1", key: "same", valueProvider: nil)
        let second = ThreadLocalValue<Int>(namespace: "promise 2", key: "same", valueProvider: nil)
        first.setValue(1)
        #expect(first.cachedValue() == 1 && second.cachedValue() == nil)
        first.setValue(nil)
    }

    @Test func whatWasMadeForABodyIsNotFoundInsideOfIt() {
        let value = ThreadLocalValue<Int>(key: "made for a body") { _ in 7 }
        value.withValue { number in
            #expect(number == 7)
            #expect(value.cachedValue() == nil)
        }
        #expect(value.cachedValue() == 7)
        value.setValue(nil)
    }

    @Test func anInstantiatorIsStillGuardedAfterAnotherKeysRanInsideIt() {
        let calls = Shared(), seen = Shared<[Int?]>([])
        let inner = ThreadLocalValue<Int>(namespace: "ThreadLocalPromiseTests", key: "inner") { _ in 1 }
        let outer = ThreadLocalValue<Int>(namespace: "ThreadLocalPromiseTests", key: "outer") { own in
            calls.increment()
            // Without its guard it would come here again and again.
            guard calls.value == 1 else { return -1 }
            seen.append(inner.value())
            seen.append(own.value())
            return 2
        }
        Threads.run(1) { _ in seen.append(outer.value()) }
        #expect(calls.value == 1)
        #expect(seen.value == [1, nil, 2])
    }

    @Test func anInstantiatorIsGuardedInsideAnotherKeysThatItAskedFor() {
        let calls = Shared(), seen = Shared<[Int?]>([])
        let outer = ThreadLocalValue<Int>(namespace: "ThreadLocalPromiseTests", key: "asks") { own in
            calls.increment()
            guard calls.value == 1 else { return -1 }
            let inner = ThreadLocalValue<Int>(namespace: "ThreadLocalPromiseTests", key: "is asked") { _ in
                own.value() ?? 7
            }
            seen.append(inner.value())
            return 2
        }
        Threads.run(1) { _ in seen.append(outer.value()) }
        #expect(calls.value == 1)
        #expect(seen.value == [7, 2])
    }
}
