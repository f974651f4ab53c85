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
    /// The timeout passed first. It never passes early.
    case timedOut
    /// The queue was closed, and did not accept the element.
    case closed
}
