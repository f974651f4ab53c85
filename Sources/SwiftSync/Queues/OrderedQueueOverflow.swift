/// What a queue with a capacity does with work that comes while it is full.
///
/// ```swift
/// let log = FIFOQueue(name: "log", capacity: 100, whenFull: .dropOldest)
/// ```
///
/// The capacity counts accepted work that has not begun. Tasks that wait for their own turn (`enqueueAndWait`, `Task(on:)`) stand in the
/// same order, but don't count, are never refused for lack of room, and are never dropped. A plain value.
public enum OrderedQueueOverflow: Sendable, Hashable {
    /// New work waits for room, where it can: `enqueueWaitingForRoom` suspends. `enqueue` can't wait, and refuses.
    case wait
    /// New work is refused.
    case refuse
    /// The oldest work that has not begun is released without having run, and the new is accepted.
    case dropOldest
}
