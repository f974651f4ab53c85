public import Dispatch

extension QueueSafeValue {
    /// The commands of ``wait`` that wait no longer than until `deadline`, and then give `.failure(.timedOut)`. A
    /// deadline that is not ahead tries once.
    @inlinable
    public func wait(until deadline: ContinuousClock.Instant) -> SyncSchedule<Value> {
        SyncSchedule(box: box, limit: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func wait(until deadline: SuspendingClock.Instant) -> SyncSchedule<Value> {
        SyncSchedule(box: box, limit: .suspending(deadline))
    }

    /// The commands of ``suspending`` that wait no longer than until `deadline`, and then give `.failure(.timedOut)`. A
    /// deadline that is not ahead tries once.
    @inlinable
    public func suspending(until deadline: ContinuousClock.Instant) -> SuspendingCommands<Value> {
        SuspendingCommands(box: box, rank: nil, limit: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func suspending(until deadline: SuspendingClock.Instant) -> SuspendingCommands<Value> {
        SuspendingCommands(box: box, rank: nil, limit: .suspending(deadline))
    }

    /// Commands that return at once, and run their closures on `queue`. A command whose turn has not come at `deadline`
    /// gives `.failure(.timedOut)`.
    @inlinable
    public func async(performIn queue: DispatchQueue, until deadline: ContinuousClock.Instant) -> AsyncSchedule<Value> {
        AsyncSchedule(box: box, queue: queue, limit: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func async(performIn queue: DispatchQueue, until deadline: SuspendingClock.Instant) -> AsyncSchedule<Value> {
        AsyncSchedule(box: box, queue: queue, limit: .suspending(deadline))
    }

    /// The same, on the global queue of a quality of service.
    @inlinable
    public func async(
        performIn qos: DispatchQoS.QoSClass, until deadline: ContinuousClock.Instant
    ) -> AsyncSchedule<Value> {
        AsyncSchedule(box: box, queue: .global(qos: qos), limit: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func async(
        performIn qos: DispatchQoS.QoSClass, until deadline: SuspendingClock.Instant
    ) -> AsyncSchedule<Value> {
        AsyncSchedule(box: box, queue: .global(qos: qos), limit: .suspending(deadline))
    }
}

extension QueueSafeSyncedValue {
    /// Commands that wait no longer than until `deadline`, and then give `.failure(.timedOut)`. A deadline that is not
    /// ahead tries once.
    @inlinable
    public func until(_ deadline: ContinuousClock.Instant) -> SyncSchedule<Value> {
        SyncSchedule(box: box, limit: .continuous(deadline))
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func until(_ deadline: SuspendingClock.Instant) -> SyncSchedule<Value> {
        SyncSchedule(box: box, limit: .suspending(deadline))
    }
}

extension QueueSafeAsyncedValue {
    /// Commands that wait no longer than until `deadline`, and then give `.failure(.timedOut)`. A deadline that is not
    /// ahead tries once.
    @inlinable
    public func until(_ deadline: ContinuousClock.Instant) -> AsyncSchedule<Value> {
        value.async(performIn: queue, until: deadline)
    }

    /// Does the same for an instant of the clock that the kernel uses, which is exact.
    @inlinable
    @_disfavoredOverload
    public func until(_ deadline: SuspendingClock.Instant) -> AsyncSchedule<Value> {
        value.async(performIn: queue, until: deadline)
    }
}
