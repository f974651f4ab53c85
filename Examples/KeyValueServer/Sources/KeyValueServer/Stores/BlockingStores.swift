import Dispatch
import NIOConcurrencyHelpers
import Synchronization

/// A shard behind the standard library's mutex, which knows no urgency.
final class MutexStore: BlockingStore {
    static let kind = StoreKind.mutex
    private let shard: Mutex<Shard>

    init(_ shard: Shard) { self.shard = Mutex(shard) }

    func withShard<R: Sendable>(_ urgency: Urgency, _ body: (inout Shard) -> R) -> R {
        shard.withLock { body(&$0) }
    }
}

/// A shard behind swift-nio's lock, which knows no urgency.
struct NIOLockStore: BlockingStore {
    static let kind = StoreKind.niolock
    private let shard: NIOLockedValueBox<Shard>

    init(_ shard: Shard) { self.shard = NIOLockedValueBox(shard) }

    func withShard<R: Sendable>(_ urgency: Urgency, _ body: (inout Shard) -> R) -> R {
        shard.withLockedValue(body)
    }
}

/// A shard that only code on its serial queue touches. The queue is first in, first out.
final class DispatchStore: BlockingStore, @unchecked Sendable {
    // Sendable because `shard` is only ever reached through `queue`.
    static let kind = StoreKind.dispatch
    private let queue = DispatchQueue(label: "shard")
    private var shard: Shard

    init(_ shard: Shard) { self.shard = shard }

    func withShard<R: Sendable>(_ urgency: Urgency, _ body: (inout Shard) -> R) -> R {
        queue.sync { body(&shard) }
    }
}
