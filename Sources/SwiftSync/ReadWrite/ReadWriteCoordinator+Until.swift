extension ReadWriteCoordinator {
    /// Runs `body` together with other reads, unless entering takes longer than until `deadline`. One that is not ahead
    /// tries once. Otherwise it is ``read(timeout:_:)``.
    @inlinable
    public func read<R>(until deadline: ContinuousClock.Instant, _ body: () throws -> R) throws -> R {
        try read(within: .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func read<R>(until deadline: SuspendingClock.Instant, _ body: () throws -> R) throws -> R {
        try read(within: .suspending(deadline), body)
    }

    /// Runs `body` alone on the calling thread, unless entering takes longer than until `deadline`. One that is not
    /// ahead tries once. Otherwise it is ``blockingWrite(timeout:_:)``.
    @inlinable
    public func blockingWrite<R>(until deadline: ContinuousClock.Instant, _ body: () throws -> R) throws -> R {
        try blockingWrite(within: .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func blockingWrite<R>(until deadline: SuspendingClock.Instant, _ body: () throws -> R) throws -> R {
        try blockingWrite(within: .suspending(deadline), body)
    }

    /// Waits until everything that was submitted before has run, but not past `deadline`. One that is not ahead tries
    /// once. It blocks the thread. Otherwise it is ``drain(timeout:)``.
    public func drain(until deadline: ContinuousClock.Instant) throws(ReadWriteError) {
        try drain(within: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func drain(until deadline: SuspendingClock.Instant) throws(ReadWriteError) {
        try drain(within: .suspending(deadline))
    }
}

extension ReadWriteCoordinator.Suspending {
    /// Runs `body` together with other reads, if it can begin until `deadline`. Otherwise it is ``read(timeout:_:)``.
    public func read<R: Sendable>(
        until deadline: ContinuousClock.Instant, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await run(write: false, .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func read<R: Sendable>(
        until deadline: SuspendingClock.Instant, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await run(write: false, .suspending(deadline), body)
    }

    /// Runs `body` alone, if it can begin until `deadline`. Otherwise it is ``write(timeout:_:)``.
    @discardableResult
    public func write<R: Sendable>(
        until deadline: ContinuousClock.Instant, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await run(write: true, .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @discardableResult
    @_disfavoredOverload
    public func write<R: Sendable>(
        until deadline: SuspendingClock.Instant, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        try await run(write: true, .suspending(deadline), body)
    }

    /// Waits until everything that was submitted before has run, but not past `deadline`. Otherwise it is
    /// ``drain(timeout:)``.
    public func drain(until deadline: ContinuousClock.Instant) async throws {
        try await write(until: deadline) {}
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func drain(until deadline: SuspendingClock.Instant) async throws {
        try await write(until: deadline) {}
    }
}
