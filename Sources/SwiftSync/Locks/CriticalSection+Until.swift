extension CriticalSection {
    /// Runs `closure` inside the section, unless entering takes longer than until `deadline`. In that case it returns
    /// false, and nothing was run. A deadline that is not ahead tries once. Otherwise it is the form with a timeout.
    @inlinable
    public func execute(until deadline: ContinuousClock.Instant, _ closure: () throws -> Void) rethrows -> Bool {
        try execute(within: .continuous(deadline), closure)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func execute(until deadline: SuspendingClock.Instant, _ closure: () throws -> Void) rethrows -> Bool {
        try execute(within: .suspending(deadline), closure)
    }
}
