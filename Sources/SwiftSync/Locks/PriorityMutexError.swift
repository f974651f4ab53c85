/// Why a suspending section of a ``PriorityMutex`` was not run. Forms that block a thread return nil instead.
public enum PriorityMutexError: SyncError, Hashable, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// The task was cancelled first.
    case cancelled
    /// The system gave no memory or no thread.
    case outOfResources

    /// The reason, in terms shared by the errors of all objects.
    public var reason: SyncErrorReason {
        switch self {
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .outOfResources: .outOfResources
        }
    }

    init(status: Int32) {
        self = Self(SyncErrorReason(status: status)) ?? .outOfResources
    }
}
