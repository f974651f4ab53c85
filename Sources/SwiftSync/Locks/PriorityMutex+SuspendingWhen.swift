extension PriorityMutex.Suspending where Value: ~Copyable {
    /// Runs `body` with exclusive access to the value as soon as `predicate` is true of it.
    ///
    /// ```swift
    /// let queue = PriorityMutex([Int]())
    /// let consumer = Task { try await queue.suspending.withLock(when: { !$0.isEmpty }) { $0.removeFirst() } }
    /// queue.withLock { $0.append(42) }            // nothing has to be signalled
    /// print(try await consumer.value)             // 42
    /// ```
    ///
    /// It suspends the task while it waits, and blocks no thread. Tasks and threads wait for predicates in one order,
    /// which ``PriorityMutex/withLock(when:priority:_:)`` describes, as it does what `predicate` may do.
    ///
    /// A nil `priority` is that of `withPriority`, or of the task, which moves up where it is escalated. A timeout of
    /// zero or less tries once, and no timeout is early. Timeout and cancellation end the wait for the predicate, and
    /// the first wait for the mutex. Once the predicate was found true, the task enters the mutex in its turn, at its
    /// place. If its executor does not start it in time, other waiters go first. Only if another entered before it and
    /// made the predicate false does it wait again, behind the present waiters. It throws a ``PriorityMutexError``
    /// without having run `body`: `.timedOut`, `.cancelled` or `.outOfResources`. What `body` throws is rethrown, and
    /// leaves the mutex free. A wait costs four allocations.
    @inlinable
    public func withLock<Result: ~Copyable>(
        when predicate: @escaping @Sendable (borrowing Value) -> Bool,
        priority: CommandPriority? = nil, timeout: TimeLimit = .never,
        _ body: (inout sending Value) throws -> sending Result
    ) async throws -> sending Result {
        let isInside = try enterFast()
        if !isInside || !predicate(box.value.pointee) {
            try await enterSlowly(when: predicate, priority, timeout, isInside: isInside)
        }
        defer { box.leaveSuspended() }
        return try body(&box.value.pointee)
    }

    /// On return the calling thread holds the gate. Every call on the way has the caller's isolation, so the thread
    /// does not change. An error leaves the gate.
    @usableFromInline
    func enterSlowly(
        when predicate: @escaping @Sendable (borrowing Value) -> Bool, _ priority: CommandPriority?,
        _ limit: TimeLimit, isInside: Bool
    ) async throws(PriorityMutexError) {
        let deadline = limit.deadline()
        if !isInside { try await enterSlowly(priority, deadline: deadline) }
        while !predicate(box.value.pointee) {
            if deadline == Deadline.passed {
                box.leaveSuspended()
                throw .timedOut
            }
            let wait = unsafe SuspendedCondition(
                box.gate, of: box, rank: priority.map(CommandRank.of), isolation: #isolation
            ) { [box] in predicate(box.value.pointee) }
            let status = await wait.acquireWhenTrue(deadline: deadline)
            if status != 0 { throw PriorityMutexError(status: status) }
        }
    }
}
