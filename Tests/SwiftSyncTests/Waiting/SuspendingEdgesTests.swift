import Dispatch
import Testing

@testable import SwiftSync

/// Sections of tasks where they meet something else: the main actor, executors, tasks that begin on their caller's
/// thread, cancellations beside grants, the ends of the clock and of the priorities.
@Suite(.endsInTime)
struct SuspendingEdgesTests {
    private enum Failure: Error { case expected }

    private final class NotSendable { var count = 0 }
    private struct Unique: ~Copyable { var count = 0 }

    /// Every kind of section, as a function that counts up a value of its own.
    private struct Sections: Sendable {
        let mutex: PriorityMutex<Int>, lock: ReadWriteLock<Int>, coordinator: ReadWriteCoordinator
        let asyncMutex = AsyncMutex(0), semaphore = PrioritySemaphore(value: 1)
        let counts = Shared([0, 0])

        init(policy: GatePolicy = .fast) {
            mutex = PriorityMutex(0, policy: policy)
            lock = ReadWriteLock(0)
            coordinator = ReadWriteCoordinator()
        }

        static let all = 0..<5

        func count(_ kind: Int, timeout: TimeLimit = .never) async throws {
            switch kind {
            case 0: try await mutex.suspending.withLock(timeout: timeout) { $0 += 1 }
            case 1: try await lock.suspending.withWriteLock(timeout: timeout) { $0 += 1 }
            case 2:
                try await coordinator.suspending.write(timeout: timeout) { [counts] in counts.access { $0[0] += 1 } }
            case 3: try await asyncMutex.withLock(timeout: timeout) { $0 += 1 }
            default:
                try await semaphore.wait(timeout: timeout)
                counts.access { $0[1] += 1 }
                try semaphore.signal()
            }
        }

        func value(_ kind: Int) async throws -> Int {
            switch kind {
            case 0: mutex.withLock { $0 }
            case 1: lock.withReadLock { $0 }
            case 2: counts.value[0]
            case 3: try await asyncMutex.withLock { $0 }
            default: counts.value[1]
            }
        }

        var waitingCount: Int {
            mutex.waitingCount + lock.waitingCount + coordinator.waitingCount + asyncMutex.waitingCount
                + semaphore.waitingCount
        }
    }

    /// Each task either ran its section or was cancelled, and not both.
    @Test(arguments: Sections.all)
    func ofAGrantATimeoutAndACancellationOneWins(_ kind: Int) async throws {
        let sections = Sections(), entered = Shared(0)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2000 {
                let task = Task.detached {
                    do {
                        let timeout: TimeLimit = number % 3 == 0 ? .microseconds(number % 50) : .never
                        try await sections.count(kind, timeout: timeout)
                        entered.increment()
                    } catch {}
                }
                group.addTask { await task.value }
                if number % 2 == 0 { group.addTask { task.cancel() } }
            }
        }
        #expect(try await sections.value(kind) == entered.value)
        #expect(sections.waitingCount == 0)
        try await sections.count(kind, timeout: .zero)
    }

    /// It begins on the thread of its caller, which is inside of the mutex.
    @Test
    func aTaskThatBeginsInsideOfASectionOfItsThreadWaitsForIt() async throws {
        let mutex = PriorityMutex(0), lock = ReadWriteLock(0)
        let first = mutex.withLock { value in
            value += 1
            return Task.immediate { try await mutex.suspending.withLock { $0 += 1 } }
        }
        try await first.value
        #expect(mutex.withLock { $0 } == 2)
        let second = lock.withWriteLock { value in
            value += 1
            return Task.immediate {
                try await lock.suspending.withWriteLock { $0 += 1 }
                return try await lock.suspending.withReadLock { $0 }
            }
        }
        #expect(try await second.value == 2)
        let tried = mutex.withLock { _ in
            Task.immediate { try await mutex.suspending.withLock(timeout: .zero) { $0 += 1 } }
        }
        await #expect(throws: PriorityMutexError.timedOut) { try await tried.value }
        let reading = lock.withReadLock { _ in
            Task.immediate { try await lock.suspending.withWriteLock(timeout: .zero) { $0 += 1 } }
        }
        await #expect(throws: ReadWriteError.timedOut) { try await reading.value }
    }

    @MainActor
    @Test(arguments: Sections.all)
    func theMainActorGoesOnAfterEachSection(_ kind: Int) async throws {
        let sections = Sections()
        var tasks = [Task<Void, any Error>]()
        for _ in 0..<50 {
            tasks.append(
                Task { @MainActor in
                    try await sections.count(kind)
                    MainActor.assertIsolated()
                })
            tasks.append(Task.detached { try await sections.count(kind) })
        }
        for task in tasks { try await task.value }
        MainActor.assertIsolated()
        #expect(try await sections.value(kind) == 100)
    }

    private actor OnQueue {
        let queue: WorkQueue
        init(_ queue: WorkQueue) { self.queue = queue }
        nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

        func count(_ sections: Sections, _ kind: Int) async throws -> Bool {
            try await sections.count(kind)
            return queue.isCurrent
        }
    }

    @Test(arguments: Sections.all)
    func tasksOfExecutorsOfTheirOwnGoBackToThem(_ kind: Int) async throws {
        let sections = Sections(policy: .strict), queue = WorkQueue(name: "edges")
        let preferred = ConcurrentWorkQueue(name: "preferred", width: 2), actor = OnQueue(queue)
        var tasks = [Task<Bool, any Error>]()
        for _ in 0..<50 {
            tasks.append(
                Task(executorPreference: preferred) {
                    try await sections.count(kind)
                    return true
                })
            tasks.append(Task { try await actor.count(sections, kind) })
        }
        for task in tasks {
            let isBack = try await task.value
            #expect(isBack)
        }
        #expect(try await sections.value(kind) == 100)
    }

    /// What can't be copied or sent goes in and out.
    @Test
    func valuesThatCanNotBeCopiedOrSent() async throws {
        let unique = PriorityMutex(Unique(), policy: .strict), box = PriorityMutex(NotSendable())
        let async = AsyncMutex(NotSendable()), lock = ReadWriteLock(Unique())
        try await unique.suspending.withLock { $0.count += 1 }
        let taken = try await unique.suspending.withLock { value in
            let old = value.count
            value = Unique(count: 7)
            return Unique(count: old)
        }
        #expect(taken.count == 1)
        #expect(try await unique.suspending.withLock(timeout: .until(.now)) { $0.count } == 7)
        try await box.suspending.withLock { $0.count += 1 }
        #expect(try await box.suspending.withLock { $0.count } == 1)
        try await async.withLock { $0.count += 1 }
        #expect(try await async.withLock { $0.count } == 1)
        try await lock.suspending.withWriteLock { $0 = Unique(count: 3) }
        #expect(try await lock.suspending.withReadLock { $0.count } == 3)
    }

    @Test(arguments: Sections.all)
    func theEndsOfTheClock(_ kind: Int) async throws {
        let sections = Sections()
        for far in [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .seconds(292 * 366 * 86400)] {
            try await withDeadline(.now + far) { try await sections.count(kind) }
            try await withDeadline(ContinuousClock.now - far) { try await sections.count(kind) }
            try await withDeadline(SuspendingClock.now + far, clock: .suspending) { try await sections.count(kind) }
            try await withDeadline(SuspendingClock.now - far, clock: .suspending) {
                try await sections.count(kind, timeout: .after(far))
            }
            try await withDeadline(.now + far) { try await sections.count(kind, timeout: .after(.zero - far)) }
        }
        #expect(try await sections.value(kind) == 15)
    }

    @Test
    func prioritiesAtBothEnds() async throws {
        let async = AsyncMutex(()), order: [Int32] = [.min, .min + 1, 0, .max - 1, .max]
        let door = Door(), isInside = Flag(), log = Shared([Int32]())
        let holder = Task {
            try await async.withLock { _ in
                isInside.raise()
                await door.pass()
            }
        }
        await waitUntil { isInside.isRaised }
        var tasks = [Task<Void, any Error>]()
        for (number, priority) in order.enumerated() {
            tasks.append(
                Task {
                    try await async.withLock(priority: CommandPriority(rawValue: priority)) { _ in
                        log.append(priority)
                    }
                })
            await waitUntil { async.waitingCount == number + 1 }
        }
        door.open()
        try await holder.value
        for task in tasks { try await task.value }
        #expect(log.value == order.reversed())
    }

    /// A deadline within another, in child tasks, in groups and in tasks that begin at once.
    @Test
    func nestedDeadlinesOfChildren() async {
        let semaphore = PrioritySemaphore(value: 0)
        @Sendable func timedOut(_ instant: ContinuousClock.Instant) async -> Bool {
            do throws(PrioritySemaphoreError) { try await semaphore.wait() } catch {
                return error == .timedOut && ContinuousClock.now >= instant
            }
            return false
        }
        let outer = ContinuousClock.now + .milliseconds(4), inner = ContinuousClock.now + .milliseconds(2)
        let all = await withDeadline(outer) {
            async let child = withDeadline(inner) { await timedOut(inner) }
            async let far = withDeadline(.now + .seconds(3600)) { await timedOut(outer) }
            let immediate = Task.immediate { await timedOut(outer) }
            let group = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<4 {
                    group.addTask {
                        let instant = number % 2 == 0 ? inner : outer
                        return await withDeadline(instant) { await timedOut(instant) }
                    }
                }
                return await group.reduce(true) { $0 && $1 }
            }
            return await [child, far, immediate.value, group]
        }
        #expect(all == [true, true, true, true])
        #expect(semaphore.waitingCount == 0)
    }
}
