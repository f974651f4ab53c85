// More than 400 lines: one table, of every call that takes a limit of time.
import Dispatch
import Testing

@testable import SwiftSync

extension TimeLimit {
    static let far = TimeLimit.after(.seconds(1000))

    /// Each form of a limit that lies so far from now.
    static func all(_ span: Duration) -> [TimeLimit] {
        [.after(span), .until(ContinuousClock.now + span), .until(SuspendingClock.now + span)]
    }

    /// Calls `body` for an instant from now by either clock and for the time until then, and expects it to come back
    /// at that instant at the earliest.
    static func neverEarly(_ span: Duration, _ body: (TimeLimit) async -> Void) async {
        let continuous = ContinuousClock.now + span
        await body(.until(continuous))
        #expect(ContinuousClock.now >= continuous)
        let suspending = SuspendingClock.now + span
        await body(.until(suspending))
        #expect(SuspendingClock.now >= suspending)
        let start = ContinuousClock.now
        await body(.after(span))
        #expect(ContinuousClock.now - start >= span)
    }
}

/// A call that takes a limit of time. It says whether it has reported that this came first.
struct TimedCall: Sendable {
    private enum Form {
        case thread(@Sendable (TimeLimit) throws -> Bool)
        case task(@Sendable (TimeLimit) async throws -> Bool)
    }

    let name: String
    private let form: Form
    /// Whether it succeeds at once where nobody is in the way any more.
    let isFreeAtOnce: Bool

    /// One that blocks its thread, and so has one of its own.
    static func thread(
        _ name: String, isFreeAtOnce: Bool = true, _ call: @escaping @Sendable (TimeLimit) throws -> Bool
    ) -> TimedCall {
        TimedCall(name: name, form: .thread(call), isFreeAtOnce: isFreeAtOnce)
    }

    static func task(
        _ name: String, isFreeAtOnce: Bool = true, _ call: @escaping @Sendable (TimeLimit) async throws -> Bool
    ) -> TimedCall {
        TimedCall(name: name, form: .task(call), isFreeAtOnce: isFreeAtOnce)
    }

    func hasTimedOut(_ limit: TimeLimit) async -> Bool {
        switch form {
        case .thread(let call): await Self.onThread { Self.hasTimedOut { try call(limit) } }
        case .task(let call): await Self.hasTimedOut { try await call(limit) }
        }
    }

    /// The same call, made inside `withDeadline`.
    func hasTimedOut(within instant: ContinuousClock.Instant, _ limit: TimeLimit = .never) async -> Bool {
        switch form {
        case .thread(let call):
            await Self.onThread { blockingWithDeadline(instant) { Self.hasTimedOut { try call(limit) } } }
        case .task(let call): await withDeadline(instant) { await Self.hasTimedOut { try await call(limit) } }
        }
    }

    static func onThread(_ body: @escaping @Sendable () -> Bool) async -> Bool {
        let count = RequestLookups.count
        return await withUnsafeContinuation { continuation in
            Thread {
                // A thread's first call gets its number, and takes a longer way for it.
                CriticalSection().execute {}
                continuation.resume(returning: RequestLookups.$count.withValue(count, operation: body))
            }.detach()
        }
    }

    private static func hasTimedOut(_ call: () throws -> Bool) -> Bool {
        do { return try call() } catch { return isTimeout(error) }
    }

    private static func hasTimedOut(_ call: () async throws -> Bool) async -> Bool {
        do { return try await call() } catch { return isTimeout(error) }
    }

    private static func isTimeout(_ error: any Error) -> Bool {
        if (error as? any SyncError)?.reason == .timedOut { return true }
        Issue.record(error)
        return false
    }
}

extension Result {
    fileprivate var hasTimedOut: Bool {
        if case .failure(let error) = self { return (error as? QueueSafeValueError)?.reason == .timedOut }
        return false
    }
}

/// One object of each kind, each in use, so that every call has to wait until ``release()``.
final class BusyObjects: Sendable {
    let mutex = PriorityMutex(0)
    let section = CriticalSection()
    let asyncMutex = AsyncMutex(0)
    let semaphore = PrioritySemaphore(value: 0)
    let lock = ReadWriteLock(0)
    let readLock = ReadWriteLock(0)
    let coordinator = ReadWriteCoordinator()
    #if RCU
    let snapshot = Snapshot(0)
    #endif
    let value = QueueSafeValue(value: 0)
    let synced = QueueSafeSyncedValue(value: 0)
    let asynced = QueueSafeAsyncedValue(value: 0, queue: .global())
    let empty = BlockingPriorityQueue<Int>()
    let full = BlockingPriorityQueue<Int>(capacity: 1)
    let pool = ResourcePool(maximum: 1, make: { 1 })
    let fifo = FIFOQueue()
    let fullFIFO = FIFOQueue(capacity: 1, whenFull: .wait)
    let ledger = Ledger()
    let fullLedger = Ledger(queue: ActorQueue(capacity: 1, whenFull: .wait))
    let work = WorkQueue(label: "busy")
    let wide = ConcurrentWorkQueue(label: "wide", width: 2)
    let fullWork = WorkQueue(label: "full", capacity: 1, whenFull: .wait)
    let fullWide = ConcurrentWorkQueue(label: "full and wide", width: 2, capacity: 1, whenFull: .wait)

    private let leave = Flag()
    private let door = Door()
    private let threads = Shared([Thread]())
    private let tasks = Shared([Task<Void, Never>]())
    private let endings = Shared([@Sendable () async -> Void]())

    init() async {
        await hold { [mutex] inside in mutex.withLock { _ in inside() } }
        await hold { [section] inside in section.execute { inside() } }
        await hold { [lock] inside in lock.withWriteLock { _ in inside() } }
        await hold { [readLock] inside in readLock.withReadLock { _ in inside() } }
        await hold { [coordinator] inside in coordinator.blockingWrite { inside() } }
        #if RCU
        await hold { [snapshot] inside in snapshot.update { _ in inside() } }
        #endif
        await hold { [value] inside in value.wait.highestPriority.get { _ in inside() } }
        await hold { [synced] inside in synced.highestPriority.get { _ in inside() } }
        await hold { [asynced] inside in asynced.value.wait.highestPriority.get { _ in inside() } }
        await holdByTask { [asyncMutex] inside in try? await asyncMutex.withLock { _ in await inside() } }
        await holdByTask { [pool] inside in try? await pool.withResource { _ in await inside() } }
        #expect(full.tryPush(1))
        let doors = [await fifo.stopAtDoor(), await fullFIFO.stopAtDoor()]
        fullFIFO.enqueue {}
        let stops = [await ledger.queue.stop(), await fullLedger.queue.stop()]
        fullLedger.queue.enqueue { _ in }
        endings.access {
            $0 = stops
            $0.append { doors.forEach { $0.open() } }
        }
        for queue in [work, wide, fullWork, fullWide] {
            queue.suspend()
            queue.async {}
        }
    }

    private func hold(_ enter: @escaping @Sendable (() -> Void) -> Void) async {
        let isInside = Flag(), leave = leave
        threads.append(
            Thread {
                enter {
                    isInside.raise()
                    waitUntil { leave.isRaised }
                }
            })
        await waitUntil { isInside.isRaised }
    }

    private func holdByTask(_ enter: @escaping @Sendable (() async -> Void) async -> Void) async {
        let isInside = Flag(), door = door
        tasks.append(
            Task {
                await enter {
                    isInside.raise()
                    await door.pass()
                }
            })
        await waitUntil { isInside.isRaised }
    }

    /// Lets go of all objects, and waits until nobody uses them.
    func release() async {
        leave.raise()
        door.open()
        threads.value.forEach { $0.join() }
        for task in tasks.value { await task.value }
        for end in endings.value { await end() }
        #expect(full.tryPop() == 1)
        #expect(empty.tryPush(1))
        try? semaphore.signal(2)
        for queue in [work, wide, fullWork, fullWide] {
            queue.resume()
            await #expect(throws: Never.self) { try await queue.drain() }
        }
    }

    // MARK: - The calls

    /// Those that `withDeadline` bounds too.
    var calls: [TimedCall] {
        locks + semaphores + readWriteLocks + coordinators + values + priorityQueues + queues + wideQueues
            + orderedQueues
    }

    private var locks: [TimedCall] {
        [
            .thread("PriorityMutex.withLock") { [mutex] limit in
                mutex.withLock(timeout: limit) { $0 } == nil
            },
            .task("PriorityMutex.suspending.withLock") { [mutex] limit in
                try await mutex.suspending.withLock(timeout: limit) { _ in false }
            },
            .thread("PriorityMutex.withLock(when:)") { [mutex] limit in
                mutex.withLock(when: { $0 == 0 }, timeout: limit) { $0 } == nil
            },
            .task("PriorityMutex.suspending.withLock(when:)") { [mutex] limit in
                try await mutex.suspending.withLock(when: { $0 == 0 }, timeout: limit) { _ in false }
            },
            .thread("CriticalSection.execute") { [section] limit in
                !section.execute(timeout: limit) {}
            },
            .thread("CriticalSection.execute, in seconds") { [section] limit in
                !section.execute(timeout: limit) {}
            },
            .task("AsyncMutex.withLock") { [asyncMutex] limit in
                try await asyncMutex.withLock(timeout: limit) { _ in }
                return false
            },
        ]
    }

    private var semaphores: [TimedCall] {
        [
            .thread("PrioritySemaphore.wait") { [semaphore] limit in
                try semaphore.blockingWait(timeout: limit)
                try semaphore.signal()
                return false
            },
            .task("await PrioritySemaphore.wait") { [semaphore] limit in
                try await semaphore.wait(timeout: limit)
                try semaphore.signal()
                return false
            },
            .thread("PrioritySemaphore.withPermit") { [semaphore] limit in
                try semaphore.blockingWithPermit(timeout: limit) { false }
            },
            .task("await PrioritySemaphore.withPermit") { [semaphore] limit in
                try await semaphore.withPermit(timeout: limit) { false }
            },
        ]
    }

    private var readWriteLocks: [TimedCall] {
        [
            .thread("ReadWriteLock.withReadLock") { [lock] limit in
                lock.withReadLock(timeout: limit) { $0 } == nil
            },
            .thread("ReadWriteLock.withWriteLock") { [readLock] limit in
                readLock.withWriteLock(timeout: limit) { $0 } == nil
            },
            .task("ReadWriteLock.suspending.withReadLock") { [lock] limit in
                try await lock.suspending.withReadLock(timeout: limit) { _ in false }
            },
            .task("ReadWriteLock.suspending.withWriteLock") { [readLock] limit in
                try await readLock.suspending.withWriteLock(timeout: limit) { _ in false }
            },
            .thread("ReadWriteLock.Upgrade") { [readLock] limit in
                try readLock.withUpgradableReadLock { _, upgrade in
                    try upgrade(timeout: limit) { _ in false }
                }
            },
        ]
    }

    private var coordinators: [TimedCall] {
        var all: [TimedCall] = [
            .thread("ReadWriteCoordinator.read") { [coordinator] limit in
                try coordinator.read(timeout: limit) { false }
            },
            .thread("ReadWriteCoordinator.blockingWrite") { [coordinator] limit in
                try coordinator.blockingWrite(timeout: limit) { false }
            },
            .thread("ReadWriteCoordinator.drain") { [coordinator] limit in
                try coordinator.drain(timeout: limit)
                return false
            },
            .task("ReadWriteCoordinator.suspending.read", isFreeAtOnce: false) { [coordinator] limit in
                try await coordinator.suspending.read(timeout: limit) { false }
            },
            .task("ReadWriteCoordinator.suspending.write", isFreeAtOnce: false) { [coordinator] limit in
                try await coordinator.suspending.write(timeout: limit) { false }
            },
            .task("ReadWriteCoordinator.suspending.drain", isFreeAtOnce: false) { [coordinator] limit in
                try await coordinator.suspending.drain(timeout: limit)
                return false
            },
        ]
        #if RCU
        all.append(
            .thread("Snapshot.update") { [snapshot] limit in
                try snapshot.update(timeout: limit) { _ in false }
            })
        #endif
        return all
    }

    private var values: [TimedCall] {
        [
            .thread("QueueSafeValue.wait") { [value] limit in
                value.wait(timeout: limit).lowestPriority.get().hasTimedOut
            },
            .task("QueueSafeValue.suspending") { [value] limit in
                await value.suspending(timeout: limit).get().hasTimedOut
            },
            .thread("QueueSafeSyncedValue") { [synced] limit in
                synced.timeout(limit).lowestPriority.get().hasTimedOut
            },
            .task("ResourcePool.withResource") { [pool] limit in
                try await pool.withResource(timeout: limit) { _ in false }
            },
        ]
    }

    private var priorityQueues: [TimedCall] {
        [
            .thread("BlockingPriorityQueue.pop") { [empty] limit in
                let popped =
                    try empty.pop(timeout: limit)
                #expect(empty.tryPush(popped!))
                return false
            },
            .thread("BlockingPriorityQueue.push") { [full] limit in
                try full.push(2, timeout: limit)
                #expect(full.tryPop() == 2)
                return false
            },
            .task("BlockingPriorityQueue.suspending.pop") { [empty] limit in
                let popped =
                    try await empty.suspending.pop(timeout: limit)
                #expect(empty.tryPush(popped!))
                return false
            },
            .task("BlockingPriorityQueue.suspending.push") { [full] limit in
                try await full.suspending.push(2, timeout: limit)
                #expect(full.tryPop() == 2)
                return false
            },
        ]
    }

    private var queues: [TimedCall] {
        [
            .thread("WorkQueue.sync", isFreeAtOnce: false) { [work] limit in
                try work.sync(timeout: limit) { false }
            },
            .task("WorkQueue.run", isFreeAtOnce: false) { [work] limit in
                try await work.run(timeout: limit) { false }
            },
            .thread("WorkQueue.drain", isFreeAtOnce: false) { [work] limit in
                try work.blockingDrain(timeout: limit)
                return false
            },
            .task("await WorkQueue.drain", isFreeAtOnce: false) { [work] limit in
                try await work.drain(timeout: limit)
                return false
            },
            .task("WorkQueue.asyncWaitingForRoom", isFreeAtOnce: false) { [fullWork] limit in
                try await fullWork.asyncWaitingForRoom(timeout: limit) {}
                return false
            },
        ]
    }

    private var wideQueues: [TimedCall] {
        [
            .thread("ConcurrentWorkQueue.sync", isFreeAtOnce: false) { [wide] limit in
                try wide.sync(flags: .barrier, timeout: limit) { false }
            },
            .task("ConcurrentWorkQueue.run", isFreeAtOnce: false) { [wide] limit in
                try await wide.run(flags: .barrier, timeout: limit) { false }
            },
            .task("ConcurrentWorkQueue.asyncWaitingForRoom", isFreeAtOnce: false) { [fullWide] limit in
                try await fullWide.asyncWaitingForRoom(flags: [], timeout: limit) {}
                return false
            },
        ]
    }

    private var orderedQueues: [TimedCall] {
        [
            .task("FIFOQueue.enqueueAndWait", isFreeAtOnce: false) { [fifo] limit in
                try await fifo.enqueueAndWait(timeout: limit) { false }
            },
            .task("FIFOQueue.enqueueAndWait(on:)", isFreeAtOnce: false) { [fifo, ledger] limit in
                try await fifo.enqueueAndWait(on: ledger, timeout: limit) { _ in false }
            },
            .task("FIFOQueue.drain", isFreeAtOnce: false) { [fifo] limit in
                try await fifo.drain(timeout: limit)
                return false
            },
            .task("FIFOQueue.enqueueWaitingForRoom", isFreeAtOnce: false) { [fullFIFO] limit in
                try await fullFIFO.enqueueWaitingForRoom(timeout: limit) {}
                return false
            },
            .task("ActorQueue.enqueueAndWait", isFreeAtOnce: false) { [ledger] limit in
                try await ledger.queue.enqueueAndWait(timeout: limit) { _ in false }
            },
            .task("ActorQueue.drain", isFreeAtOnce: false) { [ledger] limit in
                try await ledger.queue.drain(timeout: limit)
                return false
            },
            .task("ActorQueue.enqueueWaitingForRoom", isFreeAtOnce: false) { [fullLedger] limit in
                let queue = fullLedger.queue
                try await queue.enqueueWaitingForRoom(timeout: limit) { _ in }
                return false
            },
        ]
    }

    /// Commands that are dispatched. `withDeadline` does not bound them.
    var dispatched: [TimedCall] {
        typealias Done = @Sendable (Result<Int, QueueSafeValueError>) -> Void
        @Sendable func result(_ submit: (@escaping Done) -> Void) async -> Bool {
            await withUnsafeContinuation { continuation in
                submit { continuation.resume(returning: $0.hasTimedOut) }
            }
        }
        return [
            .task("QueueSafeValue.async") { [value] limit in
                await result { done in
                    value.async(performIn: .global(), timeout: limit).lowestPriority.get(completion: done)
                }
            },
            .task("QueueSafeAsyncedValue") { [asynced] limit in
                await result { done in
                    asynced.timeout(limit).lowestPriority.get(completion: done)
                }
            },
        ]
    }
}
