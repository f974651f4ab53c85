import CSyncKernel

/// A queue between threads: elements come out by priority, within one priority in the order they went in; who finds
/// nothing waits.
///
/// ```swift
/// let jobs = BlockingPriorityQueue<Job>(capacity: 64)
/// // producers
/// jobs.push(job, priority: .high)
/// jobs.close()   // nothing more comes
/// // consumers; the loop ends once the queue is closed and empty
/// while let job = jobs.pop() { job.run() }
/// ```
///
/// Threads that wait for elements are served in the order they came, and so are those that wait for room. All members
/// may be called from any thread, but not from a signal handler; those that wait block their thread, so keep them out
/// of async code. Elements that are inside when the queue goes away are released with it.
public final class BlockingPriorityQueue<Element>: @unchecked Sendable {
    /// How many elements fit, or nil without a bound.
    public let capacity: Int?

    @usableFromInline
    let queue: UnsafeMutablePointer<csk_pqueue_t>

    /// Makes an empty open queue. With a `capacity`, which must be positive, a push into a full queue waits for room.
    public init(capacity: Int? = nil) {
        // Unlike a precondition's, this message is printed by optimized programs too.
        guard capacity ?? 1 > 0 else { fatalError("BlockingPriorityQueue: the capacity must be positive, or nil for no bound") }
        self.capacity = capacity
        queue = .allocate(capacity: 1)
        queue.initialize(to: csk_pqueue_t())
        csk_pqueue_init(queue, UInt64(capacity ?? 0))
    }

    deinit {
        Item.forEach(in: queue) { _ in }
        csk_pqueue_destroy(queue)
        queue.deallocate()
    }

    // MARK: Putting elements in

    /// Adds an element; waits for room in a full queue.
    ///
    /// Once the queue is closed it returns false, the element is released, and ``SyncDiagnostics`` gets a report.
    /// - Complexity: O(1).
    @available(*, noasync, message: "it blocks the thread while the queue is full; use tryPush(_:priority:) or push(_:priority:timeout:)")
    @inlinable
    @discardableResult
    public func push(_ element: sending Element, priority: CommandPriority = .normal) -> Bool {
        let item = Item.make(element)
        let status = csk_pqueue_push(queue, item.link, priority.rawValue)
        if status == 0 { return true }
        item.destroy()
        reportRefusal(status)
        return false
    }

    /// Adds an element if there is room now. Never waits for room.
    ///
    /// False when the queue is full, or closed, which ``SyncDiagnostics`` gets a report of; the element is released
    /// then.
    /// - Complexity: O(1).
    @inlinable
    public func tryPush(_ element: sending Element, priority: CommandPriority = .normal) -> Bool {
        let item = Item.make(element)
        let status = csk_pqueue_trypush(queue, item.link, priority.rawValue)
        if status == 0 { return true }
        item.destroy()
        if status != EAGAIN { reportRefusal(status) }
        return false
    }

    /// Adds an element; waits for room in a full queue, for at most `timeout`. Zero or less tries once.
    ///
    /// - Throws: ``BlockingPriorityQueueError/timedOut``, or ``BlockingPriorityQueueError/closed``; the element is
    ///   released then.
    /// - Complexity: O(1).
    @inlinable
    public func push(
        _ element: sending Element, priority: CommandPriority = .normal, timeout: Duration
    ) throws(BlockingPriorityQueueError) {
        let item = Item.make(element)
        let status = csk_pqueue_timedpush(queue, item.link, priority.rawValue, Deadline.after(timeout))
        if status == 0 { return }
        item.destroy()
        throw status == ESHUTDOWN ? .closed : .timedOut
    }

    // MARK: Taking elements out

    /// Takes the first element in order; waits while the queue is empty. Nil only once it is closed and empty.
    /// - Complexity: O(log n) amortized.
    @available(*, noasync, message: "it blocks the thread while the queue is empty; use tryPop() or pop(timeout:)")
    @inlinable
    public func pop() -> sending Element? {
        var link: UnsafeMutablePointer<csk_pqueue_item_t>?
        return csk_pqueue_pop(queue, &link) == 0 ? Item(link!).take() : nil
    }

    /// Takes the first element in order; waits for one for at most `timeout`. Zero or less tries once.
    ///
    /// - Returns: the element, or nil once the queue is closed and empty.
    /// - Throws: ``BlockingPriorityQueueError/timedOut``, never early.
    /// - Complexity: O(log n) amortized.
    @inlinable
    public func pop(timeout: Duration) throws(BlockingPriorityQueueError) -> sending Element? {
        var link: UnsafeMutablePointer<csk_pqueue_item_t>?
        let status = csk_pqueue_timedpop(queue, &link, Deadline.after(timeout))
        if status == ETIMEDOUT { throw .timedOut }
        return status == 0 ? Item(link!).take() : nil
    }

    /// Takes the first element in order if one can be had at once, else nil: also when there are no more elements than
    /// threads that wait in `pop` and have been promised one. Never waits for one.
    /// - Complexity: O(log n) amortized.
    @inlinable
    public func tryPop() -> sending Element? {
        var link: UnsafeMutablePointer<csk_pqueue_item_t>?
        return csk_pqueue_trypop(queue, &link) == 0 ? Item(link!).take() : nil
    }

    /// Takes out everything that is inside, in order, and lets those in who wait for room. Never waits.
    /// - Complexity: O(n log n).
    @inlinable
    public func drain() -> sending [Element] {
        var elements: [Element] = []
        Item.forEach(in: queue) { elements.append($0) }
        return elements
    }

    // MARK: Closing and looking

    /// Refuses elements from now on, and wakes everybody who waits. What is inside can still be taken out.
    ///
    /// Those who wait for room give up with the refusal; those who wait for elements get nil. Closing again does
    /// nothing.
    public func close() {
        csk_pqueue_close(queue)
    }

    /// How many elements were inside at some instant during the call: for statistics.
    public var count: Int { Int(csk_pqueue_count(queue)) }

    /// True once ``close()`` was called.
    public var isClosed: Bool { csk_pqueue_is_closed(queue) }

    /// How many threads were waiting at some instant during the call.
    package var waitingCount: Int { Int(csk_pqueue_waiting(queue)) }

    @usableFromInline
    func reportRefusal(_ status: Int32) {
        SyncDiagnostics.report(
            .refusedAfterClose, subject: "\(Self.self)",
            message: "an element was pushed and released: \(String(cString: csk_status_text(status)))")
    }
}
