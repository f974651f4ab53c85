import NIOCore

/// `KEYS`: all keys like a pattern, put into protocol bytes as they are found.
struct KeysJob: SweepJob {
    typealias Harvest = (keys: [[UInt8]], visited: Int, buckets: Int)

    /// Size at which a piece of the reply is closed and the next one begun, so that neither building nor sending a long
    /// reply moves more than this at a time.
    static let pieceSize = 128 << 10

    let shardCount: Int
    let pattern: Glob
    /// After how many keys it ends; zero for never.
    let limit: Int
    private var cursor = ScanCursor()
    private var found = 0
    private var pieces: [ByteBuffer] = []
    private var piece = ReplyEncoder(buffer: ByteBuffer())

    init(shardCount: Int, pattern: Glob, limit: Int = 0) {
        self.shardCount = shardCount
        self.limit = limit
        self.pattern = pattern
    }

    var nextStep: SweepStep<Harvest>? {
        guard cursor.shard < shardCount, hasRoom else { return nil }
        return SweepStep(shard: cursor.shard) { [bucket = cursor.bucket] shard, now in
            shard.keys(from: bucket, limit: sweepStepSize, now: now)
        }
    }

    private var hasRoom: Bool { limit == 0 || found < limit }

    mutating func absorb(_ harvest: consuming Harvest) {
        cursor.advance(by: harvest.buckets)
        for key in harvest.keys where hasRoom && pattern.matches(key) {
            piece.writeBulk(key)
            found += 1
        }
        if piece.buffer.readableBytes >= KeysJob.pieceSize {
            pieces.append(piece.buffer)
            piece.buffer = ByteBuffer()
            piece.buffer.reserveCapacity(KeysJob.pieceSize + KeysJob.pieceSize / 4)
        }
    }

    /// The reply, in pieces of bounded size. It is the same in both protocol versions.
    consuming func reply() -> [ByteBuffer] {
        var header = ReplyEncoder(buffer: ByteBuffer())
        header.writeHeader("*", found)
        return [header.buffer] + pieces + [piece.buffer]
    }
}

/// `SCAN`: from a cursor on, until enough keys were looked at.
///
/// The cursor names a bucket, and a key never changes its bucket, so a key that is there during a whole scan is
/// returned, and none is returned twice. The last bucket is returned whole, which makes `COUNT` a lower bound.
struct ScanJob: SweepJob {
    typealias Harvest = (keys: [[UInt8]], visited: Int, buckets: Int)

    let shardCount: Int
    let request: ScanRequest
    private var cursor: ScanCursor
    private var visited = 0
    private var keys: [[UInt8]] = []

    init(shardCount: Int, request: ScanRequest) {
        self.shardCount = shardCount
        self.request = request
        cursor = request.cursor
    }

    var nextStep: SweepStep<Harvest>? {
        guard cursor.shard < shardCount, visited < request.count else { return nil }
        let limit = min(sweepStepSize, request.count - visited)
        return SweepStep(shard: cursor.shard) { [bucket = cursor.bucket, kinds = request.kinds] shard, now in
            shard.keys(from: bucket, limit: limit, of: kinds, now: now)
        }
    }

    mutating func absorb(_ harvest: consuming Harvest) {
        cursor.advance(by: harvest.buckets)
        visited += harvest.visited
        if let match = request.match {
            keys += harvest.keys.filter { match.matches($0) }
        } else {
            keys += harvest.keys
        }
    }

    consuming func reply() -> Reply {
        let next = cursor.shard < shardCount ? cursor.number : 0
        return .array([.bulk(Decimal.text(next)), .array(keys.map { .bulk($0) })])
    }
}

/// `FLUSHALL`: puts an empty shard in the place of each full one.
///
/// The full ones come out in constant time and are kept in here; whoever runs the job frees them, when the client has
/// its answer and bucket by bucket.
struct FlushJob: SweepJob {
    let shardCount: Int
    private var next = 0
    private var removed: [Shard] = []
    /// Made before the shard is held.
    private let empty = Shard()

    init(shardCount: Int) { self.shardCount = shardCount }

    var nextStep: SweepStep<Shard>? {
        guard next < shardCount else { return nil }
        return SweepStep(shard: next) { [empty] shard, _ in shard.exchange(with: empty) }
    }

    mutating func absorb(_ harvest: consuming Shard) {
        next += 1
        removed.append(harvest)
    }

    /// Frees one more bucket of what was removed. Returns false when all of it is gone.
    mutating func freeBucket() -> Bool {
        guard !removed.isEmpty else { return false }
        if !removed[removed.count - 1].dropBucket() { removed.removeLast() }
        return true
    }
}

/// Active expiry: one round removes what has expired from a sixteenth of the buckets of each shard.
///
/// Keys that are asked for expire by being asked for; this is for those that nobody asks for again.
struct ExpiryJob: SweepJob {
    typealias Harvest = (removed: [Shard.Entry], buckets: Int)

    static let rounds = 16
    static let bucketsPerRound = Shard.bucketCount / rounds

    let shardCount: Int
    private let first: Int
    private var cursor: ScanCursor
    private(set) var removed = 0

    init(shardCount: Int, round: Int) {
        self.shardCount = shardCount
        first = round % ExpiryJob.rounds * ExpiryJob.bucketsPerRound
        cursor = ScanCursor()
        cursor.bucket = first
    }

    var nextStep: SweepStep<Harvest>? {
        guard cursor.shard < shardCount else { return nil }
        let rest = first + ExpiryJob.bucketsPerRound - cursor.bucket
        return SweepStep(shard: cursor.shard) { [bucket = cursor.bucket] shard, now in
            shard.removeExpired(from: bucket, limit: sweepStepSize, maximum: rest, now: now)
        }
    }

    /// The removed values are freed at the end of this, outside the shard.
    mutating func absorb(_ harvest: consuming Harvest) {
        removed += harvest.removed.count
        cursor.bucket += harvest.buckets
        if cursor.bucket >= first + ExpiryJob.bucketsPerRound {
            cursor.bucket = first
            cursor.shard += 1
        }
    }
}
