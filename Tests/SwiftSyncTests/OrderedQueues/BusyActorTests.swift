import Testing

@testable import SwiftSync

/// Calls whose turn comes at once, while the queue's actor is busy with something else. The work begins in time, or not
/// at all.
@Suite(.endsInTime)
struct BusyActorTests {
    /// An actor on a queue of its own, so that a test can hold it without a thread.
    private actor OnQueue {
        nonisolated let executor = WorkQueue(name: "of an actor")
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    }

    private let actor = OnQueue()
    private let queue = ActorQueue<OnQueue>()
    private let hasRun = Shared(false)

    init() { queue.adoptExecutionContext(of: actor) }

    /// Makes the call up to where it waits for the actor.
    private func call(timeout: Duration) -> Task<Void, any Error> {
        let queue = queue, hasRun = hasRun
        return Task.immediate {
            try await queue.enqueueAndWait(timeout: .after(timeout)) { _ in hasRun.access { $0 = true } }
        }
    }

    private func expect(_ error: OrderedQueueError, of call: Task<Void, any Error>) async {
        await #expect(throws: error) { try await call.value }
        #expect(!hasRun.value)
        #expect(await queue.enqueueAndWait { _ in 1 } == 1, "the turn was given up")
    }

    @Test func aTurnIsGivenUpIfTheActorIsBusyForLongerThanTheTimeout() async {
        actor.executor.suspend()
        let call = call(timeout: .milliseconds(1)), later = Deadline.after(.milliseconds(1))
        while !Deadline.hasPassedMeanwhile(later) { await Task.yield() }
        actor.executor.resume()
        await expect(.timedOut, of: call)
    }

    @Test func aTurnIsGivenUpIfTheTaskIsCancelledWhileTheActorIsBusy() async {
        actor.executor.suspend()
        let call = call(timeout: .seconds(1000))
        call.cancel()
        actor.executor.resume()
        await expect(.cancelled, of: call)
    }

    /// It is over before the task has come to the actor, which is free.
    @Test func aTimeoutOfANanosecondIsOverBeforeTheWorkBegins() async {
        await expect(.timedOut, of: call(timeout: .nanoseconds(1)))
    }

    @Test func aTimeoutOfZeroIsThatOfTheTurnAlone() async throws {
        actor.executor.suspend()
        let call = call(timeout: .zero)
        actor.executor.resume()
        try await call.value
        #expect(hasRun.value)
    }
}
