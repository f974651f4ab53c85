import CSyncKernel

/// Reports a task of a ``TaskQueue`` to the kernel, for views, metrics and the contention profile: first its wait for
/// its turn, then its turn. It is made only while waits are observed (`csk_task_waits_are_told`).
///
/// Beginnings, hand-overs and ends are reported under the queue's lock, so that they match the queue's decisions.
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

    /// Reports that the task begins to wait, or has its turn at once. The number orders the tasks of the queue.
    func begin(as number: UInt64, hasTurn: Bool) {
        unsafe memory.pointee.ticket = Int64(bitPattern: number)
        unsafe memory.pointee.has_object = hasTurn ? 1 : 0
        unsafe csk_task_wait_begin(memory)
    }

    /// Reports that the task of `last` has ended, and that the waiting task of `next` has its turn. Either may be nil:
    /// that task is not reported.
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
