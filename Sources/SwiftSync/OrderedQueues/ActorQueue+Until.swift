extension ActorQueue {
    /// Submits `work`. If the queue is full and its `whenFull` is `wait`, the call waits for room, but not past
    /// `deadline`. One that is not ahead tries once. Otherwise it is the form with a timeout.
    public func enqueueWaitingForRoom(
        until deadline: ContinuousClock.Instant, _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(within: .continuous(deadline), work)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func enqueueWaitingForRoom(
        until deadline: SuspendingClock.Instant, _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(within: .suspending(deadline), work)
    }

    /// Runs `work` in the calling task, on the actor, after everything that was submitted before has begun. The task
    /// gives its turn up if `work` has not begun until `deadline`. With one that is not ahead, `work` runs only if
    /// nothing stands before it in the queue. Otherwise it is the form with a timeout.
    public func enqueueAndWait<T: Sendable>(
        until deadline: ContinuousClock.Instant, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await runInTurn(.continuous(deadline), work)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func enqueueAndWait<T: Sendable>(
        until deadline: SuspendingClock.Instant, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await runInTurn(.suspending(deadline), work)
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

extension ActorQueue where ActorType == MainActor {
    /// Submits `work`, and waits for room no longer than until `deadline`. Otherwise it is the form with a timeout.
    public func enqueueWaitingForRoom(
        until deadline: ContinuousClock.Instant, _ work: @escaping @MainActor () async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(until: deadline) { _ in await work() }
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func enqueueWaitingForRoom(
        until deadline: SuspendingClock.Instant, _ work: @escaping @MainActor () async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(until: deadline) { _ in await work() }
    }

    /// Runs `work` in the calling task, on the main actor, if it can begin until `deadline`. Otherwise it is the form
    /// with a timeout.
    public func enqueueAndWait<T: Sendable>(
        until deadline: ContinuousClock.Instant, _ work: @MainActor () async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(until: deadline) { _ in try await work() }
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @_disfavoredOverload
    public func enqueueAndWait<T: Sendable>(
        until deadline: SuspendingClock.Instant, _ work: @MainActor () async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(until: deadline) { _ in try await work() }
    }
}
