import Testing

@testable import SwiftSync

/// A predicate that locks its own mutex would wait for itself, on whatever thread it runs. The program stops with a
/// message instead of hanging.
@Suite(.endsInTime)
struct PriorityMutexPredicateTests {
    private func isTold(_ result: ExitTest.Result?) -> Bool {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            .contains(": withLock was called inside a section of the same mutex by the same thread")
    }

    @Test func aPredicateThatLocksStopsTheProgramOnTheThreadThatWaits() async {
        let thread = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityMutex(0)
            mutex.withLock(when: { _ in mutex.withLock { _ in true } }) { _ in }
        }
        #expect(isTold(thread))
        let task = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityMutex(0)
            try await mutex.suspending.withLock(when: { _ in mutex.withLock { _ in true } }) { _ in }
        }
        #expect(isTold(task))
    }

    @Test func aPredicateThatLocksStopsTheProgramOnTheThreadThatLeaves() async {
        let thread = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityMutex(0)
            let waiter = Thread {
                mutex.withLock(when: { value in value == 1 && mutex.withLock { _ in true } }) { _ in }
            }
            await waitUntil { mutex.waitingCount == 1 }
            mutex.withLock { $0 = 1 }
            waiter.join()
        }
        #expect(isTold(thread))
        let task = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityMutex(0)
            let waiter = Task.detached {
                try await mutex.suspending.withLock(when: { $0 == 1 && mutex.withLock { _ in true } }) { _ in }
            }
            await waitUntil { mutex.waitingCount == 1 }
            try await mutex.suspending.withLock { $0 = 1 }
            _ = await waiter.result
        }
        #expect(isTold(task))
    }

    /// A task that begins to wait leaves the mutex in the name of nobody.
    @Test func aPredicateThatLocksStopsTheProgramWhereATaskLeavesInOrderToWait() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityMutex(0), calls = Shared(0)
            @Sendable func locksTheSecondTime(_: borrowing Int) -> Bool {
                let call = calls.access { number in
                    number += 1
                    return number
                }
                return call > 1 && mutex.withLock { _ in true }
            }
            let first = Task.detached { try await mutex.suspending.withLock(when: locksTheSecondTime) { _ in } }
            await waitUntil { mutex.waitingCount == 1 }
            _ = try await mutex.suspending.withLock(when: { _ in false }, timeout: .seconds(3600)) { _ in }
            _ = await first.result
        }
        #expect(isTold(result))
    }
}
