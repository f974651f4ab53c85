import Testing

@testable import SwiftSync

/// Pushes and pops for which tasks wait: one order with threads, cancellation, deadlines, closing.
@Suite(.endsInTime)
struct BlockingPriorityQueueTaskTests {
    /// Starts a task, and returns once it waits in the queue.
    private func start<Element, Result: Sendable>(
        at queue: BlockingPriorityQueue<Element>, _ body: @escaping @Sendable () async -> Result
    ) async -> Task<Result, Never> {
        let waiting = queue.waitingCount
        let task = Task { await body() }
        await waitUntil { queue.waitingCount == waiting + 1 }
        return task
    }

    private func full(_ element: Int = 0) -> BlockingPriorityQueue<Int> {
        let queue = BlockingPriorityQueue<Int>(capacity: 1)
        #expect(queue.tryPush(element))
        return queue
    }

    /// What the call throws, or nil.
    private func error(
        isolation: isolated (any Actor)? = #isolation, of call: () async throws(BlockingPriorityQueueError) -> Void
    ) async -> BlockingPriorityQueueError? {
        do { try await call() } catch { return error }
        return nil
    }

    // MARK: - Order

    @Test
    func whatIsThereIsHadAtOnceAndInOrder() async throws {
        let queue = BlockingPriorityQueue<String>(capacity: 4)
        try await queue.suspending.push("normal")
        try await queue.suspending.push("low", priority: .low, timeout: .zero)
        try await queue.suspending.push("high", priority: .high, timeout: .until(.now + .seconds(50)))
        try await queue.suspending.push(
            "highest", priority: .highest, timeout: .until(SuspendingClock.now + .seconds(50)))
        #expect(queue.count == 4)
        #expect(try await queue.suspending.pop() == "highest")
        #expect(try await queue.suspending.pop(timeout: .zero) == "high")
        #expect(try await queue.suspending.pop(timeout: .until(.now)) == "normal")
        #expect(try await queue.suspending.pop(timeout: .until(SuspendingClock.now)) == "low")
    }

    @Test
    func tasksAndThreadsAreServedInTheOrderTheyCame() async {
        let queue = BlockingPriorityQueue<Int>(), served = Shared<[Int: Int]>([:])
        var tasks = [Task<Void, Never>](), threads = [Thread]()
        for index in 0..<3 {
            tasks.append(
                await start(at: queue) {
                    if let element = try? await queue.suspending.pop() { served.access { $0[2 * index] = element } }
                })
            threads.append(
                Thread { if let element = queue.pop() { served.access { $0[2 * index + 1] = element } } })
            await waitUntil { queue.waitingCount == 2 * index + 2 }
        }
        for element in 0..<6 {
            #expect(queue.tryPush(element, priority: CommandPriority(rawValue: Int32(element % 2))))
            await waitUntil { served.value[element] == element }
        }
        for task in tasks { await task.value }
        threads.forEach { $0.join() }
        #expect(queue.count == 0)
    }

    @Test
    func tasksAndThreadsGetRoomInTheOrderTheyCame() async {
        let queue = full(-1)
        var tasks = [Task<Void, Never>](), threads = [Thread]()
        for index in 0..<3 {
            // The priority orders elements, and not those who wait for room.
            tasks.append(
                await start(at: queue) {
                    try? await queue.suspending.push(2 * index, priority: index == 2 ? .high : .low)
                })
            threads.append(Thread { queue.push(2 * index + 1) })
            await waitUntil { queue.waitingCount == 2 * index + 2 }
        }
        for element in -1..<6 {
            await waitUntil { queue.count == 1 }
            #expect(queue.tryPop() == element)
        }
        for task in tasks { await task.value }
        threads.forEach { $0.join() }
        #expect(queue.count == 0)
    }

    @Test
    func elementsOfTasksAndThreadsComeOutInOneOrder() async throws {
        let queue = BlockingPriorityQueue<String>()
        for (name, priority) in [("low", CommandPriority.low), ("high", .high), ("normal", .normal)] {
            try await queue.suspending.push("task, \(name)", priority: priority)
            #expect(queue.tryPush("thread, \(name)", priority: priority))
        }
        let expected = ["high", "normal", "low"].flatMap { ["task, \($0)", "thread, \($0)"] }
        for element in expected { #expect(try await queue.suspending.pop() == element) }
    }

    @Test
    func anElementThatWaitedForRoomHasItsPriority() async throws {
        let queue = BlockingPriorityQueue<Int>(capacity: 2)
        #expect(queue.tryPush(1) && queue.tryPush(2))
        let task = await start(at: queue) { try? await queue.suspending.push(3, priority: .high) }
        #expect(queue.tryPop() == 1)
        await task.value
        #expect(queue.takeAll() == [3, 2])
    }

    @Test
    func drainingAdmitsTasksThatWaitForRoom() async {
        let queue = full(1)
        let task = await start(at: queue) { try? await queue.suspending.push(2) }
        #expect(queue.takeAll() == [1])
        await task.value
        #expect(queue.takeAll() == [2])
    }

    /// Without `await`, as before there was a form that suspends.
    @Test
    func theFormsThatBlockAreTheOnesThatAsyncCodeFinds() async throws {
        let queue = BlockingPriorityQueue<Int>()
        try queue.push(1, timeout: .zero)
        #expect(try queue.pop(timeout: .zero) == 1)
    }

    @Test @MainActor
    func aTaskGoesOnInItsCallersIsolation() async throws {
        let queue = BlockingPriorityQueue<Int>()
        let consumer = Task { @MainActor in
            let element = try await queue.suspending.pop()
            MainActor.preconditionIsolated()
            return element
        }
        await waitUntil { queue.waitingCount == 1 }
        #expect(queue.tryPush(1))
        #expect(try await consumer.value == 1)
    }

    // MARK: - Giving up

    @Test
    func aCancelledTaskLeavesTheLineAndTheOneBehindItIsNext() async {
        let queue = BlockingPriorityQueue<Int>()
        let first = await start(at: queue) {
            await error { () async throws(BlockingPriorityQueueError) in
                _ = try await queue.suspending.pop()
            }
        }
        let second = await start(at: queue) { try? await queue.suspending.pop() }
        first.cancel()
        #expect(await first.value == .cancelled)
        #expect(queue.waitingCount == 1)
        #expect(queue.tryPush(1))
        #expect(await second.value == 1)
    }

    @Test
    func aPushThatIsCancelledPutsNothingIn() async {
        let queue = full(0)
        let first = await start(at: queue) {
            await error { () async throws(BlockingPriorityQueueError) in
                try await queue.suspending.push(1)
            }
        }
        let second = await start(at: queue) { try? await queue.suspending.push(2) }
        first.cancel()
        #expect(await first.value == .cancelled)
        #expect(queue.tryPop() == 0)
        await second.value
        #expect(queue.takeAll() == [2])
    }

    @Test
    func aTaskThatIsCancelledAlreadyPushesAndPopsNothing() async {
        let queue = BlockingPriorityQueue<Int>()
        #expect(queue.tryPush(1))
        let task = Task {
            await waitUntil { Task.isCancelled }
            await #expect(throws: BlockingPriorityQueueError.cancelled) { try await queue.suspending.push(2) }
            await #expect(throws: BlockingPriorityQueueError.cancelled) { try await queue.suspending.pop() }
            await #expect(throws: BlockingPriorityQueueError.cancelled) {
                try await queue.suspending.pop(timeout: .zero)
            }
        }
        task.cancel()
        await task.value
        #expect(queue.takeAll() == [1])
    }

    @Test(arguments: ["TaskWait: queues", "TaskWait: is queued"])
    func aTaskThatIsCancelledJustBeforeItQueuesTakesNothing(step: String) async {
        let queue = BlockingPriorityQueue<Int>(), pause = StepPause(step)
        let task = Task(executorPreference: OwnThreads.shared) {
            await pause.within {
                await #expect(throws: BlockingPriorityQueueError.cancelled) { try await queue.suspending.pop() }
            }
        }
        await pause.isReached()
        task.cancel()
        pause.goOn()
        _ = await task.value
        #expect(queue.waitingCount == 0)
        #expect(queue.tryPush(1))
        #expect(queue.tryPop() == 1)
    }

    @Test
    func aTimeoutAtAQueueIsNeverEarlyAndTakesNothing() async {
        let empty = BlockingPriorityQueue<Int>(), full = full(0), clock = ContinuousClock()
        for form in 0..<4 {
            let start = clock.now, instant = start + .milliseconds(2)
            await #expect(throws: BlockingPriorityQueueError.timedOut) {
                switch form {
                case 0: _ = try await empty.suspending.pop(timeout: .milliseconds(2))
                case 1: _ = try await empty.suspending.pop(timeout: .until(instant))
                case 2: try await full.suspending.push(1, timeout: .milliseconds(2))
                default: try await full.suspending.push(1, timeout: .until(instant))
                }
            }
            #expect(clock.now - start >= .milliseconds(2))
        }
        #expect(empty.waitingCount == 0 && full.waitingCount == 0)
        #expect(empty.tryPush(1) && empty.count == 1)
        #expect(full.takeAll() == [0])
    }

    @TaskLocal private static var onlyTries = false

    @Test
    func aTaskThatOnlyTriesDoesNotStandInALine() async {
        let empty = BlockingPriorityQueue<Int>(), full = full(), queued = Flag()
        let listener = TestSteps.add { name, _ in if name == "TaskWait: queues", Self.onlyTries { queued.raise() } }
        defer { TestSteps.remove(listener) }
        await Self.$onlyTries.withValue(true) {
            await #expect(throws: BlockingPriorityQueueError.timedOut) {
                try await empty.suspending.pop(timeout: .zero)
            }
            await #expect(throws: BlockingPriorityQueueError.timedOut) {
                try await full.suspending.push(1, timeout: .seconds(-1))
            }
        }
        #expect(!queued.isRaised && empty.waitingCount == 0 && full.waitingCount == 0)
    }

    // MARK: - Closing, and what is released

    @Test
    func closingEndsTheWaitsOfTasks() async throws {
        let empty = BlockingPriorityQueue<Int>(), full = full(7)
        let popper = await start(at: empty) { await Result { () async throws in try await empty.suspending.pop() } }
        let timed = await start(at: empty) { try? await empty.suspending.pop(timeout: .seconds(50)) }
        let pusher = await start(at: full) {
            await error { () async throws(BlockingPriorityQueueError) in
                try await full.suspending.push(1)
            }
        }
        empty.shutdown()
        full.shutdown()
        #expect(try await popper.value.get() == nil)
        #expect(await timed.value == .some(nil))
        #expect(await pusher.value == .shutDown)
        await #expect(throws: BlockingPriorityQueueError.shutDown) { try await full.suspending.push(1) }
        #expect(try await full.suspending.pop() == 7)
        #expect(try await full.suspending.pop() == nil)
        #expect(try await full.suspending.pop(timeout: .zero) == nil)
    }

    @Test
    func elementsOfTasksAreReleasedOnEveryWayOut() async throws {
        let alive = Shared()
        do {
            let queue = BlockingPriorityQueue<Tracked>(capacity: 1)
            try await queue.suspending.push(Tracked(alive))
            await #expect(throws: BlockingPriorityQueueError.timedOut) {
                try await queue.suspending.push(Tracked(alive), timeout: .zero)
            }
            await #expect(throws: BlockingPriorityQueueError.timedOut) {
                try await queue.suspending.push(Tracked(alive), timeout: .microseconds(100))
            }
            let cancelled = await start(at: queue) { try? await queue.suspending.push(Tracked(alive)) }
            #expect(alive.value == 2)
            cancelled.cancel()
            await cancelled.value
            #expect(alive.value == 1)
            let admitted = await start(at: queue) { try? await queue.suspending.push(Tracked(alive)) }
            #expect(try await queue.suspending.pop() != nil)
            await admitted.value
            #expect(alive.value == 1)
            let refused = await start(at: queue) { try? await queue.suspending.push(Tracked(alive)) }
            queue.shutdown()
            await refused.value
            #expect(alive.value == 1)
        }
        // The last to let go of the queue may be the thread that has ended a wait.
        await waitUntil { alive.value == 0 }
    }

    @Test
    func aQueueThatNobodyUsesAnyMoreGoes() async {
        weak var queue: BlockingPriorityQueue<Int>?
        do {
            let strong = BlockingPriorityQueue<Int>()
            queue = strong
            let task = await start(at: strong) { try? await strong.suspending.pop() }
            task.cancel()
            _ = await task.value
        }
        await waitUntil { queue == nil }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
