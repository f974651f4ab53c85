/// Which refusals become a line: of each object and kind the first, and then at most one a second with the number since
/// the line before. A value without a clock or a lock of its own.
///
/// It remembers at most ``limit`` objects. Those that had no line for a second make room for others: their next line
/// would be due anyway. Where none has, the new ones share one line a second.
struct RefusalLines {
    enum Line: Equatable {
        case none, first
        /// So many since the last line, this one included.
        case again(Int)
    }

    static let limit = 256
    static let second: Int64 = 1_000_000_000

    private struct Origin: Hashable {
        let kind: SyncDiagnostics.Report.Kind
        let subject: String
    }

    private struct Count {
        /// When the last line was.
        var lastLine: Int64
        /// Those that became no line since.
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

    /// What becomes of one more.
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
