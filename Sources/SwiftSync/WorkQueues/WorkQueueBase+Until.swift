public import Dispatch

extension WorkQueueBase {
    /// Queues `body`. On a full queue whose bound lets callers wait, the task is suspended until there is room, but not
    /// past `deadline`. One that is not ahead tries once. Otherwise it is ``asyncWaitingForRoom(priority:timeout:_:)``.
    public final func asyncWaitingForRoom(
        priority: CommandPriority? = nil, until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(rank: core.rank(of: priority), barrier: false, .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public final func asyncWaitingForRoom(
        priority: CommandPriority? = nil, until deadline: SuspendingClock.Instant,
        _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(rank: core.rank(of: priority), barrier: false, .suspending(deadline), body)
    }

    /// Runs `body` on the calling thread, if its turn comes until `deadline`. One that is not ahead tries once.
    /// Otherwise it is ``sync(timeout:priority:_:)``.
    @discardableResult
    public final func sync<R>(
        until deadline: ContinuousClock.Instant, priority: CommandPriority? = nil, _ body: () throws -> R
    ) throws -> R {
        try core.sync(rank: core.rank(of: priority), barrier: false, .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @discardableResult
    @_disfavoredOverload
    public final func sync<R>(
        until deadline: SuspendingClock.Instant, priority: CommandPriority? = nil, _ body: () throws -> R
    ) throws -> R {
        try core.sync(rank: core.rank(of: priority), barrier: false, .suspending(deadline), body)
    }

    /// Runs `body` on a worker as a part of the task, if its turn comes until `deadline`. Otherwise it is
    /// ``run(timeout:priority:_:)``.
    @discardableResult
    public final func run<T: Sendable>(
        until deadline: ContinuousClock.Instant, priority: CommandPriority? = nil,
        _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await core.run(rank: core.rank(of: priority), barrier: false, .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @discardableResult
    @_disfavoredOverload
    public final func run<T: Sendable>(
        until deadline: SuspendingClock.Instant, priority: CommandPriority? = nil,
        _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await core.run(rank: core.rank(of: priority), barrier: false, .suspending(deadline), body)
    }

    /// Waits until all work that was accepted before has ended, but not past `deadline`. It blocks the thread; a task
    /// uses the form that is awaited. Otherwise it is the form with a timeout.
    public final func drain(until deadline: ContinuousClock.Instant) throws(WorkQueueError) {
        try core.drain(.continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public final func drain(until deadline: SuspendingClock.Instant) throws(WorkQueueError) {
        try core.drain(.suspending(deadline))
    }

    /// Suspends the task until all work that was accepted before has ended, but not past `deadline`. Otherwise it is
    /// the form with a timeout.
    public final func drain(until deadline: ContinuousClock.Instant) async throws(WorkQueueError) {
        try await core.drain(.continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public final func drain(until deadline: SuspendingClock.Instant) async throws(WorkQueueError) {
        try await core.drain(.suspending(deadline))
    }
}

extension ConcurrentWorkQueue {
    /// Queues `body` as `flags` say, once there is room for it, but not past `deadline`. Otherwise it is
    /// ``asyncWaitingForRoom(flags:timeout:_:)``.
    public func asyncWaitingForRoom(
        flags: DispatchWorkItemFlags, until deadline: ContinuousClock.Instant, _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(
            rank: core.ownRank, barrier: flags.contains(.barrier), .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func asyncWaitingForRoom(
        flags: DispatchWorkItemFlags, until deadline: SuspendingClock.Instant, _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(
            rank: core.ownRank, barrier: flags.contains(.barrier), .suspending(deadline), body)
    }

    /// Runs `body` on the calling thread as `flags` say, if its turn comes until `deadline`. Otherwise it is
    /// ``sync(flags:timeout:_:)``.
    @discardableResult
    public func sync<R>(
        flags: DispatchWorkItemFlags, until deadline: ContinuousClock.Instant, _ body: () throws -> R
    ) throws -> R {
        try core.sync(rank: core.ownRank, barrier: flags.contains(.barrier), .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @discardableResult
    @_disfavoredOverload
    public func sync<R>(
        flags: DispatchWorkItemFlags, until deadline: SuspendingClock.Instant, _ body: () throws -> R
    ) throws -> R {
        try core.sync(rank: core.ownRank, barrier: flags.contains(.barrier), .suspending(deadline), body)
    }

    /// Runs `body` as `flags` say, as a part of the task, if its turn comes until `deadline`. Otherwise it is
    /// ``run(flags:timeout:_:)``.
    @discardableResult
    public func run<T: Sendable>(
        flags: DispatchWorkItemFlags, until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await core.run(rank: core.ownRank, barrier: flags.contains(.barrier), .continuous(deadline), body)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @discardableResult
    @_disfavoredOverload
    public func run<T: Sendable>(
        flags: DispatchWorkItemFlags, until deadline: SuspendingClock.Instant,
        _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await core.run(rank: core.ownRank, barrier: flags.contains(.barrier), .suspending(deadline), body)
    }
}
