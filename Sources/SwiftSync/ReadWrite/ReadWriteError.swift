/// Why a section of a ``ReadWriteLock`` or ``ReadWriteCoordinator`` was not entered. Nothing was run in that case.
public enum ReadWriteError: SyncError, Hashable, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// Entering would wait for the calling thread itself, or for a reader that waits for the same. That is the case for
    /// a write inside a read, for anything inside a write, and for a second reader that wants to upgrade.
    case wouldDeadlock
    /// The task was cancelled first.
    case cancelled
    /// The system gave no memory or no thread.
    case outOfResources

    /// What the error has in common with the errors of other objects.
    public var reason: SyncErrorReason {
        switch self {
        case .timedOut: .timedOut
        case .wouldDeadlock: .wouldDeadlock
        case .cancelled: .cancelled
        case .outOfResources: .outOfResources
        }
    }

    @usableFromInline
    init(status: Int32) {
        self = Self(SyncErrorReason(status: status)) ?? .outOfResources
    }
}
