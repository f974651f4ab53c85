#if RCU
extension Snapshot where Value: Copyable {
    /// Publishes what `body` makes of a copy of the current value. It waits for other updates, but not past `deadline`.
    /// One that is not ahead tries once. Otherwise it is ``update(timeout:_:)``.
    @inlinable
    @discardableResult
    public func update<Result: ~Copyable>(
        until deadline: ContinuousClock.Instant, _ body: (inout Value) -> Result
    ) throws(SnapshotError) -> Result {
        try update(within: .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @discardableResult
    @_disfavoredOverload
    public func update<Result: ~Copyable>(
        until deadline: SuspendingClock.Instant, _ body: (inout Value) -> Result
    ) throws(SnapshotError) -> Result {
        try update(within: .suspending(deadline), body)
    }
}
#endif
