import SwiftSync

/// A shard behind `PriorityMutex`: a command goes before every sweep that waits for the same shard.
struct SwiftSyncStore: BlockingStore {
    static let kind = StoreKind.swiftsync
    private let shard: PriorityMutex<Shard>

    init(_ shard: Shard) { self.shard = PriorityMutex(shard) }

    func withShard<R: Sendable>(_ urgency: Urgency, _ body: (inout Shard) -> R) -> R {
        shard.withLock(urgency, body)
    }
}

extension PriorityMutex {
    func withLock<R: Sendable>(_ urgency: Urgency, _ body: (inout Value) -> R) -> R {
        switch urgency {
        case .command: withLock { body(&$0) }
        case .sweep: withLock(priority: .lowest) { body(&$0) }
        }
    }
}
