import CSyncKernel

/// How many works may wait in a queue to begin, and what happens to one more.
///
/// ```swift
/// let lines = WorkQueue(label: "log", bound: .dropOldest(beyond: 10_000))
/// ```
///
/// What has begun does not count. Callers of `sync` and `run` without a timeout, and the jobs of actors and tasks, are
/// never refused and never dropped. They take no room: however many there are, others still get theirs.
/// ``WorkQueueBase/beyondBoundCount`` tells how much waits beyond the bound. Where callers are many, use
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
    /// The call returns false, with a report to ``SyncDiagnostics``.
    public static func refuse(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_REFUSE) }
    /// The work that has waited longest is dropped in its place: its closure is released without a call. Jobs of actors
    /// and tasks, and callers of `sync` and `run` without a timeout, are passed over.
    ///
    /// Such a queue has one priority, its own: work that names another is queued at the queue's.
    public static func dropOldest(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_DROP_OLDEST) }
}
