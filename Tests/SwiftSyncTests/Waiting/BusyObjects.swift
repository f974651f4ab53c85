import Dispatch
import Testing

@testable import SwiftSync

/// One object of each kind, each in use, so that every call has to wait until ``release()``.
final class BusyObjects: Sendable {
    let mutex = PriorityMutex(0)
    let section = CriticalSection()
    let asyncMutex = AsyncMutex(0)
    let semaphore = PrioritySemaphore(value: 0)
    let lock = ReadWriteLock(0)
    let readLock = ReadWriteLock(0)
    let coordinator = ReadWriteCoordinator()
    let snapshot = Snapshot(0)
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
    let work = WorkQueue(name: "busy")
    let wide = ConcurrentWorkQueue(name: "wide", width: 2)
    let fullWork = WorkQueue(name: "full", capacity: 1, whenFull: .wait)
    let fullWide = ConcurrentWorkQueue(name: "full and wide", width: 2, capacity: 1, whenFull: .wait)

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
        await hold { [snapshot] inside in snapshot.update { _ in inside() } }
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
}
