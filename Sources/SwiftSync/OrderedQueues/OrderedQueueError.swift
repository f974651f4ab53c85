/// Why an ordered queue did not run what it was given. None of it was run then.
public enum OrderedQueueError: Error, Hashable, Sendable {
    /// The task would wait for itself: the task, or the task whose child it is, is work of the same queue that has not
    /// ended.
    case wouldDeadlock
    /// The queue was shut down before.
    case shutDown
    /// The queue holds as much as its capacity allows.
    case full
    /// The task was cancelled before its turn came.
    case cancelled
    /// The timeout passed before its turn came, or before there was room.
    case timedOut
}
