import CSyncKernel

/// What the kernel is told of a task of a ``TaskQueue``, for views, metrics and the contention profile: that it waits
/// for its turn, and then that it has it. It is made only while somebody asks (`csk_task_waits_are_told`).
@safe
struct ToldTurn {
    @safe private let memory: UnsafeMutablePointer<csk_task_wait_t>

    /// The task of `lock`, which neither waits nor has its turn yet.
    init(of lock: QueueLock, at queue: TaskQueue) {
        var told = unsafe csk_task_wait_t()
        if !lock.tag.isEmpty { unsafe told.task_name = csk_place_t.named(lock.tag, #fileID, #line).text }
        unsafe told.object = UnsafeRawPointer(Unmanaged.passUnretained(queue).toOpaque())
        unsafe told.object_kind = UInt32(CSK_OBJECT_TASK_QUEUE)
        unsafe told.place = queue.place
        unsafe told.deadline_ns = Deadline.never
        unsafe told.waiter = UnsafeRawPointer(Unmanaged.passUnretained(lock).toOpaque())
        memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: told)
    }

    /// The task waits from now on. The number orders the tasks of the queue.
    func beginsToWait(as number: UInt64) {
        unsafe memory.pointee.waits_for = UInt32(CSK_WAITS_FOR_TURN)
        unsafe memory.pointee.ticket = Int64(bitPattern: number)
        unsafe csk_task_wait_begin(memory)
    }

    /// The task has its turn from now on, whether it has waited or not.
    func hasTurn() {
        if unsafe memory.pointee.waits_for != 0 { unsafe csk_task_wait_end(memory, 0) }
        unsafe memory.pointee.has_object = 1
        unsafe csk_task_wait_begin(memory)
    }

    /// The task, which had its turn, has ended.
    func end() {
        unsafe csk_task_wait_end(memory, 0)
        unsafe memory.pointee.task_name?.deallocate()
        unsafe memory.deallocate()
    }
}
