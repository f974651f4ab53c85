import CSyncKernel

/// Converts Swift callers' time limits to the kernel's deadlines. Those are absolute and monotonic, in nanoseconds.
///
/// Fractions of a nanosecond round up, so that no conversion makes a timeout early. Spans that do not fit saturate.
enum Deadline {
    /// A deadline that has always passed. The operation tries once.
    static var passed: Int64 { 0 }

    /// A deadline that never comes.
    static var never: Int64 { CSK_NEVER }

    /// The deadline `duration` from now. It is ``passed`` for spans of zero or less, and ``never`` for spans that
    /// exceed 292 years.
    static func after(_ duration: Duration) -> Int64 {
        guard let nanoseconds = nanoseconds(in: duration) else { return never }
        return nanoseconds <= 0 ? passed : csk_deadline_after(nanoseconds)
    }

    /// The deadline of a wait that may have no timeout. It is ``never`` for nil.
    static func after(timeout: Duration?) -> Int64 {
        timeout.map(after) ?? never
    }

    /// The deadline at `instant`. It is ``passed`` for an instant that is not ahead, and ``never`` for one that is more
    /// than 292 years ahead.
    ///
    /// The instant's clock goes on while the system is suspended, and the kernel's does not. So no wait ends early by
    /// the instant's clock.
    static func at(_ instant: ContinuousClock.Instant) -> Int64 { at(continuous: RuntimeFacts.time(of: instant)) }

    /// The deadline at the instant at which the continuous clock shows `time`.
    static func at(continuous time: Duration) -> Int64 {
        let now = RuntimeFacts.time(of: ContinuousClock.now)
        return time <= now ? passed : after(time - now)
    }

    /// The deadline at `instant`, exactly: its clock is the kernel's. It is ``passed`` for an instant that is not
    /// ahead, and ``never`` for one that 64 bits of nanoseconds don't hold.
    static func at(_ instant: SuspendingClock.Instant) -> Int64 { at(suspending: RuntimeFacts.time(of: instant)) }

    /// The deadline at the instant at which the suspending clock shows `time`.
    static func at(suspending time: Duration) -> Int64 {
        guard let deadline = nanoseconds(in: time) else { return never }
        return deadline <= csk_now() ? passed : deadline
    }

    /// The deadline `seconds` from now. It is ``passed`` for zero or less, ``never`` for infinity and for spans that
    /// exceed 292 years, and nil for NaN.
    static func after(seconds: Double) -> Int64? {
        if seconds.isNaN { return nil }
        if seconds <= 0 { return passed }
        return nanoseconds(inSeconds: seconds).map(csk_deadline_after) ?? never
    }

    /// True if a deadline that lay ahead when it was made has passed. ``passed`` lay behind from the beginning.
    static func hasPassedMeanwhile(_ deadline: Int64) -> Bool {
        deadline != never && deadline != passed && csk_now() >= deadline
    }

    /// The length of `duration`, rounded up. It is nil when it exceeds what 64 bits hold. Negative spans count as zero.
    static func nanoseconds(in duration: Duration) -> Int64? {
        // `components` is not used: it stops the program when the seconds exceed 64 bits.
        let attoseconds = duration.attoseconds
        if attoseconds <= 0 { return 0 }
        return Int64(exactly: (attoseconds - 1) / 1_000_000_000 + 1)
    }

    /// The length of `seconds`, rounded up. It is nil for infinity and for what exceeds 64 bits.
    static func nanoseconds(inSeconds seconds: Double) -> Int64? {
        Int64(exactly: (seconds * 1e9).rounded(.up))
    }
}
