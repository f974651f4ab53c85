import CSyncKernel
import Testing

@testable import SwiftSync

/// The memory of a queue whose owner lets go of it while somebody who waited there is still in the kernel.
@Suite(.endsInTime)
struct KeptWorkQueueTests {
    private enum Kind: CaseIterable { case turn, room, drain, delayed }

    private func make(_ kind: Kind, _ core: WorkQueueCore, _ work: UnsafeMutablePointer<csk_work_t>) -> AnyObject {
        switch kind {
        case .turn: SuspendedWork(core, rank: core.ownRank, barrier: false, .suspending)
        case .room: unsafe RoomWait(core, work)
        case .drain: WorkQueueWait(core)
        case .delayed: DelayedQueueWork(core) {}
        }
    }

    @Test(arguments: Kind.allCases)
    private func whatWaitsAtAQueueKeepsItsMemory(kind: Kind) {
        let work = UnsafeMutablePointer<csk_work_t>.allocate(capacity: 1)
        defer { unsafe work.deallocate() }
        let queue = WorkQueue(name: "kept"), core = queue.core
        let wait = unsafe make(kind, core, work)
        withExtendedLifetime((queue, wait)) { #expect(unsafe core.queue.pointee.handles == 2) }
    }

    /// The thread that had queued the wait wrote into freed memory, or had the pool call it.
    @Test func aQueueIsThereUntilWhoQueuedATurnIsDone() async {
        weak var queue: WorkQueue?
        weak var waiting: SuspendedWork?
        let leave = Semaphore(), core: WorkQueueCore, isQueued: StepPause, withdraws: StepPause,
            task: Task<Int32, Never>
        do {
            let made = WorkQueue(name: "kept")
            made.async { leave.wait() }
            queue = made
            core = made.core
            let work = SuspendedWork(core, rank: core.ownRank, barrier: false, .suspending)
            waiting = work
            isQueued = StepPause("TaskWait: is queued", subject: work)
            withdraws = StepPause("TaskWait: withdraws", subject: work)
            task = Task(executorPreference: OwnThreads.shared) { [made] in
                defer { withExtendedLifetime(made) {} }
                return await work.run(isCancellable: true) {}
            }
        }
        await isQueued.isReached()
        task.cancel()
        isQueued.goOn()
        await withdraws.isReached()
        leave.signal()
        #expect(await task.value == 0)
        await waitUntil { queue == nil }
        #expect(unsafe core.queue.pointee.handles == 1)
        withdraws.goOn()
        await waitUntil { waiting == nil }
    }
}
