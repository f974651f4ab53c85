extension ReadWriteLock where Value: ~Copyable & Sendable {
    /// Runs `body` with the value, unless entering takes longer than until `deadline`. In that case it returns nil. A
    /// deadline that is not ahead tries once. Otherwise it is ``withReadLock(timeout:_:)``.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant, _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try withReadLock(within: .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        until deadline: SuspendingClock.Instant, _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try withReadLock(within: .suspending(deadline), body)
    }

    /// Runs `body` with the value, unless entering takes longer than until `deadline`. In that case it returns nil. A
    /// deadline that is not ahead tries once. Otherwise it is ``withWriteLock(timeout:_:)``.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        until deadline: ContinuousClock.Instant, _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try withWriteLock(within: .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        until deadline: SuspendingClock.Instant, _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try withWriteLock(within: .suspending(deadline), body)
    }
}

extension ReadWriteLock.Upgrade where Value: ~Copyable & Sendable {
    /// Runs `body` alone once the other readers have left, unless that takes longer than until `deadline`. One that is
    /// not ahead tries once. Otherwise it is the form with a timeout.
    @inlinable
    public borrowing func callAsFunction<Result: ~Copyable>(
        until deadline: ContinuousClock.Instant, _ body: (inout Value) throws -> Result
    ) throws -> Result {
        try upgrade(within: .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public borrowing func callAsFunction<Result: ~Copyable>(
        until deadline: SuspendingClock.Instant, _ body: (inout Value) throws -> Result
    ) throws -> Result {
        try upgrade(within: .suspending(deadline), body)
    }
}
