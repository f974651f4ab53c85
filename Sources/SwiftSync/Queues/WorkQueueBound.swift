import CSyncKernel

/// How many works may wait in a queue to begin, and what happens to one more.
///
/// ```swift
/// let lines = WorkQueue(label: "log", bound: .dropOldest(beyond: 10_000))
/// ```
///
/// What has begun does not count. Callers of `sync` and `run` in the forms that can't throw, and the jobs of actors and tasks, can't be refused: they come
/// in whatever the bound, and ``WorkQueueBase/beyondBoundCount`` shows how many. Where that must not grow, use `run(timeout:)` and `sync(timeout:)`.
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

    /// The caller waits for room: `async` blocks its thread, ``WorkQueueBase/asyncWaitingForRoom(priority:timeout:_:)`` and `run(timeout:)` suspend their task.
    /// A blocking call from inside the queue's own work, which room waits for, is refused instead.
    public static func wait(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_WAIT) }
    /// The call returns false, with a report to ``SyncDiagnostics``.
    public static func refuse(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_REFUSE) }
    /// The work that has waited longest is dropped in its place: its closure is released without a call. Such a queue knows one priority only.
    public static func dropOldest(beyond capacity: Int) -> Self { Self(capacity, CSK_WORKQUEUE_DROP_OLDEST) }
}
