/// Why a ``ResourcePool`` gave no resource. The factory's own errors are thrown as they are.
public enum ResourcePoolError: String, StatusError, CaseIterable {
    /// The timeout passed before there was a resource.
    case timedOut
    /// The task was cancelled before there was a resource.
    case cancelled
    /// The pool was shut down.
    case shutDown
    /// The limit of waiting tasks was reached.
    case full
    /// The factory had not returned after the pool's `makeTimeout`, and the task was the first in order.
    case makingTimedOut = "other"
    /// The system gave no memory or no thread.
    case outOfResources
}
