import CSyncKernel

extension PriorityMutex where Value: ~Copyable {
    /// Runs `body` with exclusive access to the value as soon as `predicate` is true of it.
    ///
    /// ```swift
    /// let queue = PriorityMutex([Int]())
    /// DispatchQueue.global().async {
    ///     print(queue.withLock(when: { !$0.isEmpty }) { $0.removeFirst() })   // waits until there is one
    /// }
    /// queue.withLock { $0.append(42) }        // nothing has to be signalled
    /// ```
    ///
    /// Each thread or task that leaves the mutex evaluates the waiters' predicates, by priority and then by arrival,
    /// and wakes the first waiter whose predicate is true. So one change wakes one waiter. A waiter whose predicate is
    /// false blocks no other. Without such waiters the mutex costs no more; with n of them, leaving takes up to n calls
    /// of predicates. At normal priority or below, and without a timeout, a thread yields and rechecks a few times
    /// before it waits. Meanwhile others may take what it would have had, whatever their priority.
    ///
    /// `predicate` runs on other threads too, while they hold the mutex. It must depend on the value alone, and not
    /// block. Locking the mutex in it stops the program with a message.
    ///
    /// It blocks the thread while it waits. It can't report that it did not enter, so it ignores `withDeadline`. Inside
    /// of a section of the same thread it stops the program with a message.
    ///
    /// - Parameters:
    ///   - predicate: what must be true of the value.
    ///   - priority: the priority at which it waits. Nil means the normal one, or that of `withPriority`.
    ///   - body: what is run.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        priority: CommandPriority? = nil,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        if !enterFast(when: predicate) { _ = enterSlowly(when: predicate, priority, nil) }
        defer { box.leave() }
        return try body(&box.value.pointee)
    }

    /// Waits at `priority` for at most `timeout` until `predicate` is true, and runs `body` then. It returns nil on
    /// timeout. A nil `priority` is the normal one, or that of `withPriority`.
    ///
    /// A timeout of zero or less tries once. The deadline of `withDeadline` bounds the wait too. A timeout is never
    /// early. It may be late while others hold the mutex, since the predicate is evaluated once more then.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        priority: CommandPriority? = nil,
        timeout: TimeLimit,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        if !enterFast(when: predicate), !enterSlowly(when: predicate, priority, timeout) { return nil }
        defer { box.leave() }
        return try body(&box.value.pointee)
    }

    /// Waits for at most `timeout` until `predicate` is true, and runs a body that returns nothing. It returns true if
    /// `body` was run, else false, and the compiler warns if the result is unused. Where a Bool is expected, the
    /// compiler chooses this form and drops the result of a one-expression body. For a Bool that the body returns,
    /// compare: `… { $0.isOpen } == true`.
    @inlinable
    public borrowing func withLock<Failure: Error>(
        when predicate: @Sendable (borrowing Value) -> Bool,
        priority: CommandPriority? = nil,
        timeout: TimeLimit,
        _ body: (inout sending Value) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        if !enterFast(when: predicate), !enterSlowly(when: predicate, priority, timeout) { return false }
        defer { box.leave() }
        try body(&box.value.pointee)
        return true
    }

    /// Enters if the mutex is free and the predicate is true at once.
    @inlinable
    borrowing func enterFast(when predicate: @Sendable (borrowing Value) -> Bool) -> Bool {
        guard box.enterFast() else { return false }
        if predicate(box.value.pointee) { return true }
        box.leave()
        return false
    }

    /// Waits for the predicate and enters; a nil limit means none.
    @usableFromInline
    borrowing func enterSlowly(
        when predicate: @Sendable (borrowing Value) -> Bool, _ priority: CommandPriority?, _ limit: TimeLimit?
    ) -> Bool {
        let deadline = limit?.deadline() ?? Deadline.never
        let rank = RequestPriority.rankOfThread(naming: priority)
        let status = unsafe box.withUnsafeMutablePointers { header, value in
            unsafe GatePredicate.withKernelForm(of: { unsafe predicate(value.pointee) }) {
                unsafe csk_gate_lock_when_ranked(Layout.first(of: header), rank, $0, $1, deadline)
            }
        }
        return hasEntered(status)
    }
}
