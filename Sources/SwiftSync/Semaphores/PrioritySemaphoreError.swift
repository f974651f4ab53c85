/// Why a call of a ``PrioritySemaphore`` did not do what it was asked for. Nothing was taken or given in that case.
public enum PrioritySemaphoreError: SyncError, Hashable, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// The task was cancelled first.
    case cancelled
    /// As many waited as may.
    case full
    /// More permits would be free than the semaphore may have.
    case overflow
    /// The number of permits is zero or negative, or more than there can ever be.
    case invalidPermits
    /// The system gave no memory or no thread.
    case outOfResources

    /// What the error has in common with the errors of other objects.
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
