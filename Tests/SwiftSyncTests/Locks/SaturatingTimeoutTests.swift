import Dispatch
import Testing

@testable import SwiftSync

/// One operation with a timeout on an object that is held: how it is held, how it is tried, and whether somebody waits.
struct TimedOperation: Sendable, CustomTestStringConvertible {
    let name: String
    /// Holds the object; the closure that it returns lets go.
    let hold: @Sendable () async -> @Sendable () -> Void
    /// Begins the operation, and reports whether it came to its turn. Does not block.
    let begin: @Sendable (Duration, @escaping @Sendable (Bool) -> Void) -> Void
    let isWaiting: @Sendable () -> Bool

    var testDescription: String { name }

    /// One that blocks its thread.
    static func blocking(
        _ name: String, _ hold: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        waits: @escaping @Sendable () -> Bool,
        _ operation: @escaping @Sendable (Duration) -> Bool
    ) -> Self {
        let begin = { @Sendable (timeout: Duration, done: @escaping @Sendable (Bool) -> Void) in
            onThread { done(operation(timeout)) }
        }
        return Self(name: name, hold: { await holdOnThread(hold) }, begin: begin, isWaiting: waits)
    }

    /// One that suspends its task.
    static func suspending(
        _ name: String, _ hold: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        waits: @escaping @Sendable () -> Bool,
        _ operation: @escaping @Sendable (Duration) async -> Bool
    ) -> Self {
        let begin = { @Sendable (timeout: Duration, done: @escaping @Sendable (Bool) -> Void) in
            _ = Task { done(await operation(timeout)) }
        }
        return Self(name: name, hold: { await holdOnThread(hold) }, begin: begin, isWaiting: waits)
    }

    /// A thread inside `section`, until it is let go.
    private static func holdOnThread(
        _ section: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) async -> @Sendable () -> Void {
        let isInside = Flag(), leave = Flag()
        onThread {
            section {
                isInside.raise()
                waitUntil { leave.isRaised }
            }
        }
        await waitUntil { isInside.isRaised }
        return { leave.raise() }
    }
}

/// A span that does not fit into what ``Duration/components`` can tell used to end the process in each of these. One at
/// a time: some share an object.
@Suite(.serialized, .endsInTime)
struct SaturatingTimeoutTests {
    private static let endless: [Duration] = [.seconds(Int64.max) * 2, .seconds(Int64.max), .nanoseconds(Int64.max)]
    private static let over: [Duration] = [.seconds(Int64.min) * 2, .seconds(Int64.min), .zero]

    static let operations: [TimedOperation] = locks() + values() + readWrite() + queues()

    private static func locks() -> [TimedOperation] {
        let mutex = PriorityMutex(0), section = CriticalSection()
        return [
            .blocking(
                "PriorityMutex.withLock(priority:timeout:)", { body in mutex.withLock { _ in body() } },
                waits: { mutex.waitingCount > 0 }
            ) {
                mutex.withLock(priority: .high, timeout: .after($0)) { _ in true } ?? false
            },
            .blocking("CriticalSection.execute(timeout:)", { section.execute($0) }, waits: { section.waitingCount > 0 })
            {
                section.execute(timeout: $0) {}
            },
        ]
    }

    private static func values() -> [TimedOperation] {
        let value = QueueSafeValue(value: 0), synced = QueueSafeSyncedValue(value: 0)
        let asynced = QueueSafeAsyncedValue(value: 0, queue: .global()), inner = asynced.value
        let hold = { @Sendable (body: @escaping @Sendable () -> Void) in
            _ = value.wait.lowestPriority.set { _ in body() }
        }
        let isWaiting = { @Sendable in value.waitingCount > 0 }
        func done(_ result: Result<Int, QueueSafeValueError>) -> Bool { result == .success(1) }
        let byQueue = { @Sendable (timeout: Duration) async in
            await withCheckedContinuation { continuation in
                value.async(performIn: .global(), timeout: .after(timeout)).lowestPriority.set(newValue: 1) {
                    continuation.resume(returning: $0 == .success(1))
                }
            }
        }
        let byQuality = { @Sendable (timeout: Duration) async in
            await withCheckedContinuation { continuation in
                value.async(performIn: .utility, timeout: .after(timeout)).lowestPriority.set(newValue: 1) {
                    continuation.resume(returning: $0 == .success(1))
                }
            }
        }
        let byAsynced = { @Sendable (timeout: Duration) async in
            await withCheckedContinuation { continuation in
                asynced.timeout(.after(timeout)).lowestPriority.set(newValue: 1) {
                    continuation.resume(returning: $0 == .success(1))
                }
            }
        }
        return [
            .blocking("wait(timeout:)", hold, waits: isWaiting) {
                value.wait(timeout: .after($0)).lowestPriority.set(newValue: 1) == .success(1)
            },
            .blocking(
                "QueueSafeSyncedValue.timeout(_:)", { body in synced.lowestPriority.set { _ in body() } },
                waits: { synced.box.waitingCount > 0 }
            ) {
                synced.timeout(.after($0)).lowestPriority.set(newValue: 1) == .success(1)
            },
            .suspending("async(performIn: queue, timeout:)", hold, waits: isWaiting, byQueue),
            .suspending("async(performIn: qos, timeout:)", hold, waits: isWaiting, byQuality),
            .suspending(
                "QueueSafeAsyncedValue.timeout(_:)", { body in inner.wait.lowestPriority.set { _ in body() } },
                waits: { inner.waitingCount > 0 }, byAsynced),
            .suspending("suspending(timeout:)", hold, waits: isWaiting) {
                await value.suspending(timeout: .after($0)).set(newValue: 1) == .success(1)
            },
        ]
    }

    private static func readWrite() -> [TimedOperation] {
        let lock = ReadWriteLock(0), coordinator = ReadWriteCoordinator()
        let holdLock = { @Sendable (body: @escaping @Sendable () -> Void) in lock.withWriteLock { _ in body() } }
        let lockWaits = { @Sendable in lock.waitingCount > 0 }
        let hold = { @Sendable (body: @escaping @Sendable () -> Void) in coordinator.blockingWrite { body() } }
        let waits = { @Sendable in coordinator.waitingCount > 0 }
        return snapshots() + [
            .blocking("withReadLock(timeout:)", holdLock, waits: lockWaits) {
                lock.withReadLock(timeout: .after($0)) { _ in true } ?? false
            },
            .blocking("withWriteLock(timeout:)", holdLock, waits: lockWaits) {
                lock.withWriteLock(timeout: .after($0)) { _ in true } ?? false
            },
            .blocking("an upgrade", { body in lock.withReadLock { _ in body() } }, waits: lockWaits) { timeout in
                (try? lock.withUpgradableReadLock { _, upgrade in try upgrade(timeout: .after(timeout)) { _ in true } })
                    ?? false
            },
            .blocking("read(timeout:)", hold, waits: waits) {
                (try? coordinator.read(timeout: .after($0)) { true }) ?? false
            },
            .blocking("blockingWrite(timeout:)", hold, waits: waits) {
                (try? coordinator.blockingWrite(timeout: .after($0)) { true }) ?? false
            },
            .suspending("suspending.read(timeout:)", hold, waits: waits) {
                (try? await coordinator.suspending.read(timeout: .after($0)) { true }) ?? false
            },
            .suspending("suspending.write(timeout:)", hold, waits: waits) {
                (try? await coordinator.suspending.write(timeout: .after($0)) { true }) ?? false
            },
        ]
    }

    private static func snapshots() -> [TimedOperation] {
        let snapshot = Snapshot(0), waiting = Flag()
        return [
            // Nobody sees who waits for an update: it has to be long enough that it is about to.
            .blocking(
                "Snapshot.update(timeout:)", { body in snapshot.update { _ in body() } }, waits: { waiting.isRaised }
            ) { timeout in
                waiting.raise()
                return (try? snapshot.update(timeout: .after(timeout)) { _ in true }) ?? false
            }
        ]
    }

    private static func queues() -> [TimedOperation] {
        let elements = BlockingPriorityQueue<Int>(), full = BlockingPriorityQueue<Int>(capacity: 1)
        let queue = WorkQueue(name: "SaturatingTimeoutTests"),
            concurrent = ConcurrentWorkQueue(name: "SaturatingTimeoutTests", width: 2)
        let hold = { @Sendable (body: @escaping @Sendable () -> Void) in queue.sync { body() } }
        let holdAll = { @Sendable (body: @escaping @Sendable () -> Void) in concurrent.sync(barrier: true) { body() }
        }
        let queueWaits = { @Sendable in queue.waitingCount > 0 }, all = { @Sendable in concurrent.waitingCount > 0 }
        return [
            .blocking(
                "push(_:timeout:)",
                { body in
                    full.push(1)
                    body()
                    _ = full.tryPop()
                }, waits: { full.waitingCount > 0 }
            ) { timeout in
                guard (try? full.push(2, timeout: .after(timeout))) != nil else { return false }
                return full.tryPop() == 2
            },
            .blocking(
                "pop(timeout:)",
                { body in
                    body()
                    elements.push(1)
                }, waits: { elements.waitingCount > 0 }
            ) { timeout in (try? elements.pop(timeout: .after(timeout))) == .some(1) },
            .blocking("WorkQueue.sync(timeout:)", hold, waits: queueWaits) {
                (try? queue.sync(timeout: .after($0)) { true }) ?? false
            },
            .suspending("WorkQueue.run(timeout:)", hold, waits: queueWaits) {
                (try? await queue.run(timeout: .after($0)) { true }) ?? false
            },
            .blocking("ConcurrentWorkQueue.sync(timeout:)", holdAll, waits: all) {
                (try? concurrent.sync(timeout: .after($0)) { true }) ?? false
            },
            .suspending("ConcurrentWorkQueue.run(timeout:)", holdAll, waits: all) {
                (try? await concurrent.run(timeout: .after($0)) { true }) ?? false
            },
            .blocking("WorkQueue.drain(timeout:)", hold, waits: queueWaits) { timeout in
                // Work that waits shows that there is something to wait for; what is waited for is seen by nobody.
                queue.async {}
                return (try? queue.blockingDrain(timeout: .after(timeout))) != nil
            },
        ]
    }

    @Test(arguments: operations)
    func aTimeoutThatDoesNotFitNeverEndsOrHasPassed(_ operation: TimedOperation) async {
        for (endless, over) in zip(Self.endless, Self.over) {
            let letGo = await operation.hold(), results = Shared([Bool]())
            operation.begin(over) { results.append($0) }
            await waitUntil { results.value.count == 1 }
            #expect(results.value == [false], "\(over) waited")
            operation.begin(endless) { results.append($0) }
            await waitUntil { operation.isWaiting() }
            #expect(results.value == [false], "\(endless) ended at once")
            letGo()
            await waitUntil { results.value.count == 2 }
            #expect(results.value == [false, true])
        }
    }

    @Test
    func delaysThatDoNotFitComeNeverOrAtOnce() {
        for queue in [WorkQueue(name: "delays"), ConcurrentWorkQueue(name: "delays")] as [WorkQueueBase] {
            for endless in Self.endless.prefix(2) {
                #expect(queue.async(after: endless) { Issue.record("came to the end of time") }.cancel())
                #expect(queue.async(every: endless) { Issue.record("came to the end of time") }.cancel())
            }
            for over in Self.over {
                let once = Flag(), thrice = Shared()
                queue.async(after: over) { once.raise() }
                let periodic = queue.async(every: over) { thrice.increment() }
                waitUntil { once.isRaised && thrice.value >= 3 }
                #expect(periodic.cancel())
            }
        }
    }
}
