import Synchronization

/// The state of a ``TaskWait``, in one word. It is a pure value, whose steps return the action to take.
///
/// | bits | name | set by |
/// |---|---|---|
/// | 0 | PARKED: the continuation is there | the task, once for each wait |
/// | 1 | REGISTERED: the resolving party knows the wait, so it can be withdrawn | the task, once for each wait |
/// | 16-31 | the outcome, plus one | the party that resolves the wait; final |
/// | 32-47 | the cause of giving up, plus one | the first of canceller and timer; later waits keep it |
///
/// Exactly one step decides the outcome. A cause is not an outcome: it asks for a withdrawal. The party that holds the
/// registration may refuse the withdrawal, because it has granted already. Exactly one step sees both the cause and
/// REGISTERED, and that step withdraws.
struct TaskWaitState: RawRepresentable, AtomicRepresentable, Equatable {
    var rawValue: UInt64 = 0

    private static let parked: UInt64 = 1
    private static let registered: UInt64 = 2
    private static let outcomeShift: UInt64 = 16
    private static let causeShift: UInt64 = 32
    private static let statusMask: UInt64 = 0xFFFF

    private func status(at shift: UInt64) -> Int32? {
        let field = rawValue >> shift & Self.statusMask
        return field == 0 ? nil : Int32(field) - 1
    }

    private mutating func set(_ status: Int32, at shift: UInt64) {
        rawValue |= (UInt64(status) + 1) << shift
    }

    private mutating func raise(_ flag: UInt64) { rawValue |= flag }
    private func has(_ flag: UInt64) -> Bool { rawValue & flag != 0 }

    /// Zero if the wait was granted, or an errno value; nil until that is decided.
    var outcome: Int32? { status(at: Self.outcomeShift) }
    /// Why the wait has to be given up, if it has.
    var cause: Int32? { status(at: Self.causeShift) }

    // MARK: - By the task

    enum Park: Equatable {
        /// The task stays suspended until it is resumed.
        case stays
        /// The wait was over before; the value is its outcome.
        case goesOn(Int32)
    }

    /// The task has stored its continuation.
    mutating func park() -> Park {
        if let outcome { return .goesOn(outcome) }
        raise(Self.parked)
        return .stays
    }

    /// The party that resolves the wait knows it now. Returns the cause for which the task has to withdraw it now, if
    /// there is one.
    mutating func register() -> Int32? {
        raise(Self.registered)
        return outcome == nil ? cause : nil
    }

    /// Begins another wait after one that was resolved. Returns the cause for which it is over before it begins, if
    /// there is one.
    mutating func beginAgain() -> Int32? {
        rawValue &= Self.statusMask << Self.causeShift
        return cause
    }

    // MARK: - By others

    /// The task was cancelled, or its deadline has passed. Returns the cause if the caller has to withdraw the wait
    /// with it now.
    mutating func giveUp(_ newCause: Int32) -> Int32? {
        if outcome != nil || cause != nil { return nil }
        set(newCause, at: Self.causeShift)
        return has(Self.registered) ? newCause : nil
    }

    enum Resolution: Equatable {
        /// Another party has decided before.
        case lost
        /// The task finds the outcome when it comes to wait.
        case won
        /// The task has to be resumed, once no lock is held.
        case mustResume
    }

    /// Decides the outcome.
    mutating func resolve(_ status: Int32) -> Resolution {
        if outcome != nil { return .lost }
        set(status, at: Self.outcomeShift)
        return has(Self.parked) ? .mustResume : .won
    }
}
