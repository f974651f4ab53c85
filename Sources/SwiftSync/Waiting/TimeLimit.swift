/// How long a call may wait, as its caller has said it. It becomes a deadline of the kernel when the wait begins, and
/// not before: an uncontended call reads no clock.
@usableFromInline
@frozen
enum TimeLimit: Sendable {
    /// Nil is no limit.
    case timeout(Duration?)
    /// Not NaN.
    case seconds(Double)
    /// What the clock shows at the instant. The size of an instant is not known when the library is compiled, and that
    /// of a `Duration` is: so no inline path asks for it.
    case continuousTime(Duration)
    case suspendingTime(Duration)

    @usableFromInline
    static func continuous(_ instant: ContinuousClock.Instant) -> TimeLimit {
        .continuousTime(RuntimeFacts.time(of: instant))
    }

    @usableFromInline
    static func suspending(_ instant: SuspendingClock.Instant) -> TimeLimit {
        .suspendingTime(RuntimeFacts.time(of: instant))
    }

    /// A call without a timeout, which can report one all the same.
    @inlinable
    static var none: TimeLimit { .timeout(nil) }

    /// True for a call without a timeout.
    var isNone: Bool {
        if case .timeout(nil) = self { true } else { false }
    }

    /// The deadline of a wait that begins now and can report that it was too long: the nearer of the caller's own and
    /// the one of `withDeadline`.
    @usableFromInline
    func deadline() -> Int64 { Deadline.nearer(own) }

    /// The caller's own deadline alone.
    var own: Int64 {
        switch self {
        case .timeout(let timeout): Deadline.after(timeout: timeout)
        case .seconds(let seconds): Deadline.after(seconds: seconds) ?? Deadline.passed
        case .continuousTime(let time): Deadline.at(continuous: time)
        case .suspendingTime(let time): Deadline.at(suspending: time)
        }
    }
}

/// The deadline that several waits of one call share. It is made when the first of them begins.
struct SharedDeadline {
    private let limit: TimeLimit
    private var made: Int64?

    init(_ limit: TimeLimit) { self.limit = limit }

    mutating func callAsFunction() -> Int64 {
        let deadline = made ?? limit.deadline()
        made = deadline
        return deadline
    }
}
