extension AsyncMutex where Value: ~Copyable {
    /// Runs `body` with the value while no other task has it, and waits to enter for no longer than until `deadline`.
    /// One that is not ahead tries once. Otherwise it is the form with a timeout.
    @inlinable
    public func withLock<Result>(
        priority: CommandPriority? = nil, until deadline: ContinuousClock.Instant,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout sending Value) async throws -> sending Result
    ) async throws -> sending Result {
        try await withLock(within: .continuous(deadline), priority, isolation: isolation, body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func withLock<Result>(
        priority: CommandPriority? = nil, until deadline: SuspendingClock.Instant,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (inout sending Value) async throws -> sending Result
    ) async throws -> sending Result {
        try await withLock(within: .suspending(deadline), priority, isolation: isolation, body)
    }
}
