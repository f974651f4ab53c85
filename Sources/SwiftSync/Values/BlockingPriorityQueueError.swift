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
public enum BlockingPriorityQueueError: SyncError, Hashable, CaseIterable {
    /// The timeout passed first. It never passes early.
    case timedOut
    /// The queue was shut down, and did not accept the element.
    case shutDown
    /// The task was cancelled first. Forms that block a thread never throw it.
    case cancelled
    /// The system gave no timer to a waiting task. Forms that block a thread never throw it.
    case outOfResources

    /// The reason, in terms shared by the errors of all objects.
    public var reason: SyncErrorReason {
        switch self {
        case .timedOut: .timedOut
        case .shutDown: .shutDown
        case .cancelled: .cancelled
        case .outOfResources: .outOfResources
        }
    }

    @usableFromInline
    init(status: Int32) {
        self = Self(SyncErrorReason(status: status)) ?? .outOfResources
    }
}
