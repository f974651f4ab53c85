import CSyncKernel

/// A priority queue between threads and tasks, whose consumers wait while it is empty. Elements of one priority come
/// out in the order in which they went in. A `bypassLimit` bounds how often an element is overtaken.
///
/// ```swift
/// let jobs = BlockingPriorityQueue<Job>(capacity: 64)
/// // producers
/// jobs.push(job, priority: .high)
/// jobs.shutdown()   // nothing more comes
/// // consumers; the loop ends once the queue is shut down and empty
/// while let job = jobs.pop() { job.run() }
/// ```
///
/// Threads and tasks that wait for elements are served by arrival. So are those that wait for room. All members may be
/// called from any thread, but not from a signal handler. The members that wait block their thread, so keep them out of
/// async code: there, `try await jobs.suspending.pop()` suspends the task (``suspending``). Elements that are still
/// inside when the queue is deinitialized are released with it.
@safe
public final class BlockingPriorityQueue<Element>: @unchecked Sendable {
    /// The number of elements that fit, or nil if there is no bound.
    public let capacity: Int?

    @usableFromInline
    @safe let queue: UnsafeMutablePointer<csk_pqueue_t>
    /// The queue with its place.
    @safe private let placed: UnsafeMutablePointer<csk_placed_pqueue_t>

    /// Makes an empty, open queue.
    ///
    /// - Parameters:
    ///   - capacity: with one a push into a full queue waits for room. It must be positive.
    ///   - bypassLimit: an element that this many later ones have overtaken comes next. Nil and 0 mean strict priority.
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the queue is made.
    ///   - line: the line there.
    public init(
        capacity: Int? = nil, bypassLimit: UInt32? = nil, name: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        let place = unsafe csk_place_t.named(name, fileID, line)
        // An optimized program prints this message too, unlike that of a precondition.
        guard capacity ?? 1 > 0 else {
            fatalError(
                "BlockingPriorityQueue \(unsafe place.label!): the capacity must be positive, or nil for no bound")
        }
        self.capacity = capacity
        placed = .allocate(capacity: 1)
        unsafe placed.initialize(to: csk_placed_pqueue_t())
        queue = unsafe Layout.first(of: placed)
        var attributes = csk_pqueue_attr_t(size: 0, capacity: UInt64(capacity ?? 0), bypass_limit: bypassLimit ?? 0)
        unsafe csk_pqueue_init_attr(queue, &attributes)
        unsafe csk_pqueue_set_place(placed, place)
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { unsafe placed.pointee.place.name(of: queue) }

    deinit {
        unsafe Item.forEach(in: queue) { _ in }
        unsafe csk_pqueue_destroy(queue)
        unsafe placed.pointee.place.end()
        unsafe placed.deallocate()
    }

    /// Calls `body` with the kernel's queue, and keeps this object, whose end frees the queue, until it has returned.
    @inlinable
    @inline(__always)
    func withQueue<Result>(_ body: (UnsafeMutablePointer<csk_pqueue_t>) -> Result) -> Result {
        withExtendedLifetime(self) { unsafe body(queue) }
    }

    // MARK: Putting elements in

    /// Adds an element. In a full queue it waits for room, and ignores `withDeadline`.
    ///
    /// Once the queue is shut down it returns false, releases the element, and reports to ``SyncDiagnostics``.
    /// - Complexity: O(1).
    @available(
        *, noasync,
        message: "it blocks the thread while the queue is full; try await suspending.push(_:priority:)"
    )
    @inlinable
    @discardableResult
    public func push(_ element: sending Element, priority: CommandPriority = .normal) -> Bool {
        let item = Item.make(element)
        let status = unsafe withQueue { unsafe csk_pqueue_push($0, priority.rawValue, item.link) }
        if status == 0 { return true }
        item.destroy()
        reportRefusal(status)
        return false
    }

    /// Adds an element if there is room now. It never waits for room.
    ///
    /// It returns false when the queue is full or shut down, and releases the element. Neither is reported.
    /// - Complexity: O(1).
    @inlinable
    public func tryPush(_ element: sending Element, priority: CommandPriority = .normal) -> Bool {
        let item = Item.make(element)
        let status = unsafe withQueue { unsafe csk_pqueue_trypush($0, priority.rawValue, item.link) }
        if status == 0 { return true }
        item.destroy()
        return false
    }

    /// Adds an element. In a full queue it waits for room, for at most `timeout`. A timeout of zero or less tries once.
    ///
    /// - Throws: ``BlockingPriorityQueueError/timedOut``, or ``BlockingPriorityQueueError/shutDown``. The element is
    ///   then released.
    /// - Complexity: O(1).
    @inlinable
    public func push(
        _ element: sending Element, priority: CommandPriority = .normal, timeout: TimeLimit
    ) throws(BlockingPriorityQueueError) {
        let item = Item.make(element)
        let status = unsafe withQueue { unsafe timeout.push(item.link, priority.rawValue, to: $0) }
        if status == 0 { return }
        item.destroy()
        throw BlockingPriorityQueueError(status: status)
    }

    // MARK: Taking elements out

    /// Takes the first element in order. It waits while the queue is empty, and ignores `withDeadline`: it returns nil
    /// only once the queue is shut down and empty.
    /// - Complexity: O(log n) amortized.
    @available(*, noasync, message: "it blocks the thread while the queue is empty; try await suspending.pop()")
    @inlinable
    public func pop() -> sending Element? {
        var link: UnsafeMutablePointer<csk_pqueue_item_t>?
        return unsafe withQueue { unsafe csk_pqueue_pop($0, &link) } == 0 ? Item(link!).take() : nil
    }

    /// Takes the first element in order. It waits for one for at most `timeout`. A timeout of zero or less tries once.
    ///
    /// - Returns: the element, or nil once the queue is shut down and empty.
    /// - Throws: ``BlockingPriorityQueueError/timedOut``. It never times out early.
    /// - Complexity: O(log n) amortized.
    @inlinable
    public func pop(timeout: TimeLimit) throws(BlockingPriorityQueueError) -> sending Element? {
        var link: UnsafeMutablePointer<csk_pqueue_item_t>?
        let status = unsafe withQueue { unsafe timeout.pop(&link, from: $0) }
        if status == ETIMEDOUT { throw .timedOut }
        return unsafe status == 0 ? Item(link!).take() : nil
    }

    /// Takes the first element in order if one is available at once, else returns nil. It never waits for one.
    ///
    /// It also returns nil when there are no more elements than threads that wait in `pop` and have been promised one.
    /// - Complexity: O(log n) amortized.
    @inlinable
    public func tryPop() -> sending Element? {
        var link: UnsafeMutablePointer<csk_pqueue_item_t>?
        return unsafe withQueue { unsafe csk_pqueue_trypop($0, &link) } == 0 ? Item(link!).take() : nil
    }

    /// Takes out everything that is inside, in order, and admits the waiters for room. It never waits.
    /// - Complexity: O(n log n).
    @inlinable
    public func takeAll() -> sending [Element] {
        var elements: [Element] = []
        unsafe withQueue { unsafe Item.forEach(in: $0) { elements.append($0) } }
        return elements
    }

    // MARK: Shutting down and looking

    /// Refuses elements from now on, and wakes all waiters. Elements that are inside can still be taken out.
    ///
    /// Threads and tasks that wait for room give up, and their elements are refused. Those that wait for elements get
    /// nil.
    /// A further call does nothing.
    public func shutdown() {
        unsafe csk_pqueue_close(queue)
    }

    /// The number of elements inside at some instant during the call. It is meant for statistics.
    public var count: Int { unsafe Int(csk_pqueue_count(queue)) }

    /// True once ``shutdown()`` was called.
    public var isShutDown: Bool { unsafe csk_pqueue_is_closed(queue) }

    /// The number of threads and tasks that waited at some instant during the call.
    package var waitingCount: Int { unsafe Int(csk_pqueue_waiting(queue)) }

    @usableFromInline
    func reportRefusal(_ status: Int32) {
        SyncDiagnostics.report(
            .refusedAfterShutdown, subject: "\(Self.self) \(name)",
            message: "an element was pushed and released: \(statusText(status))")
    }
}
