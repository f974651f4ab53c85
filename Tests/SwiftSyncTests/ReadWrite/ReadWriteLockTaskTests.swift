import Testing

@testable import SwiftSync

/// Sections of a lock for which tasks wait: one order with threads, cancellation, deadlines, with reader bias too.
@Suite(.endsInTime)
struct ReadWriteLockTaskTests {
    private enum Failure: Error { case expected }

    /// Holds the lock for writing by a thread until the closure that is returned is called.
    private func occupy<Value: Sendable>(_ lock: ReadWriteLock<Value>) async -> @Sendable () -> Void {
        let entered = Flag(), leave = Semaphore()
        onThread {
            lock.withWriteLock { _ in
                entered.raise()
                leave.wait()
            }
        }
        await waitUntil { entered.isRaised }
        return { leave.signal() }
    }

    /// Starts a task, and returns once it waits for the lock.
    private func start<Value: Sendable>(
        at lock: ReadWriteLock<Value>, _ body: @escaping @Sendable () async throws -> Void
    ) async -> Task<Void, any Error> {
        let waiting = lock.waitingCount
        let task = Task.detached { try await body() }
        await waitUntil { lock.waitingCount == waiting + 1 }
        return task
    }

    @Test(arguments: [false, true])
    func aSectionHasTheValueAndReturnsAndThrows(readerBias: Bool) async throws {
        let lock = ReadWriteLock([1], readerBias: readerBias)
        let count = try await lock.suspending.withWriteLock { value in
            value.append(2)
            return value.count
        }
        #expect(count == 2)
        await #expect(throws: Failure.expected) {
            try await lock.suspending.withWriteLock { value in
                value.append(3)
                throw Failure.expected
            }
        }
        await #expect(throws: Failure.expected) {
            try await lock.suspending.withReadLock { _ in throw Failure.expected }
        }
        #expect(try await lock.suspending.withReadLock(timeout: .zero) { $0 } == [1, 2, 3])
        #expect(try await lock.suspending.withReadLock(timeout: .until(.now)) { $0.count } == 3)
        #expect(try await lock.suspending.withWriteLock(timeout: .until(.now)) { $0.count } == 3)
        #expect(lock.withReadLock { $0 } == [1, 2, 3])
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func tasksAndThreadsStandInOneOrder(policy: GatePolicy) async throws {
        let lock = ReadWriteLock([String](), policy: policy), leave = await occupy(lock), seen = Shared([Int]())
        let first = await start(at: lock) { try await lock.suspending.withWriteLock { $0.append("task") } }
        let second = Thread { lock.withWriteLock { $0.append("thread") } }
        await waitUntil { lock.waitingCount == 2 }
        let third = await start(at: lock) {
            let count = try await lock.suspending.withReadLock { $0.count }
            seen.append(count)
        }
        let fourth = await start(at: lock) { try await lock.suspending.withWriteLock { $0.append("last task") } }
        leave()
        for task in [first, third, fourth] { try await task.value }
        second.join()
        #expect(lock.withReadLock { $0 } == ["task", "thread", "last task"])
        #expect(seen.value == [2])
    }

    @Test(arguments: [false, true])
    func tasksThatReadAreInsideTogether(readerBias: Bool) async throws {
        let lock = ReadWriteLock(0, readerBias: readerBias), leave = await occupy(lock), inside = Shared(0)
        var tasks = [Task<Void, any Error>]()
        for _ in 0..<2 {
            tasks.append(
                await start(at: lock) {
                    try await lock.suspending.withReadLock { _ in
                        inside.increment()
                        waitUntil("the readers are not inside together") { inside.value == 2 }
                    }
                })
        }
        leave()
        for task in tasks { try await task.value }
    }

    @Test(arguments: [false, true])
    func aCancelledTaskLeavesTheQueue(readerBias: Bool) async {
        let lock = ReadWriteLock(0, readerBias: readerBias), leave = await occupy(lock)
        let write = await start(at: lock) { try await lock.suspending.withWriteLock { $0 += 1 } }
        let read = await start(at: lock) { try await lock.suspending.withReadLock { _ in mustNotRun() } }
        write.cancel()
        await #expect(throws: ReadWriteError.cancelled) { try await write.value }
        read.cancel()
        await #expect(throws: ReadWriteError.cancelled) { try await read.value }
        #expect(lock.waitingCount == 0)
        leave()
        #expect(lock.withReadLock { $0 } == 0)
    }

    @Test
    func aTaskThatIsCancelledAlreadyDoesNotEnter() async {
        let lock = ReadWriteLock(0)
        let task = Task {
            await waitUntil { Task.isCancelled }
            await #expect(throws: ReadWriteError.cancelled) { try await lock.suspending.withReadLock { $0 } }
            await #expect(throws: ReadWriteError.cancelled) { try await lock.suspending.withWriteLock { $0 += 1 } }
        }
        task.cancel()
        await task.value
        #expect(lock.withReadLock { $0 } == 0)
    }

    @Test(arguments: [false, true])
    func aTimeoutIsNeverEarlyAndRunsNothing(readerBias: Bool) async {
        let lock = ReadWriteLock(0, readerBias: readerBias), leave = await occupy(lock), clock = ContinuousClock()
        let waits: [@Sendable (ContinuousClock.Instant) async throws -> Void] = [
            { _ in try await lock.suspending.withReadLock(timeout: .milliseconds(2)) { _ in mustNotRun() } },
            { try await lock.suspending.withReadLock(timeout: .until($0)) { _ in mustNotRun() } },
            { _ in try await lock.suspending.withWriteLock(timeout: .milliseconds(2)) { _ in mustNotRun() } },
            { try await lock.suspending.withWriteLock(timeout: .until($0)) { _ in mustNotRun() } },
        ]
        for wait in waits {
            let start = clock.now
            await #expect(throws: ReadWriteError.timedOut) { try await wait(start + .milliseconds(2)) }
            #expect(clock.now - start >= .milliseconds(2))
        }
        #expect(lock.waitingCount == 0)
        leave()
    }

    /// A write waits for readers that entered by the bias, and gives up among them.
    @Test
    func aWriteTimesOutAmongReadersThatEnteredByTheBias() async {
        let lock = ReadWriteLock(0, readerBias: true), entered = Flag(), leave = Semaphore()
        onThread {
            lock.withReadLock { _ in }
            lock.withReadLock { _ in
                entered.raise()
                leave.wait()
            }
        }
        await waitUntil { entered.isRaised }
        await #expect(throws: ReadWriteError.timedOut) {
            try await lock.suspending.withWriteLock(timeout: .milliseconds(2)) { _ in mustNotRun() }
        }
        let write = Task { try await lock.suspending.withWriteLock { $0 += 1 } }
        leave.signal()
        await #expect(throws: Never.self) { try await write.value }
        #expect(lock.withReadLock { $0 } == 1)
    }

    @Test
    func aTaskThatOnlyTriesDoesNotQueue() async {
        let lock = ReadWriteLock(0), leave = await occupy(lock), queued = Flag()
        let address = UInt(bitPattern: lock.box.lock)
        let listener = TestSteps.add { name, object in
            guard name == "TurnWait: queues", let section = object as? SuspendedSection else { return }
            if UInt(bitPattern: section.lock) == address { queued.raise() }
        }
        defer { TestSteps.remove(listener) }
        await #expect(throws: ReadWriteError.timedOut) {
            try await lock.suspending.withWriteLock(timeout: .zero) { _ in mustNotRun() }
        }
        #expect(!queued.isRaised && lock.waitingCount == 0)
        leave()
    }

    /// Threads of the pool of tasks block in the lock, and the tasks before them need none.
    @Test
    func tasksEnterWhileEveryThreadOfTheirExecutorWaits() async throws {
        let lock = ReadWriteLock(0), tasks = 64
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<tasks {
                group.addTask {
                    if number % 2 == 0 {
                        try await lock.suspending.withWriteLock { $0 += 1 }
                    } else {
                        lock.withWriteLock { $0 += 1 }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(lock.withReadLock { $0 } == tasks)
    }

    @Test(arguments: [false, true])
    func aSectionIsExclusiveAndNobodyIsLost(readerBias: Bool) async {
        struct Pair: Sendable { var left = 0, right = 0 }
        let lock = ReadWriteLock(Pair(), readerBias: readerBias), tasks = 6, rounds = 200, gaveUp = Shared(0)
        let change: @Sendable (inout Pair) -> Void = { pair in
            pair.left += 1
            #expect(pair.left == pair.right + 1)
            pair.right += 1
        }
        let threads = (0..<3).map { _ in
            Thread {
                for round in 0..<rounds {
                    if round % 4 == 0 { lock.withWriteLock { change(&$0) } }
                    lock.withReadLock { #expect($0.left == $0.right) }
                }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    for round in 0..<rounds {
                        let timeout: TimeLimit = round % 3 == 0 ? .microseconds(50) : .never
                        let task = Task {
                            if round % 2 == 0 {
                                try await lock.suspending.withWriteLock(timeout: timeout) { change(&$0) }
                            } else {
                                try await lock.suspending.withReadLock(timeout: timeout) {
                                    #expect($0.left == $0.right)
                                }
                            }
                        }
                        if round % 5 == 0 { task.cancel() }
                        if case .failure = await task.result, round % 2 == 0 { gaveUp.increment() }
                    }
                }
            }
        }
        threads.forEach { $0.join() }
        let writes = tasks * rounds / 2 + 3 * rounds / 4
        #expect(lock.withReadLock { $0.right } + gaveUp.value == writes)
        #expect(lock.waitingCount == 0)
    }
}
