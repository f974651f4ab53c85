/// Why a suspending section of a ``PriorityMutex`` was not run. Forms that block a thread return nil instead.
public enum PriorityMutexError: String, StatusError, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// The task was cancelled first.
    case cancelled
    /// The system gave no memory or no thread.
    case outOfResources
}
