import CSyncKernel

/// Why a call failed, in terms that all errors of this library share.
///
/// Each object throws an error type of its own, with the cases that can happen there. A program that need not know
/// which object failed matches the reason instead. A reason matches any error that has it:
///
/// ```swift
/// func status(of error: any Error) -> Int {
///     switch error {
///     case SyncErrorReason.full, SyncErrorReason.shutDown: 503
///     case SyncErrorReason.timedOut: 504
///     default: 500
///     }
/// }
/// ```
///
/// It works in `catch` too: `catch SyncErrorReason.timedOut { … }`. A `switch` over a reason needs a `default`, since
/// later versions may add reasons.
public struct SyncErrorReason: Hashable, Sendable, CustomStringConvertible {
    /// The reason's name, for instance `timedOut`.
    public let description: String

    fileprivate init(_ name: String) {
        description = name
    }

    /// The timeout passed first, or the call tried once without waiting. A timeout never passes early. Where the system
    /// gives a task no timer, some objects report this at once, and others ``outOfResources``.
    public static let timedOut = Self("timedOut")
    /// The call would wait for its own caller.
    public static let wouldDeadlock = Self("wouldDeadlock")
    /// The task was cancelled first, or the work was dropped.
    public static let cancelled = Self("cancelled")
    /// The object was shut down or closed before, or its owner is gone.
    public static let shutDown = Self("shutDown")
    /// The object holds as much as its capacity allows.
    public static let full = Self("full")
    /// The system had no memory or no thread to give.
    public static let outOfResources = Self("outOfResources")
    /// The count would exceed the most that there may be.
    public static let overflow = Self("overflow")
    /// None of the others. The error itself has the details.
    public static let other = Self("other")

    /// True if `error` is a ``SyncError`` that has the reason. It makes reasons patterns of `catch` and `switch`.
    public static func ~= (reason: Self, error: any Error) -> Bool { (error as? any SyncError)?.reason == reason }
}

extension SyncErrorReason {
    /// The reason for a nonzero status of the kernel. All conversions use this.
    @usableFromInline
    init(status: Int32) {
        switch status {
        // `EBUSY` reports a try that failed.
        case ETIMEDOUT, EBUSY: self = .timedOut
        case EDEADLK: self = .wouldDeadlock
        case ECANCELED: self = .cancelled
        case ESHUTDOWN: self = .shutDown
        case EUSERS: self = .full
        case EAGAIN, ENOMEM: self = .outOfResources
        case EOVERFLOW: self = .overflow
        default: self = .other
        }
    }
}

extension SyncError where Self: RawRepresentable, RawValue == String {
    /// The reason whose name is the raw value: that of the case's name, unless the case states another.
    public var reason: SyncErrorReason { SyncErrorReason(rawValue) }

    /// The case that has the reason, or nil if the type has none.
    @usableFromInline
    init?(_ reason: SyncErrorReason) { self.init(rawValue: reason.description) }
}

/// An error of an object for which the system may lack resources.
@usableFromInline
protocol StatusError: SyncError, RawRepresentable where RawValue == String {
    static var outOfResources: Self { get }
}

extension StatusError {
    /// The error for a nonzero status of the kernel; ``outOfResources`` where the type has no case for its reason.
    @usableFromInline
    init(status: Int32) {
        self = Self(SyncErrorReason(status: status)) ?? .outOfResources
    }
}
