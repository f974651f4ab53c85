/// What protects the shards from simultaneous access.
public enum StoreKind: String, CaseIterable, Sendable {
    /// `PriorityMutex` of this project.
    case swiftsync
    /// `Synchronization.Mutex` of the standard library.
    case mutex
    /// `NIOLockedValueBox` of swift-nio, over a `pthread_mutex_t`.
    case niolock
    /// An actor.
    case actor
    /// A serial `DispatchQueue`, entered with `sync`.
    case dispatch
    /// `PriorityMutex` for those who write; those who only read take no lock, but look into a `SnapshotDictionary`.
    case snapshot
}

/// How much an access to a shard matters.
enum Urgency: Sendable {
    /// A client waits for a command on a few keys.
    case command
    /// One step of a long piece of work, which every command may overtake.
    case sweep
}

/// Protects one shard, and lets a caller in by blocking its thread until it is free.
///
/// The servers over these are specialised for each conforming type, so that no store pays for being exchangeable.
protocol BlockingStore: Sendable {
    static var kind: StoreKind { get }

    init(_ shard: Shard)

    /// Runs `body` alone with the shard.
    func withShard<R: Sendable>(_ urgency: Urgency, _ body: (inout Shard) -> R) -> R

    /// Carries out what a command does to one key. Alone with the shard, unless the store knows a better way.
    func apply(_ operation: KeyOperation, _ key: Key, now: Milliseconds) -> Reply

    /// The value of a key, shared with the store. Alone with the shard, unless the store knows a better way.
    func value(of key: Key, now: Milliseconds) -> Value?
}

extension BlockingStore {
    @inline(__always)
    func apply(_ operation: KeyOperation, _ key: Key, now: Milliseconds) -> Reply {
        withShard(.command) { operation.apply(to: &$0, key, now: now) }
    }

    func value(of key: Key, now: Milliseconds) -> Value? {
        withShard(.command) { $0.entry(key, now: now)?.value }
    }
}
