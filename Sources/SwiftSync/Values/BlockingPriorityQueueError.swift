/// Why a timed operation of a ``BlockingPriorityQueue`` did not happen.
///
/// ```swift
/// let jobs = BlockingPriorityQueue<Int>()
/// do {
///     _ = try jobs.pop(timeout: .milliseconds(1))
/// } catch .timedOut {
///     print("nothing to do")
/// }
/// ```
public enum BlockingPriorityQueueError: Error, Equatable, Sendable {
    /// The time ran out first. It never runs out early.
    case timedOut
    /// The queue was closed; the element was not taken in.
    case closed
}
