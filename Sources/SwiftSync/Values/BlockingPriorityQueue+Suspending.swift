public import CSyncKernel

extension BlockingPriorityQueue {
    /// The type of ``BlockingPriorityQueue/suspending``: pushes and pops that suspend the task, instead of blocking its
    /// thread, while they wait.
    ///
    /// ```swift
    /// let jobs = BlockingPriorityQueue<Int>(capacity: 64)
    /// try await jobs.suspending.push(7, priority: .high)
    /// jobs.shutdown()   // nothing more comes
    /// while let job = try await jobs.suspending.pop() { print(job) }
    /// ```
    ///
    /// Tasks and threads wait in two lines, by arrival: one for elements, one for room. The priority of an element
    /// orders elements, not waiters. A grant hands the task the first element of that moment, or a place for its own.
    /// So an element is never lost or duplicated, however a grant races with a timeout or a cancellation.
    ///
    /// A call that need not wait never suspends, and allocates only the element that it pushes. A task that has to wait
    /// costs one more allocation.
    @frozen
    public struct Suspending: Sendable {
        @usableFromInline
        let owner: BlockingPriorityQueue

        @inlinable
        init(_ owner: BlockingPriorityQueue) {
            self.owner = owner
        }

        /// Adds an element. In a full queue it waits for room.
        ///
        /// It suspends the task while it waits, and blocks no thread. A timeout of zero or less tries once, and no
        /// timeout is early. Without a timeout only the deadline of `withDeadline` bounds the wait.
        ///
        /// - Throws: ``BlockingPriorityQueueError/timedOut``; ``BlockingPriorityQueueError/shutDown``, also where the
        ///   queue is shut down during the wait; ``BlockingPriorityQueueError/cancelled`` where the task is cancelled
        ///   before there is room, or was before the call; or ``BlockingPriorityQueueError/outOfResources`` where the
        ///   system gives no timer. The element is then released.
        /// - Complexity: O(1).
        @inlinable
        public func push(
            _ element: sending Element, priority: CommandPriority = .normal, timeout: TimeLimit = .never
        ) async throws(BlockingPriorityQueueError) {
            let item = Item.make(element)
            var status =
                Task.isCancelledByOthers
                ? ECANCELED : unsafe csk_pqueue_trypush(owner.queue, priority.rawValue, item.link)
            if status == EBUSY {
                status = await unsafe timeout.awaitRoom(
                    for: item.link, priority.rawValue, in: owner.queue, of: owner)
            }
            if status == 0 { return }
            item.destroy()
            throw BlockingPriorityQueueError(status: status)
        }

        /// Takes the first element in order. It waits while none is available.
        ///
        /// It suspends the task while it waits, and blocks no thread. A timeout of zero or less tries once, and no
        /// timeout is early. Without a timeout only the deadline of `withDeadline` bounds the wait.
        ///
        /// - Returns: the element, or nil once the queue is shut down and empty, also where that happens during the
        ///   wait.
        /// - Throws: ``BlockingPriorityQueueError/timedOut``; ``BlockingPriorityQueueError/cancelled`` where the task
        ///   is cancelled before it has an element, or was before the call; or
        ///   ``BlockingPriorityQueueError/outOfResources`` where the system gives no timer. Nothing was taken then.
        /// - Complexity: O(log n) amortized.
        @inlinable
        public func pop(
            timeout: TimeLimit = .never
        ) async throws(BlockingPriorityQueueError) -> sending Element? {
            if Task.isCancelledByOthers { throw .cancelled }
            var link: UnsafeMutablePointer<csk_pqueue_item_t>?
            var status = unsafe csk_pqueue_trypop(owner.queue, &link)
            if status == EBUSY {
                status = await unsafe timeout.awaitItem(&link, in: owner.queue, of: owner)
            }
            if status == 0 { return unsafe Item(link!).take() }
            if status == ESHUTDOWN { return nil }
            throw BlockingPriorityQueueError(status: status)
        }
    }

    /// Pushes and pops that suspend the task, instead of blocking its thread, while they wait.
    ///
    /// The name is `suspending`, as for every object of this library that also has blocking forms. An `async` overload
    /// of ``pop(timeout:)`` would be chosen by the compiler in every async function, and would demand an `await` there.
    @inlinable
    public var suspending: Suspending { Suspending(self) }
}
