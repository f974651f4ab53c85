import CSyncKernel

/// A task that waits until its closure has a place in a full queue.
final class RoomWait: TaskWait, @unchecked Sendable {
    private let core: WorkQueueCore
    private let work: UnsafeMutablePointer<csk_work_t>
    private let wait: UnsafeMutablePointer<csk_workqueue_wait_t>

    /// The caller owns the work until the wait has ended with zero. From then on the queue owns it.
    init(_ core: WorkQueueCore, _ work: UnsafeMutablePointer<csk_work_t>) {
        self.core = core
        self.work = work
        wait = .allocate(capacity: 1)
        wait.initialize(to: csk_workqueue_wait_t())
    }

    deinit { wait.deallocate() }

    /// Queues the work, or joins the waiters for room. It is the `register` of
    /// ``TaskWait/wait(until:isCancellable:isolation:register:)``.
    func register(rank: Int64, barrier: Bool, _ function: @escaping csk_work_function_t) -> Int32 {
        let reference = Unmanaged.passRetained(self)
        let status = csk_workqueue_enqueue_when_room(
            core.queue, work, rank, barrier, function, wait, Self.told, reference.toOpaque())
        if status == EINPROGRESS { return 0 }
        reference.release()
        if status == 0 { resolve(0) }
        return status
    }

    override func withdraw(_ cause: Int32) {
        guard csk_workqueue_room_cancel(core.queue, wait) == 0 else { return }
        Unmanaged.passUnretained(self).release()
        resolve(cause)
    }

    private static let told: @convention(c) (UnsafeMutablePointer<csk_workqueue_wait_t>?) -> Void = { wait in
        let wait = wait!, waiting = Unmanaged<RoomWait>.fromOpaque(wait.pointee.context).takeRetainedValue()
        waiting.resolve(wait.pointee.status)
    }
}

/// A task that waits until all work that a queue had accepted has ended.
final class DrainWait: TaskWait, @unchecked Sendable {
    private let core: WorkQueueCore
    private let wait: UnsafeMutablePointer<csk_workqueue_wait_t>

    init(_ core: WorkQueueCore) {
        self.core = core
        wait = .allocate(capacity: 1)
        wait.initialize(to: csk_workqueue_wait_t())
    }

    deinit { wait.deallocate() }

    /// Registers the drain. It is the `register` of ``TaskWait/wait(until:isCancellable:isolation:register:)``.
    func register() -> Int32 {
        csk_workqueue_drain_async(
            core.queue, wait, { Unmanaged<DrainWait>.fromOpaque($0!.pointee.context).takeRetainedValue().resolve(0) },
            Unmanaged.passRetained(self).toOpaque())
        return 0
    }

    override func withdraw(_ cause: Int32) {
        guard csk_workqueue_drain_cancel(core.queue, wait) == 0 else { return }
        Unmanaged.passUnretained(self).release()
        resolve(cause)
    }
}

extension WorkQueueCore {
    /// Queues `body`. If the bound makes callers wait for room, it first waits until there is room.
    func asyncWaitingForRoom(
        rank: Int64, barrier: Bool, timeout: Duration?, _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        if let recorder {
            let recorded = RecordedWork(recorder, tag: label, body)
            let status = await enqueueWaitingForRoom(recorded, RecordedWork.called, rank, barrier, timeout)
            if status == 0 { return }
            recorded.drop()
            throw error(status)
        }
        let status = await enqueueWaitingForRoom(WorkItem.Body(call: body), WorkItem.runBody, rank, barrier, timeout)
        if status != 0 { throw error(status) }
    }

    private func enqueueWaitingForRoom<Payload>(
        _ payload: Payload, _ function: @escaping csk_work_function_t, _ rank: Int64, _ barrier: Bool,
        _ timeout: Duration?
    ) async -> Int32 {
        guard let work = WorkItem.make(payload) else { return ENOMEM }
        let wait = RoomWait(self, work)
        let status = await wait.wait(until: Deadline.after(timeout: timeout)) {
            wait.register(rank: rank, barrier: barrier, function)
        }
        if status != 0 { _ = WorkItem.take(work, as: Payload.self) }
        return status
    }

    /// Suspends the task until all work that was accepted before has ended. Returns zero, or an errno value.
    func drain(until deadline: Int64) async -> Int32 {
        let wait = DrainWait(self)
        return await wait.wait(until: deadline) { wait.register() }
    }
}
