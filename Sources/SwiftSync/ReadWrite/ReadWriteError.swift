/// Why a section of a ``ReadWriteLock`` or ``ReadWriteCoordinator`` was not entered. Nothing was run in that case.
public enum ReadWriteError: String, StatusError, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// Entering would wait for the calling thread itself, or for a reader that waits to upgrade too: a write inside a
    /// read, anything inside a write, or a second upgrade.
    case wouldDeadlock
    /// The task was cancelled first.
    case cancelled
    /// The system gave no memory or no thread.
    case outOfResources
}
