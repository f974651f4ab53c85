/// Why a section of a ``ReadWriteLock`` or ``ReadWriteCoordinator`` was not entered. Nothing was run in that case.
public enum ReadWriteError: SyncError, Hashable, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// Entering would wait for the calling thread itself, or for a reader that waits to upgrade too: a write inside a
    /// read, anything inside a write, or a second upgrade.
    case wouldDeadlock
    /// The task was cancelled first.
    case cancelled
    /// The system gave no memory or no thread.
    case outOfResources

    /// The reason, in terms shared by the errors of all objects.
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
