/// A key and its hash.
///
/// The hash is made once, before any lock is taken, with the process's random seed, so that clients can't choose keys
/// that collide. Some of its bits choose the shard, others the bucket; the bucket's dictionary then hashes one word
/// instead of the whole text.
public struct Key: Hashable, Sendable {
    public let bytes: [UInt8]
    let fingerprint: UInt

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        fingerprint = UInt(bitPattern: hasher.finalize())
    }

    /// Which of `count` shards holds this key.
    func shard(of count: Int) -> Int { Int((fingerprint >> 32) % UInt(count)) }

    /// Which bucket of its shard holds this key.
    var bucket: Int { Int(fingerprint & UInt(Shard.bucketCount - 1)) }

    public static func == (left: Key, right: Key) -> Bool {
        left.fingerprint == right.fingerprint && left.bytes == right.bytes
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}
