/// Decides which refusals become a line. For each object and kind, the first becomes one. After that at most one line a
/// second says how many there were since the line before. It is a value without a clock or a lock of its own.
///
/// It remembers at most ``limit`` objects. Objects that had no line for a second make room for others, because their
/// next line would be due anyway. If there is no such object, the new ones share one line a second.
struct RefusalLines {
    enum Line: Equatable {
        case none, first
        /// The number of refusals since the last line, including this one.
        case again(Int)
    }

    static let limit = 256
    static let second: Int64 = 1_000_000_000

    private struct Origin: Hashable {
        let kind: SyncDiagnostics.Report.Kind
        let subject: String
    }

    private struct Count {
        /// The time of the last line.
        var lastLine: Int64
        /// The number of refusals since then that became no line.
        var since = 0

        mutating func line(now: Int64) -> Line {
            since += 1
            guard now - lastLine >= second else { return .none }
            defer { self = Count(lastLine: now) }
            return .again(since)
        }
    }

    private var counts: [Origin: Count] = [:]
    private var others: Count?

    /// Returns what becomes of one more refusal.
    mutating func line(for kind: SyncDiagnostics.Report.Kind, _ subject: String, now: Int64) -> Line {
        let origin = Origin(kind: kind, subject: subject)
        if let index = counts.index(forKey: origin) { return counts.values[index].line(now: now) }
        if counts.count == Self.limit { counts = counts.filter { now - $1.lastLine < Self.second } }
        if counts.count < Self.limit {
            counts[origin] = Count(lastLine: now)
            return .first
        }
        if others != nil { return others!.line(now: now) }
        others = Count(lastLine: now)
        return .first
    }
}
