public import CSyncKernel

/// A task that waits in a line of a priority queue: for an element, or for room.
@safe
final class PriorityQueueWait: KernelWait, @unchecked Sendable {
    private let queue: UnsafeMutablePointer<csk_pqueue_t>

    init(_ queue: UnsafeMutablePointer<csk_pqueue_t>, of owner: AnyObject) {
        unsafe self.queue = queue
        super.init(of: owner)
    }

    override func cancel(_ waiter: UnsafeMutablePointer<csk_waiter_t>) -> Int32 {
        unsafe csk_pqueue_cancel(queue, waiter)
    }

    /// Waits until the item is inside. After a status other than 0 it is the caller's again.
    func push(
        _ item: UnsafeMutablePointer<csk_pqueue_item_t>, _ priority: Int32, _ deadline: Int64
    ) async -> Int32 {
        await wait() {
            unsafe waiter.lock(owner: self) {
                unsafe csk_pqueue_push_async(queue, priority, $0, item, deadline, $1, $2)
            }
        }
    }

    /// Waits until an item is the caller's. After 0 that is ``taken``.
    func pop(_ deadline: Int64) async -> Int32 {
        await wait() {
            unsafe waiter.lock(owner: self) { unsafe csk_pqueue_pop_async(queue, $0, deadline, $1, $2) }
        }
    }

    var taken: UnsafeMutablePointer<csk_pqueue_item_t>? { unsafe waiter.read { unsafe csk_pqueue_taken($0) } }
}

/// The calls of tasks, with a limit that is read only if the task has to wait. They return 0 or an errno value.
extension TimeLimit {
    /// Waits for room after a try has found none. After a nonzero status the caller owns the item again.
    @usableFromInline
    func awaitRoom(
        for item: UnsafeMutablePointer<csk_pqueue_item_t>, _ priority: Int32,
        in queue: UnsafeMutablePointer<csk_pqueue_t>, of owner: AnyObject
    ) async -> Int32 {
        let deadline = deadline()
        // A wait that only tries has tried. It must not be queued: it would block later waiters until the timers'
        // thread removes it.
        if deadline == Deadline.passed { return ETIMEDOUT }
        return await unsafe PriorityQueueWait(queue, of: owner).push(item, priority, deadline)
    }

    /// Waits for an item after a try has found none.
    @usableFromInline
    func awaitItem(
        _ item: inout UnsafeMutablePointer<csk_pqueue_item_t>?, in queue: UnsafeMutablePointer<csk_pqueue_t>,
        of owner: AnyObject
    ) async -> Int32 {
        let deadline = deadline()
        if deadline == Deadline.passed { return ETIMEDOUT }
        let wait = unsafe PriorityQueueWait(queue, of: owner)
        let status = await wait.pop(deadline)
        if status == 0 { unsafe item = wait.taken }
        return status
    }
}

/// The calls of threads, likewise.
extension TimeLimit {
    @usableFromInline
    func push(
        _ item: UnsafeMutablePointer<csk_pqueue_item_t>, _ priority: Int32,
        to queue: UnsafeMutablePointer<csk_pqueue_t>
    ) -> Int32 {
        let status = unsafe csk_pqueue_trypush(queue, priority, item)
        return status == EBUSY ? unsafe csk_pqueue_timedpush(queue, priority, item, deadline()) : status
    }

    @usableFromInline
    func pop(
        _ item: inout UnsafeMutablePointer<csk_pqueue_item_t>?, from queue: UnsafeMutablePointer<csk_pqueue_t>
    ) -> Int32 {
        let status = unsafe csk_pqueue_trypop(queue, &item)
        return status == EBUSY ? unsafe csk_pqueue_timedpop(queue, &item, deadline()) : status
    }
}
