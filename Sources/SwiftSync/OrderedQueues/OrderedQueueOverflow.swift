/// What a queue with a capacity does with work that comes while the queue is full.
///
/// ```swift
/// let log = FIFOQueue(name: "log", capacity: 100, whenFull: .dropOldest)
/// ```
///
/// The capacity counts accepted entries that have not begun: work, and tasks that wait for their turn
/// (`enqueueAndWait`, `Task(on:)`). Such tasks are never dropped. They are refused only where the queue refuses and the
/// call can throw. Otherwise they take their place in the order although the queue is full, and
/// ``FIFOQueue/beyondBoundCount`` counts those beyond the capacity.
///
/// This is a plain value.
public enum OrderedQueueOverflow: Sendable, Hashable {
    /// New work waits for room, where it can: `enqueueWaitingForRoom` suspends the task, and tasks wait for their turn.
    /// `enqueue` can't wait, so it returns false.
    case wait
    /// New work is refused: `enqueue` returns false, and calls that can throw throw ``OrderedQueueError/full``.
    case refuse
    /// The new work is accepted, and the oldest work that `enqueue` has accepted and that has not begun is released
    /// without having run. In such a queue, tasks that wait for their turn take no room from other work.
    case dropOldest
}
