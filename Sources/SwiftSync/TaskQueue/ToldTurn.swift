import CSyncKernel

/// What the kernel is told of a task of a ``TaskQueue``, for views, metrics and the contention profile: that it waits
/// for its turn, and then that it has it. It is made only while somebody asks (`csk_task_waits_are_told`).
///
/// What begins, passes and ends is told under the queue's lock, so that it is what the queue decides.
@safe
struct ToldTurn {
    @safe private let memory: UnsafeMutablePointer<csk_task_wait_t>

    /// The task of `lock`, which neither waits nor has its turn yet.
    init(of lock: QueueLock, at queue: TaskQueue) {
        var told = unsafe csk_task_wait_t()
        if !lock.tag.isEmpty { unsafe told.task_name = csk_place_t.named(lock.tag, #fileID, #line).text }
        if !queue.identifier.isEmpty { unsafe told.place = .named(queue.identifier, #fileID, #line) }
        unsafe told.object = UnsafeRawPointer(Unmanaged.passUnretained(queue).toOpaque())
        unsafe told.object_kind = UInt32(CSK_OBJECT_TASK_QUEUE)
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_TURN)
        unsafe told.deadline_ns = Deadline.never
        unsafe told.waiter = UnsafeRawPointer(Unmanaged.passUnretained(lock).toOpaque())
        memory = .allocate(capacity: 1)
        unsafe memory.initialize(to: told)
    }

    /// The task waits from now on, or has its turn at once. The number orders the tasks of the queue.
    func begin(as number: UInt64, hasTurn: Bool) {
        unsafe memory.pointee.ticket = Int64(bitPattern: number)
        unsafe memory.pointee.has_object = hasTurn ? 1 : 0
        unsafe csk_task_wait_begin(memory)
    }

    /// The task of `last` has ended, and that of `next`, which waited, has its turn. Either may be nil: nobody is told
    /// of that task.
    static func pass(from last: ToldTurn?, to next: ToldTurn?) {
        if let next {
            unsafe csk_task_wait_pass(last?.memory, next.memory)
        } else if let last {
            unsafe csk_task_wait_end(last.memory, 0)
        }
    }

    /// Frees the memory of a task that has ended.
    func free() {
        unsafe memory.pointee.task_name?.deallocate()
        unsafe memory.pointee.place.end()
        unsafe memory.deallocate()
    }
}
