import Dispatch
import SwiftSync
import Synchronization

/// What snippets call, as `h`. Nothing of it runs.
final class Things: Sendable {
    let work = WorkQueue(), concurrent = ConcurrentWorkQueue(width: 2)
    let fifo = FIFOQueue(), actorQueue = ActorQueue<Keeper>(), mainQueue = MainActorQueue()
    let cancellableFIFO = CancellableQueue(underlyingQueue: FIFOQueue())
    let cancellableActor = CancellableQueue(underlyingQueue: ActorQueue<Keeper>())
    let cancellableMain = CancellableQueue(underlyingQueue: MainActorQueue())
    let taskQueue = TaskQueue.getQueue(identifier: "things")
    let commands = CommandQueue()
    let value = QueueSafeValue(value: 0), synced = QueueSafeSyncedValue(value: 0)
    let asynced = QueueSafeAsyncedValue(value: 0, queue: .global())
    let section = CriticalSection(), coordinator = ReadWriteCoordinator()
    let mutex = PriorityMutex(0), asyncMutex = AsyncMutex(0), lock = ReadWriteLock(0)
    let snapshot = Snapshot(0), dictionary = SnapshotDictionary<Int, Int>()
    let numbers = BlockingPriorityQueue<Int>()
    let semaphore = PrioritySemaphore(value: 1), pool = ResourcePool<Int>(maximum: 1) { 1 }
    let local = ThreadLocalValue<Int>(key: "things"), recorder = EventRecorder(name: "things")
    let boxMutex = PriorityMutex(Box()), boxAsyncMutex = AsyncMutex(Box())
    let boxValue = QueueSafeValue(value: Box()), boxes = BlockingPriorityQueue<Box>()
    let keeper = Keeper(), note = Note(), standardMutex = Mutex(Set<Int>())
    let group = DispatchGroup(), dispatch = DispatchQueue(label: "things")
}

/// A class that may not be used by two threads.
final class Box {
    var n = 0
}

/// A class that may be.
final class Note: Sendable {
    func take() {}
}

@MainActor var screen = 0

actor Keeper {
    private var kept = Box()

    func give() -> Box { kept }
    func take(_ box: Box) { kept = box }
    func run<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result { try body() }
}

enum Name: String, NamedQueue {
    case one, two

    var configuration: QueueConfiguration { QueueConfiguration(queueID: .init(rawValue: rawValue), serial: false) }
}

/// A task whose sender may go on using it.
final class Job: TaskQueue.Task {
    let tag = "job"
    var n = 0

    func execute(queueLock: QueueLock) { queueLock.release() }
}

/// Tells that a result is not nothing.
func numbers(_ result: Result<Int, QueueSafeValueError>) {}

/// What users write themselves: closures that return nothing, that throw, that are generic, that suspend.
func dropping(_ body: () throws -> Void) rethrows { try body() }
func giving<Result>(_ body: () throws -> Result) rethrows -> Result { try body() }
func droppingLater(_ body: () async throws -> Void) async rethrows { try await body() }
func givingLater<Result>(_ body: () async throws -> Result) async rethrows -> Result { try await body() }
