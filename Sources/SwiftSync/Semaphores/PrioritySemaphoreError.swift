/// Why a call of a ``PrioritySemaphore`` failed. It has taken and added nothing.
public enum PrioritySemaphoreError: String, StatusError, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// The task was cancelled first.
    case cancelled
    /// The limit of waiters was reached.
    case full
    /// More permits would be free than the semaphore may have.
    case overflow
    /// The number of permits is zero or negative, or more than there can ever be.
    case invalidPermits = "other"
    /// The system gave no memory or no thread.
    case outOfResources
}
