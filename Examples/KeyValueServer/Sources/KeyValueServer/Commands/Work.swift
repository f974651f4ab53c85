/// What remains to be done for a request after its arguments were read.
enum Work: Sendable {
    /// Nothing: the answer needed no data.
    case reply(Reply)
    /// Answer, if there is something to say, and close the connection.
    case close(Reply?)
    case key(Key, KeyOperation)
    /// Several keys, one after the other. Each is one access of its own: other clients can come in between.
    case keys([KeyStep], Combination)
    /// `DBSIZE`.
    case count
    /// `INFO`, which counts keys but must not hold the connection's state while it does.
    case info(sections: [[UInt8]])
    /// Work that takes long, and never runs on an event loop.
    case slow(SlowCommand)
    /// Work on one value that takes longer the more is in it, and never runs on an event loop. It has to be admitted.
    case costly(CostlyCommand)
}

struct KeyStep: Sendable {
    var key: Key
    var operation: KeyOperation

    init(_ key: [UInt8], _ operation: KeyOperation) {
        self.key = Key(key)
        self.operation = operation
    }
}

/// How the answers for several keys become one.
enum Combination: Sendable {
    case list
    case sum
    case ok

    func combine(_ replies: [Reply]) -> Reply {
        switch self {
        case .list: .array(replies)
        case .ok: .ok
        case .sum:
            .integer(replies.reduce(0) { if case .integer(let value) = $1 { $0 + value } else { $0 } })
        }
    }
}

/// The commands that visit the whole keyspace, or take long for the sake of it.
enum SlowCommand: Sendable {
    /// With a limit of zero, all of them.
    case keys(Glob, limit: Int)
    case scan(ScanRequest)
    case flush
    /// `DEBUG SLEEP`: occupies a place among the slow commands, and nothing else.
    case sleep(seconds: Double)
}

struct ScanRequest: Sendable {
    var cursor: ScanCursor
    var match: Glob?
    /// How many keys to look at, at least, unless the keyspace ends before.
    var count = 10
    /// Of which types keys are wanted.
    var kinds = ValueKind.all
}

/// A place in the keyspace: a shard and a bucket in it. Zero is both the start and, as an answer, the end.
struct ScanCursor: Equatable, Sendable {
    var shard = 0
    var bucket = 0

    init() {}

    init(_ number: UInt64) {
        shard = Int(min(number / UInt64(Shard.bucketCount), UInt64(Int32.max)))
        bucket = Int(number % UInt64(Shard.bucketCount))
    }

    var number: Int { shard * Shard.bucketCount + bucket }

    /// Goes on to the next shard once the buckets of one are through.
    mutating func advance(by buckets: Int) {
        bucket += buckets
        if bucket >= Shard.bucketCount {
            bucket = 0
            shard += 1
        }
    }
}
