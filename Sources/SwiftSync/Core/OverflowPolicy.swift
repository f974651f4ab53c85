import CSyncKernel

/// Decides what a queue with a capacity does with work that comes while the queue is full.
///
/// ```swift
/// let jobs = WorkQueue(name: "jobs", capacity: 1000, whenFull: .refuse)
/// let log = FIFOQueue(name: "log", capacity: 100, whenFull: .dropOldest)
/// ```
///
/// The capacity counts accepted work that has not begun. Calls that wait for their work and can't throw are never
/// refused, and no policy drops them. `beyondBoundCount` is the amount of work that waits beyond the capacity. The
/// policy applies to delayed work when its time has come: a queue that refuses the work does not run it, and reports
/// that.
///
/// - On a ``WorkQueue`` or ``ConcurrentWorkQueue``, callers of `sync` and `run` without a timeout, and the jobs of
///   actors and tasks, take no room: however many there are, other work still gets its room. Where there are many
///   callers, use `run(timeout:)` and `sync(timeout:)`, which can be refused.
/// - On a ``FIFOQueue`` or ``ActorQueue``, tasks that wait for their turn (`enqueueAndWait`, `Task(on:)`) count too,
///   and are never dropped. They are refused only where the queue refuses and the call can throw. Otherwise they take
///   their place in the order although the queue is full.
///
/// This is a plain value.
public enum OverflowPolicy: Sendable, Hashable {
    /// New work waits for room, where it can. `asyncWaitingForRoom`, `enqueueWaitingForRoom` and `run(timeout:)`
    /// suspend the task, and tasks wait for their turn.
    ///
    /// `async` of a ``WorkQueue`` blocks its thread. From the queue's own work it is refused instead: waiting there
    /// would deadlock. `enqueue` of a ``FIFOQueue`` or ``ActorQueue`` can't wait, so it returns false.
    case wait
    /// New work is refused: `async` and `enqueue` return false, with a report to ``SyncDiagnostics``. Calls that can
    /// throw throw an error whose reason is ``SyncErrorReason/full``.
    case refuse
    /// The new work is accepted, and the oldest work that has not begun is released without having run.
    ///
    /// A ``WorkQueue`` drops closures, and callers of `run(timeout:)` and `sync(timeout:)`: these get an error whose
    /// reason is ``SyncErrorReason/cancelled``. A new caller of `sync(timeout:)` drops nothing: it waits beyond the
    /// capacity. Nor does one of `run(timeout:)` whose time is over before it is queued. Such a work queue has only one
    /// priority, its own; work that names another priority is queued at the queue's. A ``FIFOQueue`` or ``ActorQueue``
    /// drops what `enqueue` has accepted; tasks that wait for their turn take no room from other work there.
    case dropOldest

    /// The kernel's number for the policy.
    var ofKernel: Int32 {
        switch self {
        case .wait: Int32(CSK_WORKQUEUE_WAIT)
        case .refuse: Int32(CSK_WORKQUEUE_REFUSE)
        case .dropOldest: Int32(CSK_WORKQUEUE_DROP_OLDEST)
        }
    }
}
