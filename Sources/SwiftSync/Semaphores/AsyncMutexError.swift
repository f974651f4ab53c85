/// Why a section of an ``AsyncMutex`` was not run.
public enum AsyncMutexError: SyncError, Hashable, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// The task was cancelled first.
    case cancelled
    /// The task is inside a section of the same mutex. Waiting would never end.
    case wouldDeadlock
    /// The limit of waiting tasks was reached.
    case full
    /// The system gave no memory or no thread.
    case outOfResources

    /// The reason, in terms shared by the errors of all objects.
    public var reason: SyncErrorReason {
        switch self {
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .wouldDeadlock: .wouldDeadlock
        case .full: .full
        case .outOfResources: .outOfResources
        }
    }

    init(status: Int32) {
        self = Self(SyncErrorReason(status: status)) ?? .outOfResources
    }
}
