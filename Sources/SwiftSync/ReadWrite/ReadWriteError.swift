import CSyncKernel

/// Why a section of a ``ReadWriteLock`` or ``ReadWriteCoordinator`` was not entered. Nothing was run then.
public enum ReadWriteError: Error, Hashable, Sendable {
    /// The timeout passed first.
    case timedOut
    /// Entering would wait for the calling thread itself, or for a reader that waits for the same: a write inside a
    /// read, anything inside a write, a second reader that wants to upgrade.
    case wouldDeadlock
    /// The task was cancelled first.
    case cancelled
    /// The system gave no memory, or no thread.
    case outOfResources

    @usableFromInline
    init(status: Int32) {
        switch status {
        case ETIMEDOUT, EBUSY: self = .timedOut
        case EDEADLK: self = .wouldDeadlock
        case ECANCELED: self = .cancelled
        default: self = .outOfResources
        }
    }
}
