import CSyncKernel

/// How many work items may wait in a queue to begin, and what happens to one more.
///
/// ```swift
/// let lines = WorkQueue(label: "log", bound: .dropOldest(beyond: 10_000))
/// ```
///
/// Work that has begun does not count. Callers of `sync` and `run` without a timeout, and the jobs of actors and tasks,
/// are never refused and never dropped. They take no room: however many there are, other work still gets its room.
/// ``WorkQueueBase/beyondBoundCount`` tells how many items wait beyond the bound. Where there are many callers, use
/// `run(timeout:)` and `sync(timeout:)`, which the bound can refuse.
public struct WorkQueueBound: Sendable, Hashable {
    let capacity: UInt32
    let whenFull: Int32

    private init(_ capacity: Int, _ whenFull: Int) {
        guard let places = UInt32(exactly: capacity), places > 0 else {
            fatalError("WorkQueueBound: a bound has room for 1 to 4 294 967 295 works, not for \(capacity)")
        }
        self.capacity = places
        self.whenFull = Int32(whenFull)
    }

    /// The caller waits for room: `async` blocks its thread, ``WorkQueueBase/asyncWaitingForRoom(priority:timeout:_:)``
    /// and `run(timeout:)` suspend their task. A blocking call from the queue's own work is refused instead: waiting
    /// there would deadlock.
    public static func wait(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_WAIT) }
    /// The call is refused: it returns false, with a report to ``SyncDiagnostics``.
    public static func refuse(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_REFUSE) }
    /// The new work is accepted, and the work that has waited longest is dropped: its closure is released without being
    /// called. Jobs of actors and tasks, and callers of `sync` and `run` without a timeout, are never dropped.
    ///
    /// Such a queue has only one priority, its own. Work that names another priority is queued at the queue's.
    public static func dropOldest(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_DROP_OLDEST) }
}
