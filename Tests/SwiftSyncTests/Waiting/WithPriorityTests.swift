import Testing

@testable import SwiftSync

/// The priority of a request: each type that ranks its waiters serves those that name no priority by it.
@Suite(.endsInTime)
struct WithPriorityTests {
    private static let arrivals: [CommandPriority] = [.normal, .lowest, .highest, .low, .high]
    private static let byPriority: [CommandPriority] = [.highest, .high, .normal, .low, .lowest]

    private final class Served: Sendable {
        private let priorities = Shared([CommandPriority]())

        var inOrder: [CommandPriority] { priorities.value }
        func add(_ priority: CommandPriority) { priorities.append(priority) }
    }

    /// Starts a task for each priority, whose request has it. Each waits before the next one comes.
    private func startTasks(
        _ waiting: () -> Int, _ wait: @escaping @Sendable (CommandPriority) async throws -> Void
    ) async -> [Task<Void, any Error>] {
        var tasks = [Task<Void, any Error>]()
        for priority in Self.arrivals {
            let before = waiting()
            tasks.append(Task.detached { try await withPriority(priority) { try await wait(priority) } })
            await waitUntil { waiting() == before + 1 }
        }
        return tasks
    }

    /// Does the same with threads.
    private func startThreads(
        _ waiting: () -> Int, _ wait: @escaping @Sendable (CommandPriority) -> Void
    ) async -> [Thread] {
        var threads = [Thread]()
        for priority in Self.arrivals {
            let before = waiting()
            threads.append(Thread { blockingWithPriority(priority) { wait(priority) } })
            await waitUntil { waiting() == before + 1 }
        }
        return threads
    }

    /// Holds the mutex on a thread until the flag is raised.
    private func hold<Value>(_ mutex: PriorityMutex<Value>, until leave: Flag) async -> Thread {
        let isHeld = Flag()
        let holder = Thread {
            mutex.withLock { _ in
                isHeld.raise()
                waitUntil { leave.isRaised }
            }
        }
        await waitUntil { isHeld.isRaised }
        return holder
    }

    // MARK: - Threads

    private func expectOrder(_ wait: @escaping @Sendable (PriorityMutex<Int>, () -> Void) -> Void) async {
        let mutex = PriorityMutex(0, graceMicroseconds: 2_000_000_000), leave = Flag(), served = Served()
        let holder = await hold(mutex, until: leave)
        let threads = await startThreads({ mutex.waitingCount }) { priority in wait(mutex) { served.add(priority) } }
        leave.raise()
        (threads + [holder]).forEach { $0.join() }
        #expect(served.inOrder == Self.byPriority)
    }

    @Test func ofThreadsAtAPriorityMutex() async {
        await expectOrder { mutex, serve in mutex.withLock { _ in serve() } }
        await expectOrder { mutex, serve in _ = mutex.withLock(timeout: .seconds(1000)) { _ in serve() } }
        await expectOrder { mutex, serve in
            _ = mutex.withLock(timeout: .seconds(1000)) { value -> Int in
                serve()
                return value
            }
        }
    }

    @Test func ofThreadsThatWaitForAPredicate() async {
        typealias Wait = @Sendable (PriorityMutex<Bool>, () -> Void) -> Void
        let waits: [Wait] = [
            { mutex, serve in mutex.withLock(when: { $0 }) { _ in serve() } },
            { mutex, serve in _ = mutex.withLock(when: { $0 }, timeout: .seconds(1000)) { _ in serve() } },
        ]
        for wait in waits {
            let mutex = PriorityMutex(false, graceMicroseconds: 2_000_000_000), served = Served()
            let threads = await startThreads({ mutex.waitingCount }) { priority in
                wait(mutex) { served.add(priority) }
            }
            mutex.withLock { $0 = true }
            threads.forEach { $0.join() }
            #expect(served.inOrder == Self.byPriority)
        }
    }

    @Test func ofThreadsAtASemaphore() async throws {
        let semaphore = PrioritySemaphore(value: 0), served = Served()
        let threads = await startThreads({ semaphore.waitingCount }) { priority in
            try? semaphore.blockingWithPermit { served.add(priority) }
        }
        try semaphore.signal()
        threads.forEach { $0.join() }
        #expect(served.inOrder == Self.byPriority)
    }

    @Test func ofThreadsAtAWorkQueue() async {
        for isTimed in [false, true] {
            let queue = WorkQueue(name: "of threads", priority: .low), served = Served()
            queue.suspend()
            let threads = await startThreads({ queue.waitingCount }) { priority in
                if isTimed {
                    try? queue.sync(timeout: .seconds(1000)) { served.add(priority) }
                } else {
                    queue.sync { served.add(priority) }
                }
            }
            queue.resume()
            threads.forEach { $0.join() }
            #expect(served.inOrder == Self.byPriority)
        }
    }

    // MARK: - Tasks

    @Test func ofTasksAtAPriorityMutex() async throws {
        // It waits for its tasks' executors, however late they are.
        let mutex = PriorityMutex(0, graceMicroseconds: 2_000_000_000), leave = Flag(), served = Served()
        let holder = await hold(mutex, until: leave)
        let tasks = await startTasks({ mutex.waitingCount }) { priority in
            try await mutex.suspending.withLock { _ in served.add(priority) }
        }
        leave.raise()
        holder.join()
        for task in tasks { try await task.value }
        #expect(served.inOrder == Self.byPriority)
    }

    @Test func ofTasksThatWaitForAPredicate() async throws {
        let mutex = PriorityMutex(false, graceMicroseconds: 2_000_000_000), served = Served()
        let tasks = await startTasks({ mutex.waitingCount }) { priority in
            try await mutex.suspending.withLock(when: { $0 }) { _ in served.add(priority) }
        }
        mutex.withLock { $0 = true }
        for task in tasks { try await task.value }
        #expect(served.inOrder == Self.byPriority)
    }

    @Test func ofTasksAtAValue() async throws {
        let value = QueueSafeValue(value: 0, graceMicroseconds: 2_000_000_000), leave = Flag(), isHeld = Flag()
        let served = Served()
        let holder = Thread {
            value.wait.highestPriority.set { _ in
                isHeld.raise()
                waitUntil { leave.isRaised }
            }
        }
        await waitUntil { isHeld.isRaised }
        let tasks = await startTasks({ value.waitingCount }) { priority in
            await value.suspending.set { _ in served.add(priority) }
        }
        leave.raise()
        holder.join()
        for task in tasks { try await task.value }
        #expect(served.inOrder == Self.byPriority)
    }

    @Test func ofTasksAtAnAsyncMutex() async throws {
        let mutex = AsyncMutex(0), isHeld = Flag(), door = Door(), served = Served()
        let holder = Task.detached {
            try await mutex.withLock { _ in
                isHeld.raise()
                await door.pass()
            }
        }
        await waitUntil { isHeld.isRaised }
        let tasks = await startTasks({ mutex.waitingCount }) { priority in
            try await mutex.withLock { _ in served.add(priority) }
        }
        door.open()
        for task in [holder] + tasks { try await task.value }
        #expect(served.inOrder == Self.byPriority)
    }

    @Test func ofTasksAtAResourcePool() async throws {
        let pool = ResourcePool(maximum: 1, make: { 1 }), isHeld = Flag(), door = Door(), served = Served()
        let holder = Task.detached {
            try await pool.withResource { _ in
                isHeld.raise()
                await door.pass()
            }
        }
        await waitUntil { isHeld.isRaised }
        let tasks = await startTasks({ pool.waitingCount }) { priority in
            try await pool.withResource { _ in served.add(priority) }
        }
        door.open()
        for task in [holder] + tasks { try await task.value }
        #expect(served.inOrder == Self.byPriority)
    }

    @Test func ofTasksAtASemaphore() async throws {
        let semaphore = PrioritySemaphore(value: 0), served = Served()
        let tasks = await startTasks({ semaphore.waitingCount }) { priority in
            try await semaphore.withPermit { served.add(priority) }
        }
        try semaphore.signal()
        for task in tasks { try await task.value }
        #expect(served.inOrder == Self.byPriority)
    }

    @Test func ofCallersOfAWorkQueue() async throws {
        typealias Wait = @Sendable (WorkQueueBase, @escaping @Sendable () -> Void) async throws -> Void
        let waits: [Wait] = [
            { queue, serve in await queue.run { serve() } },
            { queue, serve in await queue.run(priority: nil) { serve() } },
            { queue, serve in try await queue.run(timeout: .seconds(1000)) { serve() } },
            { queue, serve in
                guard let queue = queue as? ConcurrentWorkQueue else { return await queue.run { serve() } }
                await queue.run(barrier: false) { serve() }
            },
        ]
        for wait in waits {
            for queue in [WorkQueue(name: "serial", priority: .low), ConcurrentWorkQueue(name: "of one", width: 1)] {
                let served = Served()
                queue.suspend()
                let tasks = await startTasks({ queue.waitingCount }) { priority in
                    try await wait(queue) { served.add(priority) }
                }
                queue.resume()
                for task in tasks { try await task.value }
                #expect(served.inOrder == Self.byPriority)
            }
        }
    }

    // MARK: - Which priority it is

    /// How a wait that names no priority ranks in the calling task.
    private static var unnamed: CommandPriority { RequestPriority.ofTask() }

    @Test func aPriorityThatIsNamedCounts() async throws {
        let semaphore = PrioritySemaphore(value: 0), served = Served()
        let named = Task.detached {
            try await withPriority(.highest) {
                try await semaphore.withPermit(priority: .low) { served.add(.low) }
            }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        let unnamed = Task.detached { try await semaphore.withPermit { served.add(.normal) } }
        await waitUntil { semaphore.waitingCount == 2 }
        try semaphore.signal()
        for task in [named, unnamed] { try await task.value }
        #expect(served.inOrder == [.normal, .low])
    }

    @Test func theInnermostCounts() async {
        await withPriority(.high) {
            #expect(Self.unnamed == .high)
            await withPriority(.low) {
                await Task.yield()
                #expect(Self.unnamed == .low)
                blockingWithPriority(.highest) { #expect(Self.unnamed == .highest) }
                #expect(Self.unnamed == .low)
            }
            #expect(Self.unnamed == .high)
        }
    }

    @Test func outsideOfItATaskHasItsOwn() async throws {
        struct Fault: Error {}
        await Task.detached(priority: .high) {
            await #expect(throws: Fault.self) {
                try await withPriority(.lowest) { () async throws(Fault) in throw Fault() }
            }
            #expect(Self.unnamed == CommandPriority(.high))
            #expect(throws: Fault.self) { try blockingWithPriority(.lowest) { throw Fault() } }
            #expect(Self.unnamed == CommandPriority(.high))
        }.value
    }

    @Test func tasksInheritItAndDetachedOnesDoNot() async {
        await withPriority(.low) {
            async let child = Self.unnamed
            #expect(await child == .low)
            #expect(await Task { Self.unnamed }.value == .low)
            #expect(await Task.detached(priority: .medium) { Self.unnamed }.value == .normal)
        }
    }

    @Test func itIsNotThePriorityOfTheTaskAndStaysOnItsActor() async {
        await Task { @MainActor in
            let own = Task.currentPriority
            let result = await withPriority(.highest) {
                MainActor.assertIsolated()
                #expect(Task.currentPriority == own)
                return 7
            }
            #expect(result == 7)
        }.value
    }

    // MARK: - Where it changes nothing

    @Test func whatGoesByArrivalIsNotChanged() async throws {
        let lock = ReadWriteLock(0), leave = Flag(), isHeld = Flag(), written = Served()
        let holder = Thread {
            lock.withWriteLock { _ in
                isHeld.raise()
                waitUntil { leave.isRaised }
            }
        }
        await waitUntil { isHeld.isRaised }
        let writers = await startThreads({ lock.waitingCount }) { priority in
            lock.withWriteLock { _ in written.add(priority) }
        }
        leave.raise()
        (writers + [holder]).forEach { $0.join() }
        #expect(written.inOrder == Self.arrivals)

        let fifo = FIFOQueue(), door = await fifo.stopAtDoor(), begun = Served()
        let tasks = await startTasks({ fifo.waitingCount }) { priority in
            await fifo.enqueueAndWait { begun.add(priority) }
        }
        door.open()
        for task in tasks { try await task.value }
        #expect(begun.inOrder == Self.arrivals)
    }

    @Test func whatIsHandedOverIsNotChanged() async throws {
        let elements = BlockingPriorityQueue<CommandPriority>()
        let queue = WorkQueue(name: "of work"), run = Served()
        queue.suspend()
        for priority in Self.arrivals {
            try await withPriority(priority) {
                try await elements.suspending.push(priority)
                queue.async { run.add(priority) }
                queue.async(inheritingTaskLocals: true) { run.add(priority) }
            }
        }
        queue.resume()
        try await queue.drain()
        #expect(run.inOrder == Self.arrivals.flatMap { [$0, $0] })
        var popped = [CommandPriority]()
        for _ in Self.arrivals { popped.append(try #require(try await elements.suspending.pop())) }
        #expect(popped == Self.arrivals)
    }

    @Test func thoseThatPopGoByArrival() async throws {
        let elements = BlockingPriorityQueue<Int>(), popped = Shared([Int: CommandPriority]())
        let tasks = await startTasks({ elements.waitingCount }) { priority in
            let element = try #require(try await elements.suspending.pop())
            popped.access { $0[element] = priority }
        }
        for number in 0..<tasks.count { try await elements.suspending.push(number) }
        for task in tasks { try await task.value }
        #expect(popped.access { found in (0..<tasks.count).map { found[$0] } } == Self.arrivals)
    }
}
