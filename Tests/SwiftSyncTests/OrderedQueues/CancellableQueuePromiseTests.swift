import Testing

@testable import SwiftSync

/// What a cancellable queue keeps of tasks that have ended: nothing, however they ended.
@Suite(.endsInTime)
struct CancellableQueuePromiseTests {
    private struct Fault: Error { let tracked: Tracked }

    private let alive = Shared()

    /// Runs what starts a task, waits for its end, and then for the end of what it gave.
    private func expectNothingIsKept<Success: Sendable, Failure: Error>(
        of count: Int = 3, sourceLocation: SourceLocation = #_sourceLocation,
        _ start: (Tracked) -> Task<Success, Failure>
    ) async {
        for number in 0..<count {
            let task = start(Tracked(alive, number: number))
            _ = await task.result
        }
        await waitUntil("a task's outcome is kept", isolation: #isolation, sourceLocation: sourceLocation) {
            alive.value == 0
        }
    }

    @Test func tasksOverAFIFOQueueAreForgottenHoweverTheyEnd() async {
        let queue = CancellableQueue(underlyingQueue: FIFOQueue()), ledger = Ledger()
        await expectNothingIsKept { tracked in Task(on: queue) { tracked } }
        await expectNothingIsKept { tracked in
            Task(on: queue) { () async throws -> Int in throw Fault(tracked: tracked) }
        }
        await expectNothingIsKept { tracked in Task(on: queue, isolatedTo: ledger) { _ in tracked } }
        await expectNothingIsKept { tracked in
            Task(on: queue, isolatedTo: ledger) { _ async throws -> Int in throw Fault(tracked: tracked) }
        }
        withExtendedLifetime(queue) {}
    }

    @Test func tasksOverAnActorQueueAreForgottenHoweverTheyEnd() async {
        let ledger = Ledger(), queue = CancellableQueue(underlyingQueue: ledger.queue)
        await expectNothingIsKept { tracked in Task(on: queue) { _ in tracked } }
        await expectNothingIsKept { tracked in
            Task(on: queue) { _ async throws -> Int in throw Fault(tracked: tracked) }
        }
        withExtendedLifetime(queue) {}
    }

    @Test func tasksOverTheMainQueueAreForgottenHoweverTheyEnd() async {
        let queue = CancellableQueue(underlyingQueue: MainActorQueue.shared)
        await expectNothingIsKept { tracked in Task(on: queue) { tracked } }
        await expectNothingIsKept { tracked in
            Task(on: queue) { () async throws -> Int in throw Fault(tracked: tracked) }
        }
        withExtendedLifetime(queue) {}
    }
}
