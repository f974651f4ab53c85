extension PriorityMutex where Value: ~Copyable {
    /// Runs `body` with the value, unless entering takes longer than until `deadline`. In that case it returns nil. A
    /// deadline that is not ahead tries once. Otherwise it is ``withLock(priority:timeout:_:)``.
    ///
    /// ```swift
    /// let cache = PriorityMutex([String: Int]()), index = PriorityMutex([Int]())
    /// let deadline = ContinuousClock.now + .milliseconds(5)
    /// let size = cache.withLock(until: deadline) { $0.count }
    /// let found = index.withLock(until: deadline) { $0.count }         // 5 ms for both
    /// print(size ?? 0, found ?? 0)
    /// ```
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        priority: CommandPriority = .normal,
        until deadline: ContinuousClock.Instant,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try withLock(within: .continuous(deadline), priority, body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        priority: CommandPriority = .normal,
        until deadline: SuspendingClock.Instant,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        try withLock(within: .suspending(deadline), priority, body)
    }
}
