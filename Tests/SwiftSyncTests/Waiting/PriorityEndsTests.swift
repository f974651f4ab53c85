import Testing

@testable import SwiftSync

/// Priorities at both ends of `Int32` keep their order wherever one waits by priority.
@Suite(.endsInTime)
struct PriorityEndsTests {
    private static let arrivals: [Int32] = [0, .min, .max, .min + 1, .max - 1]
    private static let order: [Int32] = [.max, .max - 1, 0, .min + 1, .min]

    private final class Served: Sendable {
        private let priorities = Shared([Int32]())

        var inOrder: [Int32] { priorities.value }
        func add(_ priority: CommandPriority) { priorities.append(priority.rawValue) }
    }

    /// Starts a task for each priority, which waits before the next one comes.
    private func start(
        _ waiting: @escaping () -> Int, _ wait: @escaping @Sendable (CommandPriority) async throws -> Void
    ) async -> [Task<Void, any Error>] {
        var tasks = [Task<Void, any Error>]()
        for priority in Self.arrivals {
            let before = waiting()
            tasks.append(Task.detached { try await wait(CommandPriority(rawValue: priority)) })
            await waitUntil { waiting() == before + 1 }
        }
        return tasks
    }

    @Test func ofASemaphoreForTasks() async throws {
        let semaphore = PrioritySemaphore(value: 0), served = Served()
        let tasks = await start({ semaphore.waitingCount }) { priority in
            try await semaphore.withPermit(priority: priority) { served.add(priority) }
        }
        try semaphore.signal()
        for task in tasks { try await task.value }
        #expect(served.inOrder == Self.order)
    }

    @Test func ofASemaphoreForThreads() async throws {
        let semaphore = PrioritySemaphore(value: 0), served = Served()
        var threads = [Thread]()
        for priority in Self.arrivals.map(CommandPriority.init(rawValue:)) {
            let before = semaphore.waitingCount
            threads.append(Thread { try? semaphore.blockingWithPermit(priority: priority) { served.add(priority) } })
            await waitUntil { semaphore.waitingCount == before + 1 }
        }
        try semaphore.signal()
        threads.forEach { $0.join() }
        #expect(served.inOrder == Self.order)
    }

    @Test func ofAnAsyncMutex() async throws {
        let mutex = AsyncMutex(0), entered = Flag(), leave = Door(), served = Served()
        let holder = Task.detached {
            try await mutex.withLock { _ in
                entered.raise()
                await leave.pass()
            }
        }
        await waitUntil { entered.isRaised }
        let tasks = await start({ mutex.waitingCount }) { priority in
            try await mutex.withLock(priority: priority) { _ in served.add(priority) }
        }
        leave.open()
        for task in [holder] + tasks { try await task.value }
        #expect(served.inOrder == Self.order)
    }

    @Test func ofTasksAtAPriorityMutex() async throws {
        // It waits for its tasks' executors, however late they are.
        let mutex = PriorityMutex(0, graceMicroseconds: 2_000_000_000), leave = Flag(), served = Served()
        let isHeld = Flag()
        let holder = Thread {
            mutex.withLock { _ in
                isHeld.raise()
                waitUntil { leave.isRaised }
            }
        }
        await waitUntil { isHeld.isRaised }
        let tasks = await start({ mutex.waitingCount }) { priority in
            try await mutex.suspending.withLock(priority: priority) { _ in served.add(priority) }
        }
        leave.raise()
        holder.join()
        for task in tasks { try await task.value }
        #expect(served.inOrder == Self.order)
    }

    @Test func ofThoseThatWaitForAPredicate() async throws {
        let mutex = PriorityMutex(false, graceMicroseconds: 2_000_000_000), served = Served()
        let tasks = await start({ mutex.waitingCount }) { priority in
            try await mutex.suspending.withLock(when: { $0 }, priority: priority) { _ in served.add(priority) }
        }
        mutex.withLock { $0 = true }
        for task in tasks { try await task.value }
        #expect(served.inOrder == Self.order)
    }

    @Test func ofElementsThatTasksPush() async throws {
        let queue = BlockingPriorityQueue<Int32>()
        for priority in Self.arrivals {
            try await queue.suspending.push(priority, priority: CommandPriority(rawValue: priority))
        }
        var popped = [Int32]()
        for _ in Self.arrivals { popped.append(try #require(try await queue.suspending.pop())) }
        #expect(popped == Self.order)
    }
}
