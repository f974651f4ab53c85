/// A limit on how long a call may wait: a time from its beginning, or an instant of a monotonic clock.
///
/// ```swift
/// let cache = PriorityMutex([String: Int]()), index = PriorityMutex([Int]())
/// let size = cache.withLock(timeout: .milliseconds(5)) { $0.count }         // nil: 5 ms were not enough
/// let request = TimeLimit.until(.now + .milliseconds(5))
/// let found = cache.withLock(timeout: request) { $0["hits"] }
/// let first = index.withLock(priority: .high, timeout: request) { $0.first }     // 5 ms for both
/// ```
///
/// A limit of zero or less, or an instant that has passed, tries once. No wait ends early. A time that is too long for
/// 64 bits of nanoseconds (292 years) never ends. A limit is read when the wait begins, and not before: a call that
/// need not wait reads no clock. The deadline of `withDeadline` bounds each call that has a limit too, ``never``
/// included: the earlier of the two counts.
@frozen
public struct TimeLimit: Sendable {
    @usableFromInline
    @frozen
    enum Kind: Sendable {
        case never
        case duration(Duration)
        case seconds(Double)
        /// The time that the clock shows at the instant. The size of an instant is not known when the library is
        /// compiled; that of a `Duration` is, so no inline path queries it.
        case continuousTime(Duration)
        case suspendingTime(Duration)
    }

    @usableFromInline
    let kind: Kind

    @inlinable
    init(_ kind: Kind) {
        self.kind = kind
    }

    /// No limit but the deadline of `withDeadline`.
    @inlinable
    public static var never: TimeLimit { TimeLimit(.never) }

    /// Tries once.
    @inlinable
    public static var zero: TimeLimit { TimeLimit(.duration(.zero)) }

    /// The time `duration` from the beginning of the wait on.
    @inlinable
    public static func after(_ duration: Duration) -> TimeLimit { TimeLimit(.duration(duration)) }

    /// The instant. Several waits of one request can share it.
    ///
    /// The instant's clock goes on while the system is suspended, and the clock of the waits does not. So the wait may
    /// end later by that time, and never ends early.
    public static func until(_ instant: ContinuousClock.Instant) -> TimeLimit {
        TimeLimit(.continuousTime(RuntimeFacts.time(of: instant)))
    }

    /// The instant of the kernel's own clock, exactly.
    @_disfavoredOverload
    public static func until(_ instant: SuspendingClock.Instant) -> TimeLimit {
        TimeLimit(.suspendingTime(RuntimeFacts.time(of: instant)))
    }

    /// A number of seconds from the beginning of the wait on. Zero or less tries once.
    @inlinable
    public static func seconds(_ seconds: some BinaryInteger) -> TimeLimit { .after(.seconds(seconds)) }

    /// A number of seconds, with fractions, from the beginning of the wait on. `.infinity` never ends. NaN tries once.
    @inlinable
    public static func seconds(_ seconds: Double) -> TimeLimit { TimeLimit(.seconds(seconds)) }

    /// A number of milliseconds from the beginning of the wait on. Zero or less tries once.
    @inlinable
    public static func milliseconds(_ milliseconds: some BinaryInteger) -> TimeLimit {
        .after(.milliseconds(milliseconds))
    }

    /// A number of milliseconds, with fractions, from the beginning of the wait on. `.infinity` never ends. NaN tries
    /// once.
    @inlinable
    public static func milliseconds(_ milliseconds: Double) -> TimeLimit { .seconds(milliseconds / 1e3) }

    /// A number of microseconds from the beginning of the wait on. Zero or less tries once.
    @inlinable
    public static func microseconds(_ microseconds: some BinaryInteger) -> TimeLimit {
        .after(.microseconds(microseconds))
    }

    /// A number of microseconds, with fractions, from the beginning of the wait on. `.infinity` never ends. NaN tries
    /// once.
    @inlinable
    public static func microseconds(_ microseconds: Double) -> TimeLimit { .seconds(microseconds / 1e6) }

    /// A number of nanoseconds from the beginning of the wait on. Zero or less tries once.
    @inlinable
    public static func nanoseconds(_ nanoseconds: some BinaryInteger) -> TimeLimit { .after(.nanoseconds(nanoseconds)) }

    /// True for a call without a limit of its own.
    var isNever: Bool {
        if case .never = kind { true } else { false }
    }

    /// The deadline of a wait that begins now and can report a timeout: the earlier of the caller's own and that of
    /// `withDeadline`.
    @usableFromInline
    func deadline() -> Int64 { Deadline.nearer(own) }

    /// The caller's own deadline alone.
    var own: Int64 {
        switch kind {
        case .never: Deadline.never
        case .duration(let duration): Deadline.after(duration)
        case .seconds(let seconds): Deadline.after(seconds: seconds) ?? Deadline.passed
        case .continuousTime(let time): Deadline.at(continuous: time)
        case .suspendingTime(let time): Deadline.at(suspending: time)
        }
    }
}
