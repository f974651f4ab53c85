/// Work on the whole keyspace, cut into steps that each hold one shard for a short time.
///
/// The same steps serve every store; only the loop around them differs, because one kind of store blocks and the other
/// suspends. Between two steps every shard is free.
protocol SweepJob: Sendable {
    /// What one step brings out of the shard. Whatever can be freed or formatted later belongs in here.
    associatedtype Harvest: Sendable

    /// The next step, or nil once there is nothing left to do.
    var nextStep: SweepStep<Harvest>? { get }

    /// Runs with no shard held.
    mutating func absorb(_ harvest: consuming Harvest)
}

/// One access to one shard. It refers to nothing of its job, so that the job can grow its results in place.
struct SweepStep<Harvest: Sendable>: Sendable {
    let shard: Int
    /// Runs with the shard held. Visits whole buckets, until about `sweepStepSize` entries were seen.
    let visit: @Sendable (inout Shard, Milliseconds) -> Harvest
}

/// How many entries a step visits before it lets others in. A step ends with the bucket in which it gets there, which
/// bounds the time for which a shard is held to some ten microseconds.
let sweepStepSize = 512

extension Shard {
    /// The live keys from `bucket` on, for one step. An empty shard is through at once.
    ///
    /// Keys are only referred to here; comparing them with a pattern and putting them into a reply comes later.
    func keys(
        from bucket: Int, limit: Int, of kinds: ValueKind = .all, now: Milliseconds
    ) -> (keys: [[UInt8]], visited: Int, buckets: Int) {
        guard count > 0 else { return ([], 0, Shard.bucketCount - bucket) }
        var keys: [[UInt8]] = []
        var visited = 0
        var next = bucket
        while next < Shard.bucketCount, visited < limit {
            let entries = buckets[next].entries
            visited += entries.count
            for (key, entry) in entries where entry.deadline > now && kinds.contains(entry.value.kind) {
                keys.append(key.bytes)
            }
            next += 1
        }
        return (keys, visited, next - bucket)
    }

    /// Removes what has expired, from `bucket` on, visiting up to `limit` entries and `maximum` buckets.
    mutating func removeExpired(
        from bucket: Int, limit: Int, maximum: Int, now: Milliseconds
    ) -> (removed: [Entry], buckets: Int) {
        let end = min(bucket + maximum, Shard.bucketCount)
        guard expiring > 0 else { return ([], end - bucket) }
        var removed: [Entry] = []
        var visited = 0
        var next = bucket
        while next < end, visited < limit {
            if buckets[next].expiring > 0 {
                visited += buckets[next].entries.count
                let expired = buckets[next].entries.compactMap { $1.deadline <= now ? $0 : nil }
                for key in expired {
                    if let entry = remove(key) { removed.append(entry) }
                }
            }
            next += 1
        }
        return (removed, next - bucket)
    }
}
