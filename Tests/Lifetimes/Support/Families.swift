import Dispatch
import Glibc
import SwiftSync
import Synchronization

/// For calls that nothing has to be held for.
final class Free: Held, @unchecked Sendable {
    init(_ latch: Latch) {}
    static var holds: Bool { false }
}

// MARK: - Ordered queues

actor ProbeActor {}

final class FIFOHeld: Held, @unchecked Sendable {
    let queue = FIFOQueue()
    let cancellable: CancellableQueue<FIFOQueue>
    let actor = ProbeActor()

    init(_ latch: Latch) {
        cancellable = CancellableQueue(underlyingQueue: queue)
        queue.enqueue { await latch.wait() }
    }
}

final class ActorHeld: Held, @unchecked Sendable {
    let queue = ActorQueue<ProbeActor>()
    let cancellable: CancellableQueue<ActorQueue<ProbeActor>>
    let actor = ProbeActor()

    init(_ latch: Latch) {
        cancellable = CancellableQueue(underlyingQueue: queue)
        queue.adoptExecutionContext(of: actor)
        queue.enqueue { _ in await latch.wait() }
    }
}

final class MainHeld: Held, @unchecked Sendable {
    let queue = MainActorQueue()
    let cancellable: CancellableQueue<MainActorQueue>

    init(_ latch: Latch) {
        cancellable = CancellableQueue(underlyingQueue: queue)
        queue.enqueue { @MainActor in await latch.wait() }
    }
}

// MARK: - Work queues

final class WorkHeld: Held, @unchecked Sendable {
    let queue = WorkQueue()

    init(_ latch: Latch) { queue.async { latch.block() } }
}

final class ConcurrentHeld: Held, @unchecked Sendable {
    let queue = ConcurrentWorkQueue(width: 2)

    init(_ latch: Latch) { queue.async(barrier: true) { latch.block() } }
}

/// The queue of the global functions, held by a barrier.
final class GlobalHeld: Held, @unchecked Sendable {
    init(_ latch: Latch) { asyncBarrier { latch.block() } }
}

final class MainThreadHeld: Held, @unchecked Sendable {
    init(_ latch: Latch) { DispatchQueue.main.async { latch.block() } }
}

final class NamedHeld: Held, @unchecked Sendable {
    enum Name: String, NamedQueue {
        case probe
    }

    let name = Name.probe
    let group = DispatchGroup()

    init(_ latch: Latch) { name.async { latch.block() } }
}

/// The queue drops what was handed over.
final class Dropping: Held, @unchecked Sendable {
    let work = WorkQueue()
    let fifo = FIFOQueue()
    let actorQueue = ActorQueue<ProbeActor>()
    let actor = ProbeActor()

    init(_ latch: Latch) {
        actorQueue.adoptExecutionContext(of: actor)
        actorQueue.shutdown()
        work.shutdown()
        fifo.shutdown()
    }

    static var holds: Bool { false }
}

// MARK: - Values and locks

final class CoordinatorHeld: Held, @unchecked Sendable {
    let coordinator = ReadWriteCoordinator()

    init(_ latch: Latch) { coordinator.enqueueWrite { latch.block() } }
}

final class ValueHeld: Held, @unchecked Sendable {
    let value = QueueSafeValue(value: 0)
    let asynced: QueueSafeAsyncedValue<Int>
    let queue = DispatchQueue(label: "probe")

    init(_ latch: Latch) {
        asynced = QueueSafeAsyncedValue(value: 0, queue: queue)
        value.async(performIn: queue).highestPriority.set { _ in latch.block() }
    }
}

/// A value that takes what is handed over.
final class ThingHeld<Value: Thing>: Held, @unchecked Sendable {
    let value: QueueSafeValue<Value?>
    let queue = DispatchQueue(label: "probe")

    init(_ latch: Latch) {
        value = QueueSafeValue(value: nil)
        value.async(performIn: queue).highestPriority.set { _ in latch.block() }
    }

    func finish(_ tally: Tally) {
        value.wait.lowestPriority.set { $0 = nil }
    }
}

final class MutexHeld: Held, @unchecked Sendable {
    let mutex = PriorityMutex(0)

    init(_ latch: Latch) {
        DispatchQueue.global().async { self.mutex.withLock { _ in latch.block() } }
    }
}

final class CommandsHeld: Held, @unchecked Sendable {
    let queue = CommandQueue()

    init(_ latch: Latch) {}
    static var holds: Bool { false }
    func finish(_ tally: Tally) { queue.perform() }
}

final class StoreHeld<Value: Thing>: Held, @unchecked Sendable {
    let snapshot = Snapshot<Value?>(nil)
    let dictionary = SnapshotDictionary<Int, Value>()
    let lock = ReadWriteLock<Value?>(nil)
    let mutex = PriorityMutex<Value?>(nil)
    let asyncMutex = AsyncMutex<Value?>(nil)
    let value = QueueSafeValue<Value?>(value: nil)
    let synced = QueueSafeSyncedValue<Value?>(value: nil)
    let asynced = QueueSafeAsyncedValue<Value?>(value: nil, queue: .global())
    let local = ThreadLocalValue<Value>(key: "\(Value.self)")

    init(_ latch: Latch) {}
    static var holds: Bool { false }

    func finish(_ tally: Tally) {
        dictionary.read(1) { $0.use(tally) }
        dictionary.removeAll()
        if let value = local.cachedValue() { value.use(tally) }
        local.set(nil)
        if let value = snapshot.read({ $0 }) { value.use(tally) }
        snapshot.store(nil)
        snapshot.store(nil)
    }
}

/// Keys that count their ends.
final class KeysHeld: Held, @unchecked Sendable {
    let dictionary = SnapshotDictionary<Counted, Int>()

    init(_ latch: Latch) {}
    static var holds: Bool { false }

    func finish(_ tally: Tally) {
        dictionary.forEach { key, _ in key.use(tally) }
        dictionary.removeAll()
    }
}

final class ElementsHeld<Element: Thing>: Held, @unchecked Sendable {
    let queue = BlockingPriorityQueue<Element>()

    init(_ latch: Latch) {}
    static var holds: Bool { false }

    func finish(_ tally: Tally) {
        while let element = queue.tryPop() { element.use(tally) }
    }
}

// MARK: - Tasks, resources, handlers

struct Step<Value: Thing>: TaskQueue.Task {
    let value: Value, tally: Tally
    var tag: String { "probe" }

    func execute(queueLock: QueueLock) {
        value.use(tally)
        queueLock.release()
    }
}

struct Holding: TaskQueue.Task {
    let latch: Latch
    var tag: String { "holding" }

    func execute(queueLock: QueueLock) {
        DispatchQueue.global().async {
            latch.block()
            queueLock.release()
        }
    }
}

final class TasksHeld: Held, @unchecked Sendable {
    let queue = TaskQueue.getQueue(name: "probes")
    var observations: [TaskQueue.Observation] = []

    init(_ latch: Latch) { queue.push(task: Holding(latch: latch)) }

    func finish(_ tally: Tally) {
        for observation in observations { observation.end() }
    }
}

private let keys = Atomic(0)

/// A key that no thread-local value has had.
@inline(never)
func newKey() -> String { "key \(keys.add(1, ordering: .relaxed).newValue)" }

private final class ThreadBody {
    let call: () -> Void
    init(_ call: @escaping () -> Void) { self.call = call }
}

/// Calls `body` on a thread of its own. The thread and its values have ended once this returns.
@inline(never)
func onThread(_ body: @escaping () -> Void) {
    var thread = pthread_t()
    let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
        Unmanaged<ThreadBody>.fromOpaque($0!).takeRetainedValue().call()
        return nil
    }
    pthread_create(&thread, nil, start, Unmanaged.passRetained(ThreadBody(body)).toOpaque())
    pthread_join(thread, nil)
}

struct Broken: Error {}

/// Has a resource made, a use that throws, and the pool shut down.
@inline(never)
func usePool<Resource>(_ pool: ResourcePool<Resource>) async throws {
    clobber()
    try await pool.withResource { _ in }
    do { try await pool.withResource { _ in throw Broken() } } catch is Broken {}
    await pool.shutdown()
}
