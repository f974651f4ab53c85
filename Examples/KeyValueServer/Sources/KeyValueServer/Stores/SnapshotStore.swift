import SwiftSync

/// A shard whose keys are read without a lock.
///
/// Whoever changes the shard holds it alone, as in the other stores, because a command like `INCR` needs the value that
/// it found to be still there when it writes. Each change is published, before the shard is left, in a
/// `SnapshotDictionary`, and commands that only read look there: they wait for nobody, neither for writers nor for a
/// sweep. A reply is given after its change was published, so a client that has its answer finds the change, on any
/// connection.
struct SnapshotStore: BlockingStore {
    static let kind = StoreKind.snapshot
    private let shard: PriorityMutex<Shard>
    private let published: Snapshot<Shard.Entries>

    init(_ shard: Shard) {
        var shard = shard
        published = shard.publish()
        self.shard = PriorityMutex(shard)
    }

    /// One look at the dictionary answers what only reads. An entry whose time is over is left to the exclusive way,
    /// which removes it.
    func apply(_ operation: KeyOperation, _ key: Key, now: Milliseconds) -> Reply {
        guard operation.onlyReads else { return change(operation, key, now) }
        // Two sections of one read: the outer keeps the dictionary against a FLUSHALL, and no reference is counted.
        let answer: Reply?? = published.read { entries in
            entries.read(key) { $0.deadline > now ? operation.answer(from: $0, now: now) : nil }
        }
        switch answer {
        case .some(.some(let reply)): return reply
        case .some(.none): return change(operation, key, now)
        case .none: return operation.answer(from: nil, now: now)
        }
    }

    func value(of key: Key, now: Milliseconds) -> Value? {
        let found: Value?? = published.read { entries in
            entries.read(key) { $0.deadline > now ? $0.value : nil }
        }
        switch found {
        case .some(.some(let value)): return value
        case .some(.none): return shard.withLock { $0.entry(key, now: now)?.value }
        case .none: return nil
        }
    }

    private func change(_ operation: KeyOperation, _ key: Key, _ now: Milliseconds) -> Reply {
        shard.withLock { operation.apply(to: &$0, key, now: now) }
    }

    func withShard<R: Sendable>(_ urgency: Urgency, _ body: (inout Shard) -> R) -> R {
        shard.withLock(urgency, body)
    }
}
