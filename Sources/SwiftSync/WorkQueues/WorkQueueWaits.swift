import CSyncKernel

/// A task that waits at a work queue by the kernel's waiter: for a drain, or as ``RoomWait``.
@safe
class WorkQueueWait: TaskWait, @unchecked Sendable {
    private final let kept: KeptWorkQueue
    fileprivate final var core: WorkQueueCore { kept.core }
    @safe fileprivate final let wait: UnsafeMutablePointer<csk_workqueue_wait_t>

    init(_ core: WorkQueueCore) {
        kept = KeptWorkQueue(core)
        wait = .allocate(capacity: 1)
        unsafe wait.initialize(to: csk_workqueue_wait_t())
    }

    deinit { unsafe wait.deallocate() }

    /// Registers a wait until all work that the queue had accepted has ended. It is the `register` of
    /// ``TaskWait/wait(until:isCancellable:isolation:register:)``.
    final func registerDrain() -> Int32 {
        unsafe csk_workqueue_drain_async(core.queue, wait, Self.told, Unmanaged.passRetained(self).toOpaque())
        return 0
    }

    override final func withdraw(_ cause: Int32) {
        unsafe wait.pointee.given_up_as = cause
        guard unsafe csk_workqueue_wait_cancel(core.queue, wait) == 0 else { return }
        unsafe Unmanaged.passUnretained(self).release()
        resolve(cause)
    }

    /// The wait has ended. The kernel had a reference to this object until then.
    fileprivate static let told: @convention(c) (UnsafeMutablePointer<csk_workqueue_wait_t>?) -> Void = { wait in
        let wait = unsafe wait!,
            waiting = unsafe Unmanaged<WorkQueueWait>.fromOpaque(wait.pointee.context).takeRetainedValue()
        unsafe waiting.resolve(wait.pointee.status)
    }
}

/// A task that waits until its closure has a place in a full queue.
@safe
final class RoomWait: WorkQueueWait, @unchecked Sendable {
    @safe private let work: UnsafeMutablePointer<csk_work_t>
    /// The record of the work if the bypass limit applies to all work. It is written before the wait is registered, and
    /// the kernel owns it once that has ended with zero.
    @safe private var counted: UnsafeMutablePointer<csk_work_t>?

    /// The caller owns the work until the wait has ended with zero. From then on the queue owns it.
    init(_ core: WorkQueueCore, _ work: UnsafeMutablePointer<csk_work_t>) {
        self.work = unsafe work
        super.init(core)
    }

    /// Queues the work, or joins the waiters for room: a `register` likewise.
    func register(rank: Int64, barrier: Bool) -> Int32 {
        let reference = unsafe Unmanaged.passRetained(self)
        let status = unsafe enqueue(rank: rank, barrier: barrier, reference.toOpaque())
        if status == EINPROGRESS { return 0 }
        unsafe reference.release()
        if status == 0 { resolve(0) }
        return status
    }

    private func enqueue(rank: Int64, barrier: Bool, _ context: UnsafeMutableRawPointer) -> Int32 {
        if barrier || !core.isLimited {
            let flags = barrier ? CSK_WORK_BARRIER : 0
            return unsafe csk_workqueue_submit_when_room(
                core.queue, rank, work, flags, WorkItem.runBody, wait, Self.told, context)
        }
        let counted = unsafe CountedWork.make(work, WorkItem.runBody)
        self.counted = unsafe counted
        return unsafe csk_workqueue_submit_when_room(
            core.queue, rank, counted, CSK_WORK_COUNTED, CountedWork.called, wait, Self.told, context)
    }

    /// The wait has ended with a nonzero status: the caller owns the work again.
    func takeBack() { if let counted { unsafe CountedWork.unmake(counted) } }
}

extension WorkQueueCore {
    /// Queues `body`. If the bound makes callers wait for room, it first waits until there is room.
    func asyncWaitingForRoom(
        rank: Int64, barrier: Bool, _ limit: TimeLimit, _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        guard let work = unsafe WorkItem.make(WorkItem.Body(call: recorded(body))) else { throw error(ENOMEM) }
        let wait = unsafe RoomWait(self, work)
        let status = await wait.wait(until: limit.deadline()) {
            wait.register(rank: rank, barrier: barrier)
        }
        if status == 0 { return }
        wait.takeBack()
        _ = unsafe WorkItem.take(work, as: WorkItem.Body.self)
        throw error(status)
    }

    func drain(_ limit: TimeLimit) async throws(WorkQueueError) {
        let status = await drain(until: limit.deadline())
        if status != 0 { throw error(status) }
    }

    /// Suspends the task until all work that was accepted before has ended. Returns zero, or an errno value.
    func drain(until deadline: Int64) async -> Int32 {
        let wait = WorkQueueWait(self)
        return await wait.wait(until: deadline) { wait.registerDrain() }
    }
}
