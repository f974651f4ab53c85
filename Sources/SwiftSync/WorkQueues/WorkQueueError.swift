import CSyncKernel

/// Why a ``WorkQueue`` or ``ConcurrentWorkQueue`` did not run what it was given. Nothing was run then.
public enum WorkQueueError: Error, Hashable, Sendable {
    /// The timeout passed first.
    case timedOut
    /// The call would wait for the calling thread itself: it came from inside the queue's own work.
    case wouldDeadlock
    /// The task was cancelled first; the queue was shut down with what had not begun; or it was full and dropped its
    /// oldest.
    case cancelled
    /// The queue was shut down before.
    case shutDown
    /// The queue is full, and refuses then.
    case full
    /// The system gave no memory, or no thread.
    case outOfResources

    init(status: Int32) {
        switch status {
        case ETIMEDOUT: self = .timedOut
        case EDEADLK: self = .wouldDeadlock
        case ECANCELED: self = .cancelled
        case ESHUTDOWN: self = .shutDown
        case EAGAIN: self = .full
        default: self = .outOfResources
        }
    }
}
