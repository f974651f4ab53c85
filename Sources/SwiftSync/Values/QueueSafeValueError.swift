/// Why a command on a protected value did not happen.
///
/// ```swift
/// let value = QueueSafeValue(value: 1)
/// switch value.wait(timeout: .milliseconds(5)).lowestPriority.get() {
/// case .success(let current): print(current)
/// case .failure(.timedOut): print("busy")
/// case .failure(let error): print(error)
/// }
/// ```
public enum QueueSafeValueError: Error {
    /// The ``QueueSafeValue`` that owned the value is gone. The command was issued after that, through a schedule or
    /// priority obtained before. Commands that were issued earlier still succeed.
    case valueContainerDeinited
    /// An error that has no case of its own.
    case unexpected(error: any Error)
    /// A `map` was called without a closure.
    case commandClosureDeallocated
    /// The command was issued by the thread that is inside a command on the same value. Waiting would never end.
    case wouldDeadlock
    /// The timeout passed before the command's turn came, and nothing was run. It never passes early.
    case timedOut
    /// The task was cancelled while it waited, and nothing was run.
    case cancelled
}

extension QueueSafeValueError: SyncError {
    /// The reason, in terms shared by the errors of all objects. The end of the value's owner shuts the value down. The
    /// reason of an unexpected error is the reason of the error inside.
    public var reason: SyncErrorReason {
        switch self {
        case .timedOut: .timedOut
        case .wouldDeadlock: .wouldDeadlock
        case .cancelled: .cancelled
        case .valueContainerDeinited: .shutDown
        case .commandClosureDeallocated: .other
        case .unexpected(let error): (error as? any SyncError)?.reason ?? .other
        }
    }

    /// The error for a status of the kernel other than zero.
    @usableFromInline
    init(status: Int32) {
        switch SyncErrorReason(status: status) {
        case .timedOut: self = .timedOut
        case .wouldDeadlock: self = .wouldDeadlock
        case .cancelled: self = .cancelled
        case .shutDown: self = .valueContainerDeinited
        default: self = .unexpected(error: KernelError(status: status))
        }
    }
}

extension QueueSafeValueError: Equatable {
    /// Two unexpected errors are equal when their descriptions are.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.valueContainerDeinited, .valueContainerDeinited),
            (.commandClosureDeallocated, .commandClosureDeallocated),
            (.wouldDeadlock, .wouldDeadlock), (.timedOut, .timedOut), (.cancelled, .cancelled):
            true
        case (.unexpected(let left), .unexpected(let right)):
            String(reflecting: left) == String(reflecting: right)
        default:
            false
        }
    }
}

extension KernelError: SyncError {
    var reason: SyncErrorReason { SyncErrorReason(status: status) }
}
