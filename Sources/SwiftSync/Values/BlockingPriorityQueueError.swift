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
public enum BlockingPriorityQueueError: SyncError, Hashable, CaseIterable {
    /// The timeout passed first. It never passes early.
    case timedOut
    /// The queue was closed, and did not accept the element.
    case closed

    /// What the error has in common with the errors of other objects. A closed queue is one that was shut down.
    public var reason: SyncErrorReason {
        switch self {
        case .timedOut: .timedOut
        case .closed: .shutDown
        }
    }

    @usableFromInline
    init(status: Int32) {
        self = Self(SyncErrorReason(status: status)) ?? .timedOut
    }
}
