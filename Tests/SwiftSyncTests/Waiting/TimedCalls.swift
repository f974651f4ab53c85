import Dispatch
import Testing

@testable import SwiftSync

extension Result {
    fileprivate var hasTimedOut: Bool {
        if case .failure(let error) = self { return (error as? QueueSafeValueError)?.reason == .timedOut }
        return false
    }
}

/// The table of every call that takes a limit of time.
extension BusyObjects {
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
        all.append(
            .thread("Snapshot.update") { [snapshot] limit in
                try snapshot.update(timeout: limit) { _ in false }
            })
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
                try wide.sync(barrier: true, timeout: limit) { false }
            },
            .task("ConcurrentWorkQueue.run", isFreeAtOnce: false) { [wide] limit in
                try await wide.run(barrier: true, timeout: limit) { false }
            },
            .task("ConcurrentWorkQueue.asyncWaitingForRoom", isFreeAtOnce: false) { [fullWide] limit in
                try await fullWide.asyncWaitingForRoom(barrier: false, timeout: limit) {}
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
