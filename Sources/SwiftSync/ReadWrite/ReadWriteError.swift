import CSyncKernel

/// Why a section of a ``ReadWriteLock`` or ``ReadWriteCoordinator`` was not entered. Nothing was run in that case.
public enum ReadWriteError: Error, Hashable, Sendable {
    /// The timeout passed first.
    case timedOut
    /// Entering would wait for the calling thread itself, or for a reader that waits for the same. That is the case for
    /// a write inside a read, for anything inside a write, and for a second reader that wants to upgrade.
    case wouldDeadlock
    /// The task was cancelled first.
    case cancelled
    /// The system gave no memory or no thread.
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
