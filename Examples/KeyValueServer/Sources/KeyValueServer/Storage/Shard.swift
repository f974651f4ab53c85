import SwiftSync

/// One part of the keyspace: what a lock, queue or actor of a store protects.
///
/// The keys lie in a fixed number of buckets, each a dictionary of its own, and a key never changes its bucket. So work
/// on all keys can go bucket by bucket and let others in between: a key that is there all the time is met exactly once,
/// whatever is added or removed meanwhile. A dictionary that grows also moves only its own small share of the keys.
public struct Shard: Sendable {
    /// A power of two. At a million keys in 16 shards, a bucket holds about 240.
    public static let bucketCount = 256

    struct Entry: Sendable {
        var value: Value
        var deadline: Milliseconds = .max

        var canExpire: Bool { deadline != .max }
    }

    struct Bucket: Sendable {
        var entries: [Key: Entry] = [:]
        /// How many of the entries have a deadline.
        var expiring = 0
    }

    private(set) var buckets: [Bucket]
    /// How many keys there are, those included that have expired and were not removed yet.
    private(set) var count = 0
    /// How many of them have a deadline.
    private(set) var expiring = 0
    /// Where readers without a lock look; nil where every access is exclusive, which is in all stores but one.
    private var readers: PublishedEntries?

    public init() {
        buckets = Array(repeating: Bucket(), count: Shard.bucketCount)
    }

    /// The entry of `key`, after removing it if its time is over.
    mutating func entry(_ key: Key, now: Milliseconds) -> Entry? {
        guard let entry = buckets[key.bucket].entries[key] else { return nil }
        if entry.deadline <= now {
            remove(key)
            return nil
        }
        return entry
    }

    mutating func store(_ key: Key, _ bytes: [UInt8], deadline: Milliseconds = .max) {
        store(key, .string(bytes), deadline: deadline)
    }

    mutating func store(_ key: Key, _ value: Value, deadline: Milliseconds = .max) {
        let entry = Entry(value: value, deadline: deadline)
        let index = key.bucket
        let old = buckets[index].entries.updateValue(entry, forKey: key)
        if old == nil { count += 1 }
        let change = (entry.canExpire ? 1 : 0) - (old?.canExpire == true ? 1 : 0)
        if change != 0 {
            buckets[index].expiring += change
            expiring += change
        }
        readers?.entries.updateValue(entry, forKey: key)
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Entry? {
        let index = key.bucket
        guard let old = buckets[index].entries.removeValue(forKey: key) else { return nil }
        readers?.entries.removeValue(forKey: key)
        count -= 1
        if old.canExpire {
            buckets[index].expiring -= 1
            expiring -= 1
        }
        return old
    }

    /// Changes a value where it lies, so that adding to it does not copy what is there, unless it is published.
    ///
    /// The key must be present and alive.
    mutating func update<R>(_ key: Key, _ body: (inout Value) -> R) -> R? {
        let index = key.bucket
        guard let position = buckets[index].entries.index(forKey: key) else { return nil }
        let result = body(&buckets[index].entries.values[position].value)
        readers?.entries.updateValue(buckets[index].entries.values[position], forKey: key)
        return result
    }

    /// Takes out what the shard holds and leaves it empty, with `empty` in its place, in constant time.
    ///
    /// What comes out is freed by the caller, outside the protection.
    mutating func exchange(with empty: consuming Shard) -> Shard {
        empty.readers = readers?.successor()
        swap(&self, &empty)
        return empty
    }

    typealias Entries = SnapshotDictionary<Key, Entry>

    /// From now on, all changes of this shard, which is empty, are seen in the dictionary that the result holds.
    mutating func publish() -> Snapshot<Entries> {
        precondition(count == 0, "what is there already would not be seen")
        let readers = PublishedEntries()
        self.readers = readers
        return readers.current
    }

    /// Frees one bucket of a shard that was taken out and serves nobody any more. Returns false if none is left.
    mutating func dropBucket() -> Bool { buckets.popLast() != nil }
}
