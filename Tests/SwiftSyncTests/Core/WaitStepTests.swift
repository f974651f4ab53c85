import CSyncKernel
import Glibc
import Testing

@testable import SwiftSync

/// What happens to a wait between two of its steps, where a thread is stopped there.
@Suite(.endsInTime)
struct WaitStepTests {
    /// The step before a wait is known to what resolves it, and the one before it looks again whether it was cancelled.
    private static let steps = ["TaskWait: queues", "TaskWait: is queued"]

    /// Cancels the task that stands at the step, and lets it go on: it ends, though nothing that it waits for comes.
    private func cancelling<R: Sendable>(_ pause: StepPause, _ body: @escaping @Sendable () async -> R) async -> R? {
        let outcome = Shared<R?>(nil)
        let task = Task(executorPreference: OwnThreads.shared) {
            let result = await body()
            outcome.access { $0 = result }
        }
        await pause.isReached()
        task.cancel()
        pause.goOn()
        await waitUntil("the task waits for what does not come") { outcome.value != nil }
        return outcome.value
    }

    // MARK: - A cancellation just before queueing

    @Test(arguments: steps)
    func aCommandThatIsCancelledJustBeforeItQueuesIsNotCarriedOut(step: String) async {
        let value = QueueSafeValue(value: 1), letGo = await hold(value), pause = StepPause(step)
        let result = await cancelling(pause) {
            await pause.within { await value.suspending.lowestPriority.set(newValue: 2) }
        }
        #expect(result == .failure(.cancelled))
        letGo()
        #expect(value.wait.lowestPriority.get() == .success(1))
    }

    @Test(arguments: steps)
    func aDrainThatIsCancelledJustBeforeItQueuesIsOver(step: String) async {
        let queue = WorkQueue(name: "drain"), leave = Semaphore(), pause = StepPause(step)
        queue.async { leave.wait() }
        let outcome: String? = await cancelling(pause) {
            await pause.within {
                do { try await queue.drain() } catch { return "\(error)" }
                return "drained"
            }
        }
        #expect(outcome == "\(WorkQueueError.cancelled)")
        leave.signal()
    }

    @Test(arguments: steps)
    func workThatIsCancelledJustBeforeItQueuesForRoomIsReleased(step: String) async {
        let queue = WorkQueue(name: "room", capacity: 1, whenFull: .wait), leave = Semaphore(),
            pause = StepPause(step), alive = Shared(0)
        queue.async { leave.wait() }
        await waitUntil { queue.runningCount == 1 }
        queue.async {}
        let error = await cancelling(pause) { () async -> WorkQueueError in
            let tracked = Tracked(alive)
            do {
                try await pause.within {
                    try await queue.asyncWaitingForRoom { withExtendedLifetime(tracked) { mustNotRun() } }
                }
                return .full
            } catch { return (error as? WorkQueueError) ?? .outOfResources }
        }
        #expect(error == .cancelled)
        await waitUntil("the work is released") { alive.value == 0 }
        #expect(queue.waitingCount == 1)
        leave.signal()
    }

    @Test(arguments: ["TurnWait: queues", "TaskWait: is queued"])
    func aSectionThatIsCancelledJustBeforeItQueuesDoesNotRun(step: String) async {
        let coordinator = ReadWriteCoordinator(), leave = Semaphore()
        coordinator.enqueueWrite { leave.wait() }
        let section = SuspendedSection(coordinator.box, write: true, deadline: Deadline.never),
            pause = StepPause(step, subject: section)
        let status = await cancelling(pause) { await section.run(isCancellable: true) { mustNotRun() } }
        #expect(status == ECANCELED)
        #expect(coordinator.waitingCount == 0)
        leave.signal()
        await #expect(throws: Never.self) { try await coordinator.suspending.drain() }
    }

    @Test(arguments: ["TurnWait: queues", "TaskWait: is queued"])
    func aTurnThatIsCancelledJustBeforeItQueuesIsNotTaken(step: String) async throws {
        let queue = WorkQueue(name: "turn"), leave = Semaphore()
        queue.async { leave.wait() }
        await waitUntil { queue.runningCount == 1 }
        let work = SuspendedWork(queue.core, rank: queue.core.ownRank, barrier: false, .suspending),
            pause = StepPause(step, subject: work)
        let status = await cancelling(pause) { await work.run(isCancellable: true) { mustNotRun() } }
        #expect(status == ECANCELED)
        #expect(queue.waitingCount == 0)
        leave.signal()
        queue.async {}
        try await queue.drain()
    }

    // MARK: - A grant just before the wait looks again

    @Test func aSectionRunsToItsEndThoughTheThreadThatQueuedItHasNotReturned() async {
        let coordinator = ReadWriteCoordinator(), ran = Flag()
        let section = SuspendedSection(coordinator.box, write: true, deadline: Deadline.never)
        let pause = StepPause("TaskWait: is queued", subject: section)
        let task = Task(executorPreference: OwnThreads.shared) {
            await section.run(isCancellable: true) { ran.raise() }
        }
        await pause.isReached()
        #expect(await task.value == 0)
        #expect(ran.isRaised)
        await #expect(throws: Never.self) { try await coordinator.suspending.write(timeout: .seconds(50)) {} }
        pause.goOn()
    }

    /// What a kernel object would be, which has granted and withdraws nothing.
    private final class Granting: TaskWait, @unchecked Sendable {
        let withdrawals = Shared(0)

        override func withdraw(_ cause: Int32) { withdrawals.increment() }
    }

    @Test func aTaskThatIsGrantedJustBeforeItSleepsGoesOn() async {
        let wait = Granting(), pause = StepPause("TaskWait: parks", subject: wait), over = Flag()
        let task = Task(executorPreference: OwnThreads.shared) {
            #expect(await wait.wait { 0 } == 0)
            over.raise()
        }
        await pause.isReached()
        wait.resolve(0)
        pause.goOn()
        await waitUntil("the task sleeps") { over.isRaised }
        task.cancel()
    }

    @Test func whatIsGrantedWhileItIsRegisteredIsNotWithdrawn() async {
        let wait = Granting(), pause = StepPause("TaskWait: is queued", subject: wait)
        let task = Task(executorPreference: OwnThreads.shared) { await wait.wait { 0 } }
        await pause.isReached()
        task.cancel()
        wait.resolve(0)
        pause.goOn()
        #expect(await task.value == 0)
        #expect(wait.withdrawals.value == 0)
    }

    @Test func aWaitThatCanNotBeCancelledIsRegisteredByATaskThatWasCancelled() async {
        let wait = Granting(), isRegistered = Flag()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await wait.wait(isCancellable: false) {
                isRegistered.raise()
                return 0
            }
        }
        await waitUntil { isRegistered.isRaised }
        wait.resolve(0)
        #expect(await task.value == 0)
        #expect(wait.withdrawals.value == 0)
    }

    // MARK: - A task that is resumed before the lock is left

    @Test(arguments: [true, false])
    func aTaskDoesNotGoOnBeforeItsSectionIsLeft(writes: Bool) async {
        let coordinator = ReadWriteCoordinator(), wentOn = Flag(), pause = StepPause("SuspendedSection: leaves")
        let task = Task(executorPreference: OwnThreads.shared) {
            await pause.within {
                if writes {
                    try? await coordinator.suspending.write {}
                } else {
                    try? await coordinator.suspending.read {}
                }
            }
            wentOn.raise()
            // It finds the coordinator free, without waiting.
            return (try? coordinator.blockingWrite(timeout: .zero) { true }) ?? false
        }
        await pause.isReached()
        // Whoever goes on too early does so now.
        for _ in 0..<1000 { await Task.yield() }
        #expect(!wentOn.isRaised)
        #expect(throws: ReadWriteError.timedOut) { try coordinator.blockingWrite(timeout: .zero) {} }
        pause.goOn()
        #expect(await task.value)
    }

    /// The queue's lock is free while a task stands just before it resumes another.
    private func lockIsFree<R>(
        _ queue: FIFOQueue, at pause: StepPause, _ body: () async throws -> R
    ) async rethrows -> R {
        await pause.isReached()
        let counted = Flag()
        onThread {
            _ = queue.waitingCount
            counted.raise()
        }
        await waitUntil("the queue's lock is taken") { counted.isRaised }
        defer { pause.goOn() }
        return try await body()
    }

    @Test func whoGivesUpItsRoomResumesTheNextOutsideOfTheLock() async throws {
        let queue = FIFOQueue(capacity: 1, whenFull: .wait), door = await queue.stopAtDoor(), isThere = Flag()
        let pause = StepPause("OrderedQueueStorage: resumes")
        let place = Task(executorPreference: OwnThreads.shared) {
            try await pause.within { try await queue.enqueueAndWait { () async throws in mustNotRun() } }
        }
        await waitUntil { queue.storage.pendingCount == 1 }
        let sender = Task {
            try await queue.enqueueWaitingForRoom {}
            isThere.raise()
        }
        await waitUntil { queue.storage.pendingCount == 2 }
        place.cancel()
        await lockIsFree(queue, at: pause) { #expect(!isThere.isRaised) }
        await #expect(throws: OrderedQueueError.cancelled) { try await place.value }
        try await sender.value
        door.open()
        try await queue.drain()
    }

    @Test func whoPassesTheTurnOnResumesTheNextSenderOutsideOfTheLock() async throws {
        let queue = FIFOQueue(capacity: 1, whenFull: .wait), leave = Semaphore(), began = Flag(), isThere = Flag()
        let pause = StepPause("FIFOQueueStorage: resumes")
        let holder = Task(executorPreference: OwnThreads.shared) {
            await pause.within {
                await queue.enqueueAndWait {
                    began.raise()
                    leave.wait()
                }
            }
        }
        await waitUntil { began.isRaised }
        queue.enqueue {}
        let sender = Task {
            try await queue.enqueueWaitingForRoom {}
            isThere.raise()
        }
        await waitUntil { queue.storage.pendingCount == 2 }
        leave.signal()
        await lockIsFree(queue, at: pause) { #expect(!isThere.isRaised) }
        await holder.value
        try await sender.value
        try await queue.drain()
    }
}
