// More than 400 lines: one table, of every call that takes an instant.
import Dispatch
import Testing

@testable import SwiftSync

/// When a call is to stop waiting.
enum When: Sendable {
    case continuous(ContinuousClock.Instant)
    case suspending(SuspendingClock.Instant)
    /// It says nothing of a time itself, or names one that is far away.
    case ofRequest

    static let far = Duration.seconds(1000)

    /// Each form of an instant, so far from now.
    static func all(_ span: Duration) -> [When] {
        [.continuous(.now + span), .suspending(.now + span)]
    }

    /// Calls `body` for an instant from now by either clock, and expects it to come back at that instant at the
    /// earliest.
    static func neverEarly(_ span: Duration, _ body: (When) async -> Void) async {
        let continuous = ContinuousClock.now + span
        await body(.continuous(continuous))
        #expect(ContinuousClock.now >= continuous)
        let suspending = SuspendingClock.now + span
        await body(.suspending(suspending))
        #expect(SuspendingClock.now >= suspending)
    }
}

/// A call that takes an instant. It says whether it has reported that this came first.
struct TimedCall: Sendable {
    private enum Form {
        case thread(@Sendable (When) throws -> Bool)
        case task(@Sendable (When) async throws -> Bool)
    }

    let name: String
    private let form: Form
    /// Whether it succeeds at once where nobody is in the way any more.
    let isFreeAtOnce: Bool

    /// One that blocks its thread, and so has one of its own.
    static func thread(
        _ name: String, isFreeAtOnce: Bool = true, _ call: @escaping @Sendable (When) throws -> Bool
    ) -> TimedCall {
        TimedCall(name: name, form: .thread(call), isFreeAtOnce: isFreeAtOnce)
    }

    static func task(
        _ name: String, isFreeAtOnce: Bool = true, _ call: @escaping @Sendable (When) async throws -> Bool
    ) -> TimedCall {
        TimedCall(name: name, form: .task(call), isFreeAtOnce: isFreeAtOnce)
    }

    func hasTimedOut(_ when: When) async -> Bool {
        switch form {
        case .thread(let call): await Self.onThread { Self.hasTimedOut { try call(when) } }
        case .task(let call): await Self.hasTimedOut { try await call(when) }
        }
    }

    /// The same call, made inside `withDeadline`.
    func hasTimedOut(within instant: ContinuousClock.Instant, _ when: When = .ofRequest) async -> Bool {
        switch form {
        case .thread(let call):
            await Self.onThread { withDeadline(instant) { Self.hasTimedOut { try call(when) } } }
        case .task(let call): await withDeadline(instant) { await Self.hasTimedOut { try await call(when) } }
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
            await queue.drain()
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
            .thread("PriorityMutex.withLock") { [mutex] when in
                switch when {
                case .continuous(let instant): mutex.withLock(until: instant) { $0 } == nil
                case .suspending(let instant): mutex.withLock(priority: .high, until: instant) { $0 } == nil
                case .ofRequest: mutex.withLock(timeout: .seconds(600)) { $0 } == nil
                }
            },
            .task("PriorityMutex.suspending.withLock") { [mutex] when in
                switch when {
                case .continuous(let instant): try await mutex.suspending.withLock(until: instant) { _ in false }
                case .suspending(let instant): try await mutex.suspending.withLock(until: instant) { _ in false }
                case .ofRequest: try await mutex.suspending.withLock { _ in false }
                }
            },
            .thread("PriorityMutex.withLock(when:)") { [mutex] when in
                switch when {
                case .continuous(let instant): mutex.withLock(when: { $0 == 0 }, until: instant) { $0 } == nil
                case .suspending(let instant):
                    mutex.withLock(when: { $0 == 0 }, priority: .high, until: instant) { $0 } == nil
                case .ofRequest: mutex.withLock(when: { $0 == 0 }, timeout: .seconds(600)) { $0 } == nil
                }
            },
            .task("PriorityMutex.suspending.withLock(when:)") { [mutex] when in
                switch when {
                case .continuous(let instant):
                    try await mutex.suspending.withLock(when: { $0 == 0 }, until: instant) { _ in false }
                case .suspending(let instant):
                    try await mutex.suspending.withLock(when: { $0 == 0 }, until: instant) { _ in false }
                case .ofRequest: try await mutex.suspending.withLock(when: { $0 == 0 }) { _ in false }
                }
            },
            .thread("CriticalSection.execute") { [section] when in
                switch when {
                case .continuous(let instant): !section.execute(until: instant) {}
                case .suspending(let instant): !section.execute(until: instant) {}
                case .ofRequest: !section.execute(timeout: When.far) {}
                }
            },
            .thread("CriticalSection.execute, in seconds") { [section] when in
                switch when {
                case .continuous(let instant): !section.execute(until: instant) {}
                case .suspending(let instant): !section.execute(until: instant) {}
                case .ofRequest: !section.execute(timeout: 1000.0) {}
                }
            },
            .task("AsyncMutex.withLock") { [asyncMutex] when in
                switch when {
                case .continuous(let instant): try await asyncMutex.withLock(until: instant) { _ in }
                case .suspending(let instant): try await asyncMutex.withLock(until: instant) { _ in }
                case .ofRequest: try await asyncMutex.withLock { _ in }
                }
                return false
            },
        ]
    }

    private var semaphores: [TimedCall] {
        [
            .thread("PrioritySemaphore.wait") { [semaphore] when in
                switch when {
                case .continuous(let instant): try semaphore.wait(until: instant)
                case .suspending(let instant): try semaphore.wait(until: instant)
                case .ofRequest: try semaphore.wait()
                }
                try semaphore.signal()
                return false
            },
            .task("await PrioritySemaphore.wait") { [semaphore] when in
                switch when {
                case .continuous(let instant): try await semaphore.wait(until: instant)
                case .suspending(let instant): try await semaphore.wait(until: instant)
                case .ofRequest: try await semaphore.wait()
                }
                try semaphore.signal()
                return false
            },
            .thread("PrioritySemaphore.withPermit") { [semaphore] when in
                switch when {
                case .continuous(let instant): try semaphore.withPermit(until: instant) { false }
                case .suspending(let instant): try semaphore.withPermit(until: instant) { false }
                case .ofRequest: try semaphore.withPermit { false }
                }
            },
            .task("await PrioritySemaphore.withPermit") { [semaphore] when in
                switch when {
                case .continuous(let instant): try await semaphore.withPermit(until: instant) { false }
                case .suspending(let instant): try await semaphore.withPermit(until: instant) { false }
                case .ofRequest: try await semaphore.withPermit { false }
                }
            },
        ]
    }

    private var readWriteLocks: [TimedCall] {
        [
            .thread("ReadWriteLock.withReadLock") { [lock] when in
                switch when {
                case .continuous(let instant): lock.withReadLock(until: instant) { $0 } == nil
                case .suspending(let instant): lock.withReadLock(until: instant) { $0 } == nil
                case .ofRequest: lock.withReadLock(timeout: When.far) { $0 } == nil
                }
            },
            .thread("ReadWriteLock.withWriteLock") { [readLock] when in
                switch when {
                case .continuous(let instant): readLock.withWriteLock(until: instant) { $0 } == nil
                case .suspending(let instant): readLock.withWriteLock(until: instant) { $0 } == nil
                case .ofRequest: readLock.withWriteLock(timeout: When.far) { $0 } == nil
                }
            },
            .task("ReadWriteLock.suspending.withReadLock") { [lock] when in
                switch when {
                case .continuous(let instant): try await lock.suspending.withReadLock(until: instant) { _ in false }
                case .suspending(let instant): try await lock.suspending.withReadLock(until: instant) { _ in false }
                case .ofRequest: try await lock.suspending.withReadLock { _ in false }
                }
            },
            .task("ReadWriteLock.suspending.withWriteLock") { [readLock] when in
                switch when {
                case .continuous(let instant):
                    try await readLock.suspending.withWriteLock(until: instant) { _ in false }
                case .suspending(let instant):
                    try await readLock.suspending.withWriteLock(until: instant) { _ in false }
                case .ofRequest: try await readLock.suspending.withWriteLock { _ in false }
                }
            },
            .thread("ReadWriteLock.Upgrade") { [readLock] when in
                try readLock.withUpgradableReadLock { _, upgrade in
                    switch when {
                    case .continuous(let instant): try upgrade(until: instant) { _ in false }
                    case .suspending(let instant): try upgrade(until: instant) { _ in false }
                    case .ofRequest: try upgrade { _ in false }
                    }
                }
            },
        ]
    }

    private var coordinators: [TimedCall] {
        var all: [TimedCall] = [
            .thread("ReadWriteCoordinator.read") { [coordinator] when in
                switch when {
                case .continuous(let instant): try coordinator.read(until: instant) { false }
                case .suspending(let instant): try coordinator.read(until: instant) { false }
                case .ofRequest: try coordinator.read(timeout: nil) { false }
                }
            },
            .thread("ReadWriteCoordinator.blockingWrite") { [coordinator] when in
                switch when {
                case .continuous(let instant): try coordinator.blockingWrite(until: instant) { false }
                case .suspending(let instant): try coordinator.blockingWrite(until: instant) { false }
                case .ofRequest: try coordinator.blockingWrite(timeout: nil) { false }
                }
            },
            .thread("ReadWriteCoordinator.drain") { [coordinator] when in
                switch when {
                case .continuous(let instant): try coordinator.drain(until: instant)
                case .suspending(let instant): try coordinator.drain(until: instant)
                case .ofRequest: try coordinator.drain(timeout: nil)
                }
                return false
            },
            .task("ReadWriteCoordinator.suspending.read", isFreeAtOnce: false) { [coordinator] when in
                switch when {
                case .continuous(let instant): try await coordinator.suspending.read(until: instant) { false }
                case .suspending(let instant): try await coordinator.suspending.read(until: instant) { false }
                case .ofRequest: try await coordinator.suspending.read { false }
                }
            },
            .task("ReadWriteCoordinator.suspending.write", isFreeAtOnce: false) { [coordinator] when in
                switch when {
                case .continuous(let instant): try await coordinator.suspending.write(until: instant) { false }
                case .suspending(let instant): try await coordinator.suspending.write(until: instant) { false }
                case .ofRequest: try await coordinator.suspending.write { false }
                }
            },
            .task("ReadWriteCoordinator.suspending.drain", isFreeAtOnce: false) { [coordinator] when in
                switch when {
                case .continuous(let instant): try await coordinator.suspending.drain(until: instant)
                case .suspending(let instant): try await coordinator.suspending.drain(until: instant)
                case .ofRequest: try await coordinator.suspending.drain()
                }
                return false
            },
        ]
        #if RCU
        all.append(
            .thread("Snapshot.update") { [snapshot] when in
                switch when {
                case .continuous(let instant): try snapshot.update(until: instant) { _ in false }
                case .suspending(let instant): try snapshot.update(until: instant) { _ in false }
                case .ofRequest: try snapshot.update(timeout: When.far) { _ in false }
                }
            })
        #endif
        return all
    }

    private var values: [TimedCall] {
        [
            .thread("QueueSafeValue.wait") { [value] when in
                switch when {
                case .continuous(let instant): value.wait(until: instant).lowestPriority.get().hasTimedOut
                case .suspending(let instant): value.wait(until: instant).highestPriority.get().hasTimedOut
                case .ofRequest: value.wait.priority(.low).get().hasTimedOut
                }
            },
            .task("QueueSafeValue.suspending") { [value] when in
                switch when {
                case .continuous(let instant): await value.suspending(until: instant).get().hasTimedOut
                case .suspending(let instant): await value.suspending(until: instant).get().hasTimedOut
                case .ofRequest: await value.suspending.get().hasTimedOut
                }
            },
            .thread("QueueSafeSyncedValue") { [synced] when in
                switch when {
                case .continuous(let instant): synced.until(instant).lowestPriority.get().hasTimedOut
                case .suspending(let instant): synced.until(instant).lowestPriority.get().hasTimedOut
                case .ofRequest: synced.lowestPriority.get().hasTimedOut
                }
            },
            .task("ResourcePool.withResource") { [pool] when in
                switch when {
                case .continuous(let instant): try await pool.withResource(until: instant) { _ in false }
                case .suspending(let instant): try await pool.withResource(until: instant) { _, _ in false }
                case .ofRequest: try await pool.withResource { _ in false }
                }
            },
        ]
    }

    private var priorityQueues: [TimedCall] {
        [
            .thread("BlockingPriorityQueue.pop") { [empty] when in
                let popped =
                    switch when {
                    case .continuous(let instant): try empty.pop(until: instant)
                    case .suspending(let instant): try empty.pop(until: instant)
                    case .ofRequest: try empty.pop(timeout: When.far)
                    }
                #expect(empty.tryPush(popped!))
                return false
            },
            .thread("BlockingPriorityQueue.push") { [full] when in
                switch when {
                case .continuous(let instant): try full.push(2, until: instant)
                case .suspending(let instant): try full.push(2, priority: .high, until: instant)
                case .ofRequest: try full.push(2, timeout: When.far)
                }
                #expect(full.tryPop() == 2)
                return false
            },
            .task("BlockingPriorityQueue.suspending.pop") { [empty] when in
                let popped =
                    switch when {
                    case .continuous(let instant): try await empty.suspending.pop(until: instant)
                    case .suspending(let instant): try await empty.suspending.pop(until: instant)
                    case .ofRequest: try await empty.suspending.pop()
                    }
                #expect(empty.tryPush(popped!))
                return false
            },
            .task("BlockingPriorityQueue.suspending.push") { [full] when in
                switch when {
                case .continuous(let instant): try await full.suspending.push(2, until: instant)
                case .suspending(let instant): try await full.suspending.push(2, priority: .high, until: instant)
                case .ofRequest: try await full.suspending.push(2)
                }
                #expect(full.tryPop() == 2)
                return false
            },
        ]
    }

    private var queues: [TimedCall] {
        [
            .thread("WorkQueue.sync", isFreeAtOnce: false) { [work] when in
                switch when {
                case .continuous(let instant): try work.sync(until: instant) { false }
                case .suspending(let instant): try work.sync(until: instant, priority: .high) { false }
                case .ofRequest: try work.sync(timeout: nil) { false }
                }
            },
            .task("WorkQueue.run", isFreeAtOnce: false) { [work] when in
                switch when {
                case .continuous(let instant): try await work.run(until: instant) { false }
                case .suspending(let instant): try await work.run(until: instant, priority: .high) { false }
                case .ofRequest: try await work.run(timeout: nil) { false }
                }
            },
            .thread("WorkQueue.drain", isFreeAtOnce: false) { [work] when in
                switch when {
                case .continuous(let instant): try work.drain(until: instant)
                case .suspending(let instant): try work.drain(until: instant)
                case .ofRequest: try work.drain(timeout: nil)
                }
                return false
            },
            .task("await WorkQueue.drain", isFreeAtOnce: false) { [work] when in
                switch when {
                case .continuous(let instant): try await work.drain(until: instant)
                case .suspending(let instant): try await work.drain(until: instant)
                case .ofRequest: try await work.drain(timeout: nil)
                }
                return false
            },
            .task("WorkQueue.asyncWaitingForRoom", isFreeAtOnce: false) { [fullWork] when in
                switch when {
                case .continuous(let instant): try await fullWork.asyncWaitingForRoom(until: instant) {}
                case .suspending(let instant): try await fullWork.asyncWaitingForRoom(until: instant) {}
                case .ofRequest: try await fullWork.asyncWaitingForRoom {}
                }
                return false
            },
        ]
    }

    private var wideQueues: [TimedCall] {
        [
            .thread("ConcurrentWorkQueue.sync", isFreeAtOnce: false) { [wide] when in
                switch when {
                case .continuous(let instant): try wide.sync(flags: .barrier, until: instant) { false }
                case .suspending(let instant): try wide.sync(flags: [], until: instant) { false }
                case .ofRequest: try wide.sync(flags: .barrier, timeout: nil) { false }
                }
            },
            .task("ConcurrentWorkQueue.run", isFreeAtOnce: false) { [wide] when in
                switch when {
                case .continuous(let instant): try await wide.run(flags: .barrier, until: instant) { false }
                case .suspending(let instant): try await wide.run(flags: [], until: instant) { false }
                case .ofRequest: try await wide.run(flags: .barrier, timeout: nil) { false }
                }
            },
            .task("ConcurrentWorkQueue.asyncWaitingForRoom", isFreeAtOnce: false) { [fullWide] when in
                switch when {
                case .continuous(let instant): try await fullWide.asyncWaitingForRoom(flags: [], until: instant) {}
                case .suspending(let instant): try await fullWide.asyncWaitingForRoom(flags: [], until: instant) {}
                case .ofRequest: try await fullWide.asyncWaitingForRoom(flags: []) {}
                }
                return false
            },
        ]
    }

    private var orderedQueues: [TimedCall] {
        [
            .task("FIFOQueue.enqueueAndWait", isFreeAtOnce: false) { [fifo] when in
                switch when {
                case .continuous(let instant): try await fifo.enqueueAndWait(until: instant) { false }
                case .suspending(let instant): try await fifo.enqueueAndWait(until: instant) { false }
                case .ofRequest: try await fifo.enqueueAndWait { () async throws in false }
                }
            },
            .task("FIFOQueue.enqueueAndWait(on:)", isFreeAtOnce: false) { [fifo, ledger] when in
                switch when {
                case .continuous(let instant): try await fifo.enqueueAndWait(on: ledger, until: instant) { _ in false }
                case .suspending(let instant): try await fifo.enqueueAndWait(on: ledger, until: instant) { _ in false }
                case .ofRequest: try await fifo.enqueueAndWait(on: ledger, timeout: When.far) { _ in false }
                }
            },
            .task("FIFOQueue.drain", isFreeAtOnce: false) { [fifo] when in
                switch when {
                case .continuous(let instant): try await fifo.drain(until: instant)
                case .suspending(let instant): try await fifo.drain(until: instant)
                case .ofRequest: try await fifo.drain()
                }
                return false
            },
            .task("FIFOQueue.enqueueWaitingForRoom", isFreeAtOnce: false) { [fullFIFO] when in
                switch when {
                case .continuous(let instant): try await fullFIFO.enqueueWaitingForRoom(until: instant) {}
                case .suspending(let instant): try await fullFIFO.enqueueWaitingForRoom(until: instant) {}
                case .ofRequest: try await fullFIFO.enqueueWaitingForRoom {}
                }
                return false
            },
            .task("ActorQueue.enqueueAndWait", isFreeAtOnce: false) { [ledger] when in
                switch when {
                case .continuous(let instant): try await ledger.queue.enqueueAndWait(until: instant) { _ in false }
                case .suspending(let instant): try await ledger.queue.enqueueAndWait(until: instant) { _ in false }
                case .ofRequest: try await ledger.queue.enqueueAndWait { (_) async throws in false }
                }
            },
            .task("ActorQueue.drain", isFreeAtOnce: false) { [ledger] when in
                switch when {
                case .continuous(let instant): try await ledger.queue.drain(until: instant)
                case .suspending(let instant): try await ledger.queue.drain(until: instant)
                case .ofRequest: try await ledger.queue.drain()
                }
                return false
            },
            .task("ActorQueue.enqueueWaitingForRoom", isFreeAtOnce: false) { [fullLedger] when in
                let queue = fullLedger.queue
                switch when {
                case .continuous(let instant): try await queue.enqueueWaitingForRoom(until: instant) { _ in }
                case .suspending(let instant): try await queue.enqueueWaitingForRoom(until: instant) { _ in }
                case .ofRequest: try await queue.enqueueWaitingForRoom { _ in }
                }
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
            .task("QueueSafeValue.async") { [value] when in
                await result { done in
                    switch when {
                    case .continuous(let instant):
                        value.async(performIn: .global(), until: instant).lowestPriority.get(completion: done)
                    case .suspending(let instant):
                        value.async(performIn: DispatchQoS.QoSClass.utility, until: instant).lowestPriority
                            .get(completion: done)
                    case .ofRequest:
                        value.async(performIn: .global(), timeout: When.far).lowestPriority.get(completion: done)
                    }
                }
            },
            .task("QueueSafeAsyncedValue") { [asynced] when in
                await result { done in
                    switch when {
                    case .continuous(let instant): asynced.until(instant).lowestPriority.get(completion: done)
                    case .suspending(let instant): asynced.until(instant).lowestPriority.get(completion: done)
                    case .ofRequest: asynced.lowestPriority.get(completion: done)
                    }
                }
            },
        ]
    }
}
