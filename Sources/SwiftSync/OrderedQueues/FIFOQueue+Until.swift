extension FIFOQueue {
    /// Submits `work`. If the queue is full and its `whenFull` is `wait`, the call waits for room, but not past
    /// `deadline`. One that is not ahead tries once. Otherwise it is the form with a timeout.
    public func enqueueWaitingForRoom(
        until deadline: ContinuousClock.Instant, _ work: @escaping @Sendable () async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(within: .continuous(deadline), work)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func enqueueWaitingForRoom(
        until deadline: SuspendingClock.Instant, _ work: @escaping @Sendable () async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(within: .suspending(deadline), work)
    }

    /// Runs `work` in the calling task, after everything that was submitted before has ended. The task gives its turn
    /// up if that has not come until `deadline`. One that is not ahead tries once. Otherwise it is the form with a
    /// timeout.
    public func enqueueAndWait<T: Sendable>(
        until deadline: ContinuousClock.Instant, _ work: @Sendable () async throws -> T
    ) async throws -> T {
        try await runInTurn(.continuous(deadline), work)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func enqueueAndWait<T: Sendable>(
        until deadline: SuspendingClock.Instant, _ work: @Sendable () async throws -> T
    ) async throws -> T {
        try await runInTurn(.suspending(deadline), work)
    }

    /// Does the same for work that runs on `actor`.
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, until deadline: ContinuousClock.Instant,
        _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(until: deadline) { try await work(actor) }
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, until deadline: SuspendingClock.Instant,
        _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(until: deadline) { try await work(actor) }
    }

    /// Waits until everything that was submitted before has ended, but not past `deadline`. Otherwise it is
    /// ``drain(timeout:)``.
    public func drain(until deadline: ContinuousClock.Instant) async throws(OrderedQueueError) {
        try await drain(within: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func drain(until deadline: SuspendingClock.Instant) async throws(OrderedQueueError) {
        try await drain(within: .suspending(deadline))
    }
}
