/// What a queue with a capacity does with what comes while it is full.
///
/// ```swift
/// let log = FIFOQueue(name: "log", capacity: 100, whenFull: .dropOldest)
/// ```
///
/// The capacity counts what was accepted and has not begun: work, and tasks that wait for their turn (`enqueueAndWait`,
/// `Task(on:)`). Such tasks are never dropped, and are refused only where the queue refuses and the call can throw.
/// Else they stand in the order though the queue is full, and ``FIFOQueue/beyondBoundCount`` counts those beyond the
/// capacity. A plain value.
public enum OrderedQueueOverflow: Sendable, Hashable {
    /// New work waits for room, where it can: `enqueueWaitingForRoom` suspends, and tasks wait for their turn.
    /// `enqueue` can't wait: it returns false.
    case wait
    /// New work is refused: `enqueue` returns false, and what can throw throws ``OrderedQueueError/full``.
    case refuse
    /// The oldest work that `enqueue` has accepted and that has not begun is released without having run, and the new
    /// is accepted. Tasks that wait for their turn take no room from others' work here.
    case dropOldest
}
