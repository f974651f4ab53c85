/// Decides which refusals become a line. For each object and kind, the first becomes one. After that at most one line a
/// second gives their number since the previous line. It is a value without a clock or a lock of its own.
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

    /// The object and the kind of a refusal. It is made outside the lock that protects the lines: hashing a text may
    /// allocate. It is a hash, so that nothing is retained or freed under that lock. Two objects of one hash share
    /// their lines.
    struct Origin: Equatable {
        private let hash: Int

        init(_ kind: SyncDiagnostics.Report.Kind, _ subject: String) {
            var hasher = Hasher()
            hasher.combine(kind)
            hasher.combine(subject)
            hash = hasher.finalize()
        }
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

    /// All memory is taken here, and none later. Only the first ``used`` places have objects.
    private var counts = [(origin: Origin, count: Count)](
        repeating: (Origin(.refusedWhenFull, ""), Count(lastLine: 0)), count: limit)
    private var used = 0
    private var others: Count?

    /// Returns what to do with one more refusal. It is O(n) for n objects.
    mutating func line(for origin: Origin, now: Int64) -> Line {
        for index in 0..<used where counts[index].origin == origin { return counts[index].count.line(now: now) }
        if used == Self.limit { keep { now - $0.lastLine < Self.second } }
        if used < Self.limit {
            counts[used] = (origin, Count(lastLine: now))
            used += 1
            return .first
        }
        if others != nil { return others!.line(now: now) }
        others = Count(lastLine: now)
        return .first
    }

    /// Forgets all refusals, also where another change has stopped in the middle.
    mutating func forgetAll() {
        used = 0
        others = nil
    }

    private mutating func keep(_ isKept: (Count) -> Bool) {
        var kept = 0
        for index in 0..<used where isKept(counts[index].count) {
            counts[kept] = counts[index]
            kept += 1
        }
        used = kept
    }
}
