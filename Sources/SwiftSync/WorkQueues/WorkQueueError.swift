import CSyncKernel

/// Why a ``WorkQueue`` or ``ConcurrentWorkQueue`` did not run submitted work. The work has not begun.
public enum WorkQueueError: String, SyncError, CaseIterable {
    /// The timeout passed first.
    case timedOut
    /// The call would wait for the calling thread itself: it came from inside the queue's own work.
    case wouldDeadlock
    /// The task was cancelled first; or the queue was shut down and cancelled its pending work; or the queue was full
    /// and dropped its oldest work, which was this.
    case cancelled
    /// The queue was shut down before.
    case shutDown
    /// The queue is full, and its bound refuses more work.
    case full
    /// The system had no memory or no thread to give.
    case outOfResources

    /// The error for a nonzero status of a work queue, where `EBUSY` says that it was full.
    init(status: Int32) { self = status == EBUSY ? .full : Self(SyncErrorReason(status: status)) ?? .outOfResources }
}
