public import CSyncKernel

extension BlockingPriorityQueue {
    /// Adds an element. In a full queue it waits for room, but not past `deadline`; one that is not ahead tries once.
    /// Otherwise it is ``push(_:priority:timeout:)``.
    @inlinable
    public func push(
        _ element: sending Element, priority: CommandPriority = .normal, until deadline: ContinuousClock.Instant
    ) throws(BlockingPriorityQueueError) {
        try push(element, priority, within: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    @inlinable
    public func push(
        _ element: sending Element, priority: CommandPriority = .normal, until deadline: SuspendingClock.Instant
    ) throws(BlockingPriorityQueueError) {
        try push(element, priority, within: .suspending(deadline))
    }

    /// Takes the first element in order. It waits for one, but not past `deadline`; one that is not ahead tries once.
    /// Otherwise it is ``pop(timeout:)``.
    @inlinable
    public func pop(until deadline: ContinuousClock.Instant) throws(BlockingPriorityQueueError) -> sending Element? {
        try pop(within: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    @inlinable
    public func pop(until deadline: SuspendingClock.Instant) throws(BlockingPriorityQueueError) -> sending Element? {
        try pop(within: .suspending(deadline))
    }
}

/// The calls of the kernel, with a limit that is read only if the thread has to wait. They return 0 or an errno value.
extension TimeLimit {
    @usableFromInline
    func push(
        _ item: UnsafeMutablePointer<csk_pqueue_item_t>, _ priority: Int32,
        to queue: UnsafeMutablePointer<csk_pqueue_t>
    ) -> Int32 {
        let status = unsafe csk_pqueue_trypush(queue, item, priority)
        return status == EAGAIN ? unsafe csk_pqueue_timedpush(queue, item, priority, deadline()) : status
    }

    @usableFromInline
    func pop(
        _ item: inout UnsafeMutablePointer<csk_pqueue_item_t>?, from queue: UnsafeMutablePointer<csk_pqueue_t>
    ) -> Int32 {
        let status = unsafe csk_pqueue_trypop(queue, &item)
        return status == EAGAIN ? unsafe csk_pqueue_timedpop(queue, &item, deadline()) : status
    }
}
