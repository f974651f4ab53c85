extension ResourcePool {
    /// Runs `body` with a resource that nobody else uses meanwhile, and waits for one no longer than until `deadline`.
    /// One that is not ahead takes a resource that is there. Otherwise it is the form with a timeout.
    @inlinable
    public func withResource<Result>(
        priority: CommandPriority? = nil, until deadline: ContinuousClock.Instant, file: StaticString = #fileID,
        line: UInt = #line, isolation: isolated (any Actor)? = #isolation,
        _ body: (Resource) async throws -> sending Result
    ) async throws -> sending Result {
        try await use(within: .continuous(deadline), priority, file, line, isolation: isolation, body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    @inlinable
    public func withResource<Result>(
        priority: CommandPriority? = nil, until deadline: SuspendingClock.Instant, file: StaticString = #fileID,
        line: UInt = #line, isolation: isolated (any Actor)? = #isolation,
        _ body: (Resource) async throws -> sending Result
    ) async throws -> sending Result {
        try await use(within: .suspending(deadline), priority, file, line, isolation: isolation, body)
    }

    /// Does the same, with a lease, by which the body can say that the resource is broken.
    @inlinable
    public func withResource<Result>(
        priority: CommandPriority? = nil, until deadline: ContinuousClock.Instant, file: StaticString = #fileID,
        line: UInt = #line, isolation: isolated (any Actor)? = #isolation,
        _ body: (Resource, ResourceLease) async throws -> sending Result
    ) async throws -> sending Result {
        try await useByLease(within: .continuous(deadline), priority, file, line, isolation: isolation, body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    @inlinable
    public func withResource<Result>(
        priority: CommandPriority? = nil, until deadline: SuspendingClock.Instant, file: StaticString = #fileID,
        line: UInt = #line, isolation: isolated (any Actor)? = #isolation,
        _ body: (Resource, ResourceLease) async throws -> sending Result
    ) async throws -> sending Result {
        try await useByLease(within: .suspending(deadline), priority, file, line, isolation: isolation, body)
    }

    /// Shuts the pool down, and waits until all resources are closed, but not past `deadline`. Otherwise it is the form
    /// with a timeout.
    @discardableResult
    public func shutdown(
        until deadline: ContinuousClock.Instant, isolation: isolated (any Actor)? = #isolation
    ) async -> ResourcePoolReport {
        await core.shutdown(within: .continuous(deadline), isolation: isolation)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @discardableResult
    @_disfavoredOverload
    public func shutdown(
        until deadline: SuspendingClock.Instant, isolation: isolated (any Actor)? = #isolation
    ) async -> ResourcePoolReport {
        await core.shutdown(within: .suspending(deadline), isolation: isolation)
    }
}
