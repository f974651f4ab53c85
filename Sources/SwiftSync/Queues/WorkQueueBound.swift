import CSyncKernel

/// How many works may wait in a queue to begin, and what happens to one more.
///
/// ```swift
/// let lines = WorkQueue(label: "log", bound: .dropOldest(beyond: 10_000))
/// ```
///
/// What has begun does not count. Callers of `sync` wait anyway, and the jobs of actors and tasks can't be refused: both come in whatever the bound.
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

    /// The caller waits for room. From inside the queue's own work, which
    /// room waits for, the call is refused instead.
    public static func wait(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_WAIT) }
    /// The call returns false, with a report to ``SyncDiagnostics``.
    public static func refuse(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_REFUSE) }
    /// The work that has waited longest is dropped in its place: its closure is released without a call. Such a queue knows one priority only.
    public static func dropOldest(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_DROP_OLDEST) }
}
