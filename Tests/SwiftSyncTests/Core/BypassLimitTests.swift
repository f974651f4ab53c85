import Dispatch
import Testing

@testable import SwiftSync

/// Nobody whose call names no priority waits for ever behind a stream of others.
@Suite(.endsInTime)
struct BypassLimitTests {
    /// What ranks its waiters.
    enum Object: String, CaseIterable, CustomTestStringConvertible {
        case asyncMutex, semaphore, semaphoreOfThreads, pool, mutex, mutexOfThreads, value
        case workQueue, workQueueOfThreads, concurrentWorkQueue

        var testDescription: String { rawValue }
    }

    /// How one waits for the object's one place and leaves it at once, and how many wait.
    private struct Place: Sendable {
        let wait: @Sendable (CommandPriority?, @escaping @Sendable () -> Void) async throws -> Void
        let waiting: @Sendable () -> Int
        let hold: @Sendable (Flag, Door) async throws -> Void
    }

    private static func place(_ object: Object, _ limit: UInt32?) -> Place {
        @Sendable func stay(_ entered: Flag, _ leave: Door) async {
            entered.raise()
            await leave.pass()
        }
        switch object {
        case .asyncMutex:
            let mutex = AsyncMutex(0, bypassLimit: limit)
            return Place(
                wait: { priority, served in try await mutex.withLock(priority: priority) { _ in served() } },
                waiting: { mutex.waitingCount },
                hold: { entered, leave in try await mutex.withLock { _ in await stay(entered, leave) } })
        case .semaphore:
            let semaphore = PrioritySemaphore(value: 1, bypassLimit: limit)
            return Place(
                wait: { priority, served in try await semaphore.withPermit(priority: priority) { served() } },
                waiting: { semaphore.waitingCount },
                hold: { entered, leave in try await semaphore.withPermit { await stay(entered, leave) } })
        case .semaphoreOfThreads:
            let semaphore = PrioritySemaphore(value: 1, bypassLimit: limit)
            return Place(
                wait: { priority, served in
                    // Those that name none are threads.
                    guard priority == nil else {
                        return try await semaphore.withPermit(priority: priority) { served() }
                    }
                    await onAThread { try? semaphore.blockingWithPermit { served() } }
                },
                waiting: { semaphore.waitingCount },
                hold: { entered, leave in try await semaphore.withPermit { await stay(entered, leave) } })
        case .pool:
            let pool = ResourcePool<Int>(maximum: 1, bypassLimit: limit) { 1 }
            return Place(
                wait: { priority, served in try await pool.withResource(priority: priority) { _ in served() } },
                waiting: { pool.waitingCount },
                hold: { entered, leave in try await pool.withResource { _ in await stay(entered, leave) } })
        case .mutex:
            return mutex(limit) { mutex, priority, served in
                try await mutex.suspending.withLock(priority: priority) { _ in served() }
            }
        case .mutexOfThreads:
            return mutex(limit) { mutex, priority, served in
                // Those that name none are threads.
                guard priority == nil else {
                    return try await mutex.suspending.withLock(priority: priority) { _ in served() }
                }
                await onAThread { mutex.withLock { _ in served() } }
            }
        case .value: return value(limit)
        case .workQueue: return workQueue(limit, ofThreads: false)
        case .workQueueOfThreads: return workQueue(limit, ofThreads: true)
        case .concurrentWorkQueue:
            let queue = ConcurrentWorkQueue(width: 1, bypassLimit: limit)
            return place(queue) { priority, served in
                try await queue.run(priority: priority, timeout: .seconds(3600), served)
            }
        }
    }

    private static func workQueue(_ limit: UInt32?, ofThreads: Bool) -> Place {
        let queue = WorkQueue(bypassLimit: limit)
        return place(queue) { priority, served in
            guard ofThreads, priority == nil else { return await queue.run(priority: priority, served) }
            await onAThread { queue.sync(served) }
        }
    }

    private static func mutex(
        _ limit: UInt32?,
        _ wait:
            @escaping @Sendable (PriorityMutex<Int>, CommandPriority?, @escaping @Sendable () -> Void) async throws
            -> Void
    ) -> Place {
        let mutex = PriorityMutex(0, graceMicroseconds: grace, bypassLimit: limit)
        return Place(
            wait: { try await wait(mutex, $0, $1) }, waiting: { mutex.waitingCount },
            hold: { entered, leave in await onAThread { mutex.withLock { _ in stayBlocked(entered, leave) } } })
    }

    private static func value(_ limit: UInt32?) -> Place {
        let value = QueueSafeValue(value: 0, graceMicroseconds: grace, bypassLimit: limit)
        return Place(
            wait: { priority, served in
                let commands = priority.map { value.suspending.priority($0) } ?? value.suspending
                await commands.set { _ in served() }
            },
            waiting: { value.waitingCount },
            hold: { entered, leave in
                await onAThread { value.wait.lowestPriority.set { _ in stayBlocked(entered, leave) } }
            })
    }

    /// So that no queue or executor is passed over on a busy machine.
    private static let grace: UInt32 = 2_000_000_000

    /// The section of a thread, for as long as the door is closed.
    private static func stayBlocked(_ entered: Flag, _ leave: Door) {
        let mayLeave = DispatchSemaphore(value: 0)
        entered.raise()
        Task {
            await leave.pass()
            mayLeave.signal()
        }
        mayLeave.wait()
    }

    private static func onAThread(_ body: @escaping @Sendable () -> Void) async {
        let hasEnded = Flag()
        let thread = Thread {
            body()
            hasEnded.raise()
        }
        await waitUntil { hasEnded.isRaised }
        thread.join()
    }

    /// Nobody holds the place of a queue that is suspended.
    private static func place(
        _ queue: WorkQueueBase,
        _ wait: @escaping @Sendable (CommandPriority?, @escaping @Sendable () -> Void) async throws -> Void
    ) -> Place {
        Place(
            wait: wait, waiting: { queue.waitingCount },
            hold: { entered, leave in
                queue.suspend()
                entered.raise()
                await leave.pass()
                queue.resume()
            })
    }

    /// How many of 80 urgent ones, which all come after it, go before one whose call names `priority`.
    private func passes(_ object: Object, limit: UInt32?, naming priority: CommandPriority?) async throws -> Int {
        let place = Self.place(object, limit), entered = Flag(), leave = Door(), order = Shared([String]())
        let holder = Task { try await place.hold(entered, leave) }
        await waitUntil { entered.isRaised }
        var tasks = [Task { try await place.wait(priority) { order.append("low") } }]
        await waitUntil { place.waiting() == 1 }
        for number in 1...80 {
            tasks.append(Task { try await place.wait(.highest) { order.append("urgent") } })
            await waitUntil { place.waiting() == number + 1 }
        }
        leave.open()
        try await holder.value
        for task in tasks { try await task.value }
        return try #require(order.value.firstIndex(of: "low"))
    }

    @Test(arguments: Object.allCases)
    func whoNamesNoPriorityIsOvertaken64Times(object: Object) async throws {
        #expect(try await passes(object, limit: nil, naming: nil) == 64)
    }

    @Test(arguments: Object.allCases)
    func whoNamesOneWaitsInStrictOrder(object: Object) async throws {
        #expect(try await passes(object, limit: nil, naming: .low) == 80)
    }

    @Test(arguments: Object.allCases)
    func aLimitIsForAllAndZeroIsStrict(object: Object) async throws {
        #expect(try await passes(object, limit: 3, naming: .low) == 3)
        #expect(try await passes(object, limit: 3, naming: nil) == 3)
        #expect(try await passes(object, limit: 0, naming: nil) == 80)
    }

    /// What `withPriority` says is not named by the call.
    @Test
    func aRequestsPriorityCountsAsNotNamed() async throws {
        let low = try await withPriority(.low) { try await passes(.asyncMutex, limit: nil, naming: nil) }
        #expect(low == 64)
    }

    /// Of what is queued without a wait, a limit counts all; by default none of it is counted.
    @Test
    func aLimitOfAWorkQueueIsForAllWork() async throws {
        #expect(try await passesOfWork(limit: 3) { queue, served in queue.async(served) } == 3)
        #expect(try await passesOfWork(limit: 3) { queue, served in queue.async(priority: .low, served) } == 3)
        #expect(
            try await passesOfWork(limit: 3) { queue, served in queue.async(tag: "low", priority: .low, served) } == 3)
        #expect(try await passesOfWork(limit: 3) { queue, served in queue.async(after: .zero, served) } == 3)
        #expect(
            try await passesOfWork(limit: 3) { queue, served in
                queue.async(inheritingTaskLocals: true, priority: .low, served)
            } == 3)
        #expect(
            try await passesOfWork(limit: 3) { queue, served in
                Task(executorPreference: queue, priority: .low) { served() }
            } == 3)
        #expect(try await passesOfWork(limit: nil) { queue, served in queue.async(served) } == 80)
        #expect(try await passesOfWork(limit: 0) { queue, served in queue.async(served) } == 80)
    }

    /// The same with a recorder, and where the work waits for room first.
    @Test
    func aLimitCountsRecordedWorkAndWhatWaitedForRoom() async throws {
        let recorder = EventRecorder(name: "limited")
        #expect(
            try await passesOfWork(limit: 3, recorder) { queue, served in queue.async(priority: .low, served) } == 3)
        #expect(
            try await passesOfWork(limit: 3, recorder) { queue, served in
                queue.recorder = nil
                queue.async(priority: .low, served)
            } == 3)
        let queue = ConcurrentWorkQueue(width: 1, capacity: 1, whenFull: .wait, bypassLimit: 2)
        let order = Shared([String]()), gone = Flag()
        queue.suspend()
        queue.async { order.append("first") }
        let low = Task { try await queue.asyncWaitingForRoom(priority: .low) { order.append("low") } }
        let late = Task { try await queue.asyncWaitingForRoom(timeout: .zero) { order.append("late") } }
        await #expect(throws: WorkQueueError.timedOut) { try await late.value }
        let cancelled = Task {
            defer { gone.raise() }
            try await queue.asyncWaitingForRoom { order.append("cancelled") }
        }
        cancelled.cancel()
        await waitUntil { gone.isRaised }
        await #expect(throws: WorkQueueError.cancelled) { try await cancelled.value }
        queue.resume()
        try await low.value
        try await queue.drain()
        #expect(order.value == ["first", "low"])
        queue.shutdown()
        #expect(!queue.async { order.append("refused") })
        await #expect(throws: WorkQueueError.shutDown) { try await queue.asyncWaitingForRoom {} }
    }

    /// How many of 80 urgent ones go before a work that `queueing` has queued before them.
    private func passesOfWork(
        limit: UInt32?, _ recorder: EventRecorder? = nil,
        _ queueing: (WorkQueue, @escaping @Sendable () -> Void) -> Void
    ) async throws -> Int {
        let queue = WorkQueue(bypassLimit: limit, recorder: recorder), order = Shared([String]())
        queue.suspend()
        queueing(queue) { order.append("low") }
        await waitUntil { queue.waitingCount == 1 }
        for _ in 1...80 { queue.async(priority: .highest) { order.append("urgent") } }
        queue.resume()
        try await queue.drain()
        return try #require(order.value.firstIndex(of: "low"))
    }

    /// Four loops of urgent work, each of which always waits, don't keep a task from its turn that names no priority.
    /// Those that came before it begin first, and don't count.
    @Test(arguments: [WorkQueue(), ConcurrentWorkQueue(width: 1)])
    func aTaskHasItsTurnAmongLoopsOfUrgentWork(queue: WorkQueueBase) async throws {
        let begun = Shared(0), isServed = Flag()
        @Sendable func comeAgain() {
            begun.access { $0 += 1 }
            if !isServed.isRaised { queue.async(priority: .highest, comeAgain) }
        }
        for _ in 0..<4 { queue.async(priority: .highest, comeAgain) }
        await waitUntil { begun.value > 100 }
        queue.suspend()
        await waitUntil { queue.runningCount == 0 }
        let task = Task {
            await queue.run {
                isServed.raise()
                return begun.value
            }
        }
        await waitUntil { queue.waitingCount == 5 }
        let before = begun.value
        queue.resume()
        #expect(await task.value - before == 4 + 64)
        try await queue.drain()
    }

    /// Of two that were overtaken too often the older one may not have the reserve. It does not hide the other.
    @Test
    func whoMayHaveTheReserveIsNotHiddenBehindWhoMayNot() async throws {
        let pool = ResourcePool<Int>(maximum: 2, reserved: 1, bypassLimit: 2) { 1 }
        let leave = [Door(), Door()], inside = Shared(0), order = Shared([String]())
        let holders = zip(leave, [CommandPriority.low, .high]).map { leave, priority in
            Task {
                try await pool.withResource(priority: priority) { _ in
                    inside.access { $0 += 1 }
                    await leave.pass()
                }
            }
        }
        await waitUntil { inside.value == 2 }
        var tasks = [Task<Void, any Error>]()
        let requests: [(CommandPriority, String)] =
            [(.low, "low"), (.high, "high")] + (0..<5).map { _ in (.highest, "highest") }
        for (priority, name) in requests {
            tasks.append(Task { try await pool.withResource(priority: priority) { _ in order.append(name) } })
            await waitUntil { pool.waitingCount == tasks.count }
        }
        leave[1].open()
        await waitUntil { order.value.count == 6 }
        #expect(order.value.firstIndex(of: "high") == 2)
        leave[0].open()
        for task in holders + tasks { try await task.value }
        #expect(order.value.last == "low")
    }

    /// An urgent request that need not wait passes those that may not have the reserve, and counts as others do. What
    /// the oldest may not have is not kept for it.
    @Test
    func theReserveIsNotKeptForWhoMayNotHaveIt() async throws {
        let pool = ResourcePool<Int>(maximum: 2, reserved: 1, bypassLimit: 2) { 1 }
        let entered = Flag(), leave = Door(), isServed = Flag()
        let holder = Task {
            try await pool.withResource(priority: .low) { _ in
                entered.raise()
                await leave.pass()
            }
        }
        await waitUntil { entered.isRaised }
        let low = Task { try await pool.withResource(priority: .low) { _ in isServed.raise() } }
        await waitUntil { pool.waitingCount == 1 }
        for _ in 0..<5 { try await pool.withResource(priority: .high) { _ in #expect(!isServed.isRaised) } }
        leave.open()
        for task in [holder, low] { try await task.value }
        #expect(isServed.isRaised)
    }
}
