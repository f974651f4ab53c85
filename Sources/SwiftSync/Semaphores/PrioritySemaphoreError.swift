/// Why a call of a ``PrioritySemaphore`` failed. It has taken and added nothing.
public enum PrioritySemaphoreError: SyncError, Hashable, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// The task was cancelled first.
    case cancelled
    /// The limit of waiters was reached.
    case full
    /// More permits would be free than the semaphore may have.
    case overflow
    /// The number of permits is zero or negative, or more than there can ever be.
    case invalidPermits
    /// The system gave no memory or no thread.
    case outOfResources

    /// The reason, in terms shared by the errors of all objects.
    public var reason: SyncErrorReason {
        switch self {
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .full: .full
        case .overflow: .overflow
        case .invalidPermits: .other
        case .outOfResources: .outOfResources
        }
    }

    @usableFromInline
    init(status: Int32) {
        self = Self(SyncErrorReason(status: status)) ?? .outOfResources
    }
}
