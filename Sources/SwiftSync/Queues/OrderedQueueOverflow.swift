/// What a queue with a capacity does with what comes while it is full.
///
/// ```swift
/// let log = FIFOQueue(name: "log", capacity: 100, whenFull: .dropOldest)
/// ```
///
/// The capacity counts what was accepted and has not begun: work, and tasks that wait for their own turn (`enqueueAndWait`, `Task(on:)`).
/// Where such a call can't throw, it is never refused: it stands in the order though the queue is full, and what is beyond the
/// capacity is counted by ``FIFOQueue/beyondBoundCount``. Tasks that wait for their own turn are never dropped. A plain value.
public enum OrderedQueueOverflow: Sendable, Hashable {
    /// New work waits for room, where it can: `enqueueWaitingForRoom` suspends, and tasks wait for their turn. `enqueue` can't wait, and
    /// refuses.
    case wait
    /// New work is refused: `enqueue` returns false, and what can throw throws ``OrderedQueueError/full``.
    case refuse
    /// The oldest work that `enqueue` has accepted and that has not begun is released without having run, and the new is accepted. Tasks
    /// that wait for their own turn take no room from others' work here.
    case dropOldest
}
