/// Why a section of an ``AsyncMutex`` was not run.
public enum AsyncMutexError: String, StatusError, CaseIterable {
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
}
