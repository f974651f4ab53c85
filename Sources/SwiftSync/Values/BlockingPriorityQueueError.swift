/// Why an operation of a ``BlockingPriorityQueue`` that is timed, or for which a task waited, did not happen.
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
    /// The system gave a task that waits no timer. Forms that block a thread never throw it.
    case outOfResources

    /// What the error has in common with the errors of other objects.
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
