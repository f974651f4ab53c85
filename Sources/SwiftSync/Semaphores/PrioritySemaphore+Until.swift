extension PrioritySemaphore {
    /// Takes `permits`, and blocks the thread while too few are free, but not past `deadline`.
    ///
    /// It is ``wait(permits:priority:timeout:)`` for callers that know an instant: several waits of one request can
    /// share it. A deadline that is not ahead tries once. The wait never ends early. The time for which the system is
    /// suspended does not count, so the wait may end that much later.
    ///
    /// ```swift
    /// let connections = PrioritySemaphore(value: 8), memory = PrioritySemaphore(value: 64)
    /// func admit() throws {
    ///     let deadline = ContinuousClock.now + .milliseconds(5)
    ///     try connections.wait(until: deadline)
    ///     try memory.wait(permits: 16, until: deadline)         // 5 ms for both
    /// }
    /// ```
    @available(*, noasync, message: "try await wait(until:)")
    @inlinable
    public func wait(
        permits: Int = 1, priority: CommandPriority = .normal, until deadline: ContinuousClock.Instant
    ) throws(PrioritySemaphoreError) {
        if tryFast(permits) { return }
        try waitSlowly(permits, priority, .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @available(*, noasync, message: "try await wait(until:)")
    @inlinable
    @_disfavoredOverload
    public func wait(
        permits: Int = 1, priority: CommandPriority = .normal, until deadline: SuspendingClock.Instant
    ) throws(PrioritySemaphoreError) {
        if tryFast(permits) { return }
        try waitSlowly(permits, priority, .suspending(deadline))
    }

    /// Takes `permits`, and suspends the task while too few are free, but not past `deadline`.
    ///
    /// A deadline that is not ahead tries once. The wait never ends early. The time for which the system is suspended
    /// does not count, so the wait may end that much later. All else is as in the form with a timeout.
    ///
    /// ```swift
    /// let connections = PrioritySemaphore(value: 8), memory = PrioritySemaphore(value: 64)
    /// let deadline = ContinuousClock.now + .milliseconds(5)
    /// try await connections.wait(until: deadline)
    /// try await memory.wait(permits: 16, until: deadline)       // 5 ms for both
    /// ```
    @inlinable
    public func wait(
        permits: Int = 1, priority: CommandPriority? = nil, until deadline: ContinuousClock.Instant,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(PrioritySemaphoreError) {
        if try tryFastUnlessCancelled(permits) { return }
        try await suspend(permits, priority, .continuous(deadline), isolation: isolation)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func wait(
        permits: Int = 1, priority: CommandPriority? = nil, until deadline: SuspendingClock.Instant,
        isolation: isolated (any Actor)? = #isolation
    ) async throws(PrioritySemaphoreError) {
        if try tryFastUnlessCancelled(permits) { return }
        try await suspend(permits, priority, .suspending(deadline), isolation: isolation)
    }

    /// Runs `body` with permits, for which it waits no longer than until `deadline`.
    ///
    /// It blocks the thread while too few are free. It throws what the `wait` that blocks throws, without running
    /// `body`, and what `body` throws.
    @available(*, noasync, message: "try await withPermit(until:) { }")
    @_disfavoredOverload
    @inlinable
    public func withPermit<Result: ~Copyable>(
        permits: Int = 1, priority: CommandPriority = .normal, until deadline: ContinuousClock.Instant,
        _ body: () throws -> Result
    ) throws -> Result {
        if !tryFast(permits) { try waitSlowly(permits, priority, .continuous(deadline)) }
        defer { giveBack(permits) }
        return try body()
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact. The last parameters are for the
    /// compiler: in async code it takes the form with fewer, which suspends.
    @available(*, noasync, message: "try await withPermit(until:) { }")
    @_disfavoredOverload
    @inlinable
    public func withPermit<Result: ~Copyable>(
        permits: Int = 1, priority: CommandPriority = .normal, until deadline: SuspendingClock.Instant,
        _ body: () throws -> Result, _: Void = (), _: Void = ()
    ) throws -> Result {
        if !tryFast(permits) { try waitSlowly(permits, priority, .suspending(deadline)) }
        defer { giveBack(permits) }
        return try body()
    }

    /// Runs `body` with permits, for which it waits no longer than until `deadline`.
    ///
    /// It suspends the task while too few are free. It throws what the suspending `wait` throws, without running
    /// `body`, and what `body` throws.
    @inlinable
    public func withPermit<Result>(
        permits: Int = 1, priority: CommandPriority? = nil, until deadline: ContinuousClock.Instant,
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Result
    ) async throws -> sending Result {
        try await wait(permits: permits, priority: priority, until: deadline, isolation: isolation)
        defer { giveBack(permits) }
        return try await body()
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func withPermit<Result>(
        permits: Int = 1, priority: CommandPriority? = nil, until deadline: SuspendingClock.Instant,
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> sending Result
    ) async throws -> sending Result {
        try await wait(permits: permits, priority: priority, until: deadline, isolation: isolation)
        defer { giveBack(permits) }
        return try await body()
    }
}
