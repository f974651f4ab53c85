/// Why an ordered queue did not run submitted work. The work has not begun.
public enum OrderedQueueError: String, SyncError, CaseIterable {
    /// The task would wait for itself: the task, or the task whose child it is, is work of the same queue that has not
    /// ended.
    case wouldDeadlock
    /// The queue was shut down before.
    case shutDown
    /// The queue holds as much as its capacity allows.
    case full
    /// The task was cancelled before its turn came.
    case cancelled
    /// The timeout passed before its turn came, or before there was room. Or the system gave no timer for it.
    case timedOut

    /// The error for a wait that has ended without a grant; nil for a grant.
    init?(status: Int32) {
        if status == 0 { return nil }
        // This includes the case that the system has no timer, so that the deadline can't be kept.
        self = Self(SyncErrorReason(status: status)) ?? .timedOut
    }

    /// Calls `body`, which the queue never refuses.
    static func never<T>(_ body: () throws(Self) -> T) -> T {
        do { return try body() } catch { fatalError("SwiftSync: a call that can't be refused was refused: \(error)") }
    }
}
