import Testing

@testable import SwiftSync

/// Work of different priorities that calls another actor: it gets there in the order of the queue.
@Suite(.endsInTime)
struct ActorQueuePriorityTests {
    private actor Counter {
        private(set) var count = 0

        func increment() { count += 1 }
    }

    private static let priorities: [TaskPriority] = [.background, .low, .medium, .high]

    /// Work that the caller waits for passed what had been enqueued before it, at an actor that both call.
    private func waitBehindWhatWasEnqueued<ActorType: Actor>(_ queue: ActorQueue<ActorType>) async {
        for priority in Self.priorities {
            let task = Task.detached(priority: priority) {
                let counter = Counter()
                var seen = [Int]()
                for _ in 0..<30 {
                    for _ in 0..<25 { queue.enqueue { _ in await counter.increment() } }
                    seen.append(await queue.enqueueAndWait { _ in await counter.count })
                }
                return seen
            }
            #expect(await task.value == Array(stride(from: 25, through: 750, by: 25)), "\(priority)")
        }
    }

    @Test func workThatTheCallerWaitsForIsNotAheadAtAnActorThatItCalls() async {
        await waitBehindWhatWasEnqueued(MainActorQueue(name: "screen"))
        let ledger = Ledger()
        await waitBehindWhatWasEnqueued(ledger.queue)
    }

    /// An executor that runs nothing before it is told to, and then what has the highest priority first, as Swift's
    /// actors do.
    private final class Line: SerialExecutor {
        private let jobs = Shared([UnownedJob]()), isOpen = Shared(false)

        var priorities: [UInt8] { jobs.access { jobs in jobs.map(\.priority.rawValue) } }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            if isOpen.value { return job.runSynchronously(on: asUnownedSerialExecutor()) }
            jobs.append(job)
        }

        /// Runs all jobs. What comes later is run by who brings it.
        func open() {
            isOpen.access { $0 = true }
            let waiting = jobs.access { jobs in jobs.sorted { $0.priority.rawValue > $1.priority.rawValue } }
            waiting.forEach { $0.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    private actor Arrivals {
        nonisolated let line = Line()
        nonisolated var unownedExecutor: UnownedSerialExecutor { line.asUnownedSerialExecutor() }
        private(set) var numbers = [Int]()

        func add(_ number: Int) { numbers.append(number) }
    }

    @Test func workArrivesAtAnotherActorInOrderWhateverThePrioritiesOfItsTasks() async throws {
        for named in [TaskPriority?.none, .low, .high] {
            let queue = ActorQueue<Ledger>(name: "of work", priority: named), ledger = Ledger(queue: queue)
            let arrivals = Arrivals()
            var random = Seeded(7), tasks = [Task<Void, any Error>]()
            for number in 0..<60 {
                let priority = anyPriority(&random)
                switch number % 4 {
                case 0: queue.enqueue { _ in await arrivals.add(number) }
                case 1: queue.enqueue(inheritingTaskLocals: true) { _ in await arrivals.add(number) }
                case 2: tasks.append(Task(priority: priority, on: queue) { _ in await arrivals.add(number) })
                default:
                    tasks.append(
                        Task.immediate(priority: priority) { () async throws -> Void in
                            try await queue.enqueueAndWait { _ async throws -> Void in await arrivals.add(number) }
                        })
                }
            }
            await waitUntil { arrivals.line.priorities.count == 60 }
            let found = arrivals.line.priorities
            #expect(found == found.sorted(by: >), "no job has a higher priority than one before it")
            #expect(found.min()! >= (named ?? .medium).rawValue)
            arrivals.line.open()
            for task in tasks { try await task.value }
            try await queue.drain()
            #expect(await arrivals.numbers == Array(0..<60))
            _ = ledger
        }
    }

    /// Submits work that is suspended until the door is opened, and waits until it has begun.
    private func suspendWork(of ledger: Ledger) async -> Door {
        let door = Door()
        ledger.queue.enqueue { _ in await door.pass() }
        await ledger.queue.enqueueAndWait { _ in }
        return door
    }

    /// The priorities of work and of the code that follows it, in a task of that priority.
    private func found(at priority: TaskPriority, _ queue: ActorQueue<Ledger>) async -> [TaskPriority] {
        await Task.detached(priority: priority) {
            var found = await queue.enqueueAndWait { _ in
                let first = Task.currentPriority
                await Task.yield()
                return [first, Task.currentPriority]
            }
            found.append(Task.currentPriority)
            return found
        }.value
    }

    @Test func aTaskKeepsItsHigherPriorityUnlessEarlierWorkIsSuspended() async throws {
        let ledger = Ledger()
        #expect(await found(at: .high, ledger.queue) == [.high, .high, .high])
        let door = await suspendWork(of: ledger)
        #expect(await found(at: .high, ledger.queue) == [.medium, .medium, .high])
        door.open()
        try await ledger.queue.drain()
        #expect(await found(at: .high, ledger.queue) == [.high, .high, .high])
    }

    @Test func workHasThePriorityOfItsQueueWhereThatIsHigher() async {
        let ledger = Ledger(queue: ActorQueue(priority: .high))
        let low = Task.detached(priority: .low) {
            await ledger.queue.enqueueAndWait { _ in Task.currentPriority }
        }
        // Its value would raise the task.
        let found = Shared([TaskPriority]())
        Task.detached(priority: .low) { found.append(await low.value) }
        await waitUntil { found.value.count == 1 }
        #expect(found.value == [.high])
    }

    // MARK: - A part of another priority

    private enum Request {
        @TaskLocal static var name = "none"
    }

    /// Runs `work` behind work that is suspended, in a task of a higher priority.
    private func asAPart<T: Sendable>(
        _ body: @escaping @Sendable (ActorQueue<Ledger>) async throws -> T
    ) async throws -> T {
        let ledger = Ledger(), door = await suspendWork(of: ledger)
        defer { door.open() }
        return try await Task.detached(name: "of the caller", priority: .high) { try await body(ledger.queue) }.value
    }

    @Test func aPartHasTheTaskLocalsTheNameAndTheActorOfItsTask() async throws {
        let seen = try await asAPart { queue in
            await Request.$name.withValue("seven") {
                await queue.enqueueAndWait { ledger in
                    ledger.assertIsolated()
                    return [Request.name, Task.name, "\(Task.currentPriority == .medium)"]
                }
            }
        }
        #expect(seen == ["seven", "of the caller", "true"])
    }

    @Test func aPartThrowsWhatItsWorkThrows() async {
        struct Fault: Error {}
        await #expect(throws: Fault.self) {
            try await asAPart { queue in
                try await queue.enqueueAndWait { _ in
                    await Task.yield()
                    throw Fault()
                }
            }
        }
    }

    @Test func aPartIsCancelledWithItsTask() async throws {
        let ledger = Ledger(), door = await suspendWork(of: ledger), began = Flag()
        let task = Task.detached(priority: .high) {
            await ledger.queue.enqueueAndWait { _ in
                let before = Task.isCancelled
                began.raise()
                try? await Task.sleep(for: .seconds(1000))
                return [before, Task.isCancelled]
            }
        }
        await waitUntil { began.isRaised }
        task.cancel()
        #expect(await task.value == [false, true])
        let cancelled = Task.detached(priority: .high) {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await ledger.queue.enqueueAndWait { _ in Task.isCancelled }
        }
        #expect(await cancelled.value)
        door.open()
    }

    /// It sees that before it suspends for the first time. Whoever cancels it needs no thread of tasks.
    @Test func aPartIsCancelledWhileItRunsWhereItWasStarted() async throws {
        let ledger = Ledger(), door = await suspendWork(of: ledger), began = Flag()
        let task = Task.detached(priority: .high) {
            await ledger.queue.enqueueAndWait { _ in
                began.raise()
                waitUntil { Task.isCancelled }
            }
        }
        let canceller = Thread {
            waitUntil { began.isRaised }
            task.cancel()
        }
        await task.value
        canceller.join()
        door.open()
    }

    @Test func aPartThatWouldWaitForItsTaskIsToldSo() async throws {
        let mutex = AsyncMutex(0)
        let isTold = try await asAPart { queue in
            try await mutex.withLock { _ in
                await queue.enqueueAndWait { _ in
                    do {
                        try await mutex.withLock { _ in }
                        return false
                    } catch { return (error as? AsyncMutexError) == .wouldDeadlock }
                }
            }
        }
        #expect(isTold)
    }
}

/// The rule itself, without a task.
@Suite
struct OrderedPrioritiesTests {
    private let least = TaskPriority.medium

    @Test func aLoneTaskHasItsOwnPriorityAndNoLessThanTheQueues() {
        let priorities = OrderedPriorities(least: least)
        #expect(priorities.next(.high) == .high)
        #expect(priorities.next(.medium) == .medium)
        #expect(priorities.next(.low) == .medium)
    }

    @Test func theLowestThatRunsIsTheLimitUntilAllHaveEnded() {
        let middle = TaskPriority(rawValue: 23)
        var priorities = OrderedPriorities(least: least)
        priorities.begin(at: priorities.next(.high))
        #expect(priorities.next(.high) == .high)
        priorities.begin(at: priorities.next(middle))
        #expect(priorities.next(.high) == middle)
        priorities.begin(at: priorities.next(.high))
        priorities.begin(at: priorities.next(.low))
        #expect(priorities.next(.high) == .medium)
        for _ in 0..<3 {
            priorities.end()
            #expect(priorities.next(.high) == .medium)
        }
        priorities.end()
        #expect(priorities.next(.high) == .high)
    }

    @Test func prioritiesOfWorkThatRunsNeverRise() {
        var random = Seeded(3)
        for _ in 0..<100 {
            var priorities = OrderedPriorities(least: anyPriority(&random)), running = [TaskPriority]()
            for _ in 0..<40 {
                if !running.isEmpty, Bool.random(using: &random) {
                    running.remove(at: Int.random(in: 0..<running.count, using: &random))
                    priorities.end()
                } else {
                    let next = priorities.next(anyPriority(&random))
                    priorities.begin(at: next)
                    running.append(next)
                }
                #expect(running == running.sorted(by: >))
                #expect(running.allSatisfy { $0 >= priorities.least })
            }
        }
    }
}
