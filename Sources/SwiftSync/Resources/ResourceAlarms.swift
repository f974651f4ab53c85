/// The actions that a pool takes at set times. Each kind has at most one time at which it is due.
enum ResourceAlarm: Int, CaseIterable {
    /// A resource has been idle for too long.
    case idle
    /// An idle resource is too old.
    case lifetime
    /// A factory or a check has lasted for too long.
    case preparation
    /// The minimum is made again, after a factory that failed.
    case minimum
}

/// The times at which a pool has asked to be called. They are requested lazily: a call that comes earlier than needed
/// only requests the next.
struct ResourceAlarms {
    private var due = [Int64?](repeating: nil, count: ResourceAlarm.allCases.count)

    /// Records a call. It returns false if another was asked for in its place.
    mutating func begin(_ alarm: ResourceAlarm, dueAt time: Int64) -> Bool {
        if due[alarm.rawValue] != time { return false }
        due[alarm.rawValue] = nil
        return true
    }

    /// Returns whether to ask for a call at `time`, which is not the case if one is due that has not come. One that is
    /// later than `span` and a second was refused by the system.
    mutating func set(_ alarm: ResourceAlarm, at time: Int64, span: Int64, now: Int64) -> Bool {
        if let due = due[alarm.rawValue], now - due < max(span, 1_000_000_000) { return false }
        due[alarm.rawValue] = time == Deadline.never ? nil : time
        return time != Deadline.never
    }
}

/// The pause after which the minimum is made again, when a factory has failed: twice the previous pause, until a call
/// succeeds. Calls that fail together count as one failure.
struct ResourcePause {
    private(set) var end: Int64 = 0
    private var span: Int64 = 0
    /// The time at which it began.
    private var since = Int64.min

    func lasts(at now: Int64) -> Bool { now < end }

    /// Records a failed call that began at `beginOfCall`. If that was before this pause, the call failed together with
    /// an earlier one: the pause begins anew, with the same length.
    mutating func begin(afterCallSince beginOfCall: Int64, at now: Int64) {
        if beginOfCall >= since {
            since = now
            span = min(max(2 * span, 100_000_000), 30_000_000_000)
        }
        end = now + span
    }
}

extension Deadline {
    /// The deadline that long after `time`.
    static func sum(_ time: Int64, _ span: Int64) -> Int64 {
        let (sum, overflow) = time.addingReportingOverflow(span)
        return overflow ? never : sum
    }
}
