/// Why a timed or suspending operation of a ``BlockingPriorityQueue`` did not happen.
///
/// ```swift
/// let jobs = BlockingPriorityQueue<Int>()
/// do {
///     _ = try jobs.pop(timeout: .milliseconds(1))
/// } catch .timedOut {
///     print("nothing to do")
/// }
/// ```
public enum BlockingPriorityQueueError: String, StatusError, CaseIterable {
    /// The timeout passed first. It never passes early.
    case timedOut
    /// The queue was shut down, and did not accept the element.
    case shutDown
    /// The task was cancelled first. Forms that block a thread never throw it.
    case cancelled
    /// The system gave no timer to a waiting task. Forms that block a thread never throw it.
    case outOfResources
}
