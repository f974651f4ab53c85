import Dispatch
import Testing

@testable import SwiftSync

/// Sections for which tasks wait: one order with threads, cancellation, deadlines, isolation, executors that are stuck.
@Suite(.endsInTime)
struct PriorityMutexTaskTests {
    private enum Failure: Error { case expected }

    /// A mutex that waits for its tasks' executors, however late they are.
    private func patient<Value: Sendable>(_ value: Value, policy: GatePolicy = .fast) -> PriorityMutex<Value> {
        PriorityMutex(value, policy: policy, graceMicroseconds: 2_000_000_000)
    }

    /// Holds the mutex by a thread until the closure that is returned is called.
    private func occupy<Value: Sendable>(_ mutex: PriorityMutex<Value>) async -> @Sendable () -> Void {
        let entered = Flag(), leave = Semaphore()
        onThread {
            mutex.withLock { _ in
                entered.raise()
                leave.wait()
            }
        }
        await waitUntil { entered.isRaised }
        return { leave.signal() }
    }

    /// Starts a task, and returns once it waits for the mutex.
    private func start<Value: Sendable>(
        _ priority: TaskPriority = .medium, at mutex: PriorityMutex<Value>,
        _ body: @escaping @Sendable () async -> Void
    ) async -> Task<Void, Never> {
        let waiting = mutex.waitingCount
        let task = Task.detached(priority: priority) { await body() }
        await waitUntil { mutex.waitingCount == waiting + 1 }
        return task
    }

    @Test
    func aSectionHasTheValueAndReturnsAndThrows() async throws {
        let mutex = PriorityMutex([1])
        let count = try await mutex.suspending.withLock { value in
            value.append(2)
            return value.count
        }
        #expect(count == 2)
        await #expect(throws: Failure.expected) {
            try await mutex.suspending.withLock { value in
                value.append(3)
                throw Failure.expected
            }
        }
        #expect(try await mutex.suspending.withLock(timeout: .zero) { $0 } == [1, 2, 3])
        #expect(try await mutex.suspending.withLock(timeout: .until(.now)) { $0.count } == 3)
        #expect(mutex.withLock { $0 } == [1, 2, 3])
    }

    private enum Counting {
        @TaskLocal static var waits: Shared<Int>?
    }

    @Test
    func aFastMutexThatNobodyHoldsMakesNoWaiter() async throws {
        let mutex = PriorityMutex(0), waits = Shared(0)
        try await mutex.suspending.withLock { $0 += 1 }
        let id = TestSteps.add { name, _ in
            if name == "TaskWait: parks" { Counting.waits?.increment() }
        }
        defer { TestSteps.remove(id) }
        try await Counting.$waits.withValue(waits) {
            for _ in 0..<3 { try await mutex.suspending.withLock { $0 += 1 } }
            try await mutex.suspending.withLock(timeout: .zero) { $0 += 1 }
            try await mutex.suspending.withLock(priority: .lowest, timeout: .seconds(1)) { $0 += 1 }
        }
        #expect(waits.value == 0)
        #expect(mutex.withLock { $0 } == 6)
    }

    /// Without `await`, as before there was a form that suspends.
    @Test
    func theFormThatBlocksIsTheOneThatAsyncCodeFinds() async {
        let mutex = PriorityMutex(0)
        mutex.withLock { $0 += 1 }
        #expect(mutex.withLock(priority: .high, timeout: .zero) { $0 } == 1)
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func tasksAndThreadsStandInOneOrder(policy: GatePolicy) async {
        let mutex = patient([String](), policy: policy), leave = await occupy(mutex)
        var tasks = [Task<Void, Never>](), threads = [Thread]()
        for (index, priority) in [CommandPriority.low, .high, .normal].enumerated() {
            tasks.append(
                await start(at: mutex) {
                    try? await mutex.suspending.withLock(priority: priority) { $0.append("task \(priority.rawValue)") }
                })
            threads.append(
                Thread { mutex.withLock(priority: priority) { $0.append("thread \(priority.rawValue)") } })
            await waitUntil { mutex.waitingCount == 2 * index + 2 }
        }
        leave()
        for task in tasks { await task.value }
        threads.forEach { $0.join() }
        let order = [CommandPriority.high, .normal, .low].flatMap { ["task \($0.rawValue)", "thread \($0.rawValue)"] }
        #expect(mutex.withLock { $0 } == order)
    }

    @Test
    func withoutANamedPriorityATaskWaitsAtItsOwn() async {
        let mutex = patient([String]()), leave = await occupy(mutex)
        var tasks = [Task<Void, Never>]()
        for (priority, name) in [(TaskPriority.background, "background"), (.high, "high"), (.low, "low")] {
            tasks.append(
                await start(priority, at: mutex) { try? await mutex.suspending.withLock { $0.append(name) } })
        }
        leave()
        // Who awaits one that waits still escalates it.
        await waitUntil { mutex.waitingCount == 0 }
        for task in tasks { await task.value }
        #expect(mutex.withLock { $0 } == ["high", "low", "background"])
    }

    @Test
    func aCancelledTaskLeavesTheQueue() async {
        let mutex = PriorityMutex(0), leave = await occupy(mutex), caught = Shared<PriorityMutexError?>(nil)
        let task = await start(at: mutex) {
            do { try await mutex.suspending.withLock { $0 += 1 } } catch {
                caught.access { $0 = error as? PriorityMutexError }
            }
        }
        task.cancel()
        await task.value
        #expect(caught.value == .cancelled && mutex.waitingCount == 0)
        leave()
        #expect(mutex.withLock { $0 } == 0)
    }

    @Test
    func aTaskThatIsCancelledAlreadyDoesNotEnter() async {
        let mutex = PriorityMutex(0)
        mutex.withLock { _ in } // from its first use on, entering is inline
        let task = Task {
            await waitUntil { Task.isCancelled }
            await #expect(throws: PriorityMutexError.cancelled) { try await mutex.suspending.withLock { $0 += 1 } }
            await #expect(throws: PriorityMutexError.cancelled) {
                try await mutex.suspending.withLock(timeout: .until(.now + .seconds(50))) { $0 += 1 }
            }
        }
        task.cancel()
        await task.value
        #expect(mutex.withLock { $0 } == 0)
    }

    @Test
    func aTaskThatIsCancelledInsideStaysThere() async throws {
        let mutex = PriorityMutex(0)
        try await mutex.suspending.withLock {
            withUnsafeCurrentTask { $0?.cancel() }
            $0 += 1
        }
        #expect(mutex.withLock { $0 } == 1)
    }

    @Test
    func aTimeoutIsNeverEarlyAndRunsNothing() async {
        let mutex = PriorityMutex(0), leave = await occupy(mutex), clock = ContinuousClock()
        for isInstant in [false, true] {
            let start = clock.now
            await #expect(throws: PriorityMutexError.timedOut) {
                if isInstant {
                    try await mutex.suspending.withLock(timeout: .until(start + .milliseconds(2))) { $0 += 1 }
                } else {
                    try await mutex.suspending.withLock(timeout: .milliseconds(2)) { $0 += 1 }
                }
            }
            #expect(clock.now - start >= .milliseconds(2))
        }
        leave()
        #expect(mutex.withLock { $0 } == 0 && mutex.waitingCount == 0)
    }

    @TaskLocal private static var onlyTries = false

    @Test
    func aTaskThatOnlyTriesDoesNotStandInTheQueue() async {
        let mutex = PriorityMutex(0), leave = await occupy(mutex), queued = Flag()
        let listener = TestSteps.add { name, _ in if name == "TaskWait: queues", Self.onlyTries { queued.raise() } }
        defer { TestSteps.remove(listener) }
        await Self.$onlyTries.withValue(true) {
            await #expect(throws: PriorityMutexError.timedOut) {
                try await mutex.suspending.withLock(priority: .high, timeout: .zero) { $0 += 1 }
            }
        }
        #expect(!queued.isRaised && mutex.waitingCount == 0)
        leave()
    }

    @Test(arguments: ["TaskWait: queues", "TaskWait: is queued"])
    func aTaskThatIsCancelledJustBeforeItQueuesDoesNotEnter(step: String) async {
        let mutex = PriorityMutex(0), leave = await occupy(mutex), pause = StepPause(step)
        let task = Task(executorPreference: OwnThreads.shared) {
            await pause.within {
                await #expect(throws: PriorityMutexError.cancelled) {
                    try await mutex.suspending.withLock { $0 += 1 }
                }
            }
        }
        await pause.isReached()
        task.cancel()
        pause.goOn()
        _ = await task.value
        leave()
        #expect(mutex.withLock { $0 } == 0)
    }

    /// Says whether code runs on the main queue, which is the main actor's executor.
    private static let mainKey = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    private nonisolated var isOnMain: Bool { DispatchQueue.getSpecific(key: Self.mainKey) == true }

    @Test @MainActor
    func aSectionRunsWhereItsTaskRuns() async throws {
        for contended in [false, true] {
            let mutex = PriorityMutex(0), leave = contended ? await occupy(mutex) : {}
            var changes = 0
            let task = Task { @MainActor in
                try await mutex.suspending.withLock {
                    #expect(isOnMain)
                    changes += 1
                    $0 += 1
                }
                #expect(isOnMain)
            }
            if contended { await waitUntil { mutex.waitingCount == 1 } }
            leave()
            try await task.value
            #expect(changes == 1)
        }
    }

    @Test
    func threadsPassATaskWhoseExecutorIsStuck() async {
        let mutex = PriorityMutex([String]()), leave = await occupy(mutex)
        let task = Task { @MainActor in try await mutex.suspending.withLock(priority: .high) { $0.append("task") } }
        await waitUntil { mutex.waitingCount == 1 }
        await MainActor.run {
            leave()
            mutex.withLock { $0.append("main thread") }
        }
        await #expect(throws: Never.self) { try await task.value }
        #expect(mutex.withLock { $0 } == ["main thread", "task"])
    }

    /// Their executor loses the turn while it is busy, and none of them passes another for that.
    @Test
    func tasksOfABusyExecutorKeepTheirOrder() async {
        let mutex = PriorityMutex([Int]()), leave = await occupy(mutex)
        var tasks = [Task<Void, any Error>]()
        for number in 0..<8 {
            tasks.append(Task { @MainActor in try await mutex.suspending.withLock { $0.append(number) } })
            await waitUntil { mutex.waitingCount == number + 1 }
        }
        await MainActor.run {
            leave()
            mutex.withLock { $0.append(-1) }
        }
        for task in tasks { await #expect(throws: Never.self) { try await task.value } }
        #expect(mutex.withLock { $0 } == Array(-1..<8))
    }

    /// Nobody is inside then, and nobody waits: what came first has lost its turn, and has yet to come again.
    @Test
    func aTaskDoesNotPassAnEarlierOneOfItsExecutorThatHasLostItsTurn() async {
        let mutex = PriorityMutex([Int]()), leave = await occupy(mutex)
        let first = Task { @MainActor in try await mutex.suspending.withLock { $0.append(1) } }
        await waitUntil { mutex.waitingCount == 1 }
        let second = Task { @MainActor in
            leave()
            mutex.withLock { $0.append(0) }
            try await mutex.suspending.withLock { $0.append(2) }
        }
        await #expect(throws: Never.self) {
            try await first.value
            try await second.value
        }
        #expect(mutex.withLock { $0 } == [0, 1, 2])
    }

    /// The first task has its turn, but its actor does not start it. Under `.fast` one that runs enters meanwhile.
    @Test
    func aTaskOfHigherPriorityPassesOneThatHasYetToBeStarted() async {
        let mutex = PriorityMutex([Int](), graceMicroseconds: 2_000_000_000), leave = await occupy(mutex)
        let first = Task { @MainActor in try await mutex.suspending.withLock { $0.append(1) } }
        await waitUntil { mutex.waitingCount == 1 }
        let hasPassed = Flag()
        @Sendable func keepsItsActorBusy() {
            leave()
            waitUntil { hasPassed.isRaised }
        }
        let second = Task { @MainActor in keepsItsActorBusy() }
        await waitUntil { mutex.waitingCount == 0 }
        await #expect(throws: Never.self) {
            try await mutex.suspending.withLock(priority: .high) { $0.append(0) }
            hasPassed.raise()
            try await first.value
            await second.value
        }
        #expect(mutex.withLock { $0 } == [0, 1])
    }

    @Test
    func whatATaskSendsInIsReleasedWithTheMutex() async throws {
        let alive = Shared(0)
        do {
            let mutex = PriorityMutex([Tracked]()), leave = await occupy(mutex)
            let task = await start(at: mutex) {
                try? await mutex.suspending.withLock { $0.append(Tracked(alive)) }
            }
            leave()
            await task.value
            #expect(alive.value == 1)
        }
        await waitUntil("the mutex and its lanes are released") { alive.value == 0 }
    }

    @Test
    func nobodyElseIsInsideASectionAndNobodyIsLost() async {
        let mutex = PriorityMutex((inside: 0, done: 0)), tasks = 8, rounds = 300, gaveUp = Shared(0)
        @Sendable func section(_ value: inout (inside: Int, done: Int)) {
            value.inside += 1
            #expect(value.inside == 1)
            value.done += 1
            value.inside -= 1
        }
        let threads = (0..<4).map { index in
            Thread {
                for round in 0..<rounds {
                    let priority = CommandPriority(rawValue: Int32((index + round) % 3))
                    if round % 3 != 0 {
                        mutex.withLock(priority: priority) { section(&$0) }
                    } else if mutex.withLock(priority: priority, timeout: .microseconds(20), { section(&$0) }) == nil {
                        gaveUp.increment()
                    }
                }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<tasks {
                group.addTask {
                    for round in 0..<rounds {
                        let priority = CommandPriority(rawValue: Int32((index + round) % 3))
                        let timeout: TimeLimit = round % 3 == 0 ? .microseconds(20) : .never
                        let task = Task {
                            try await mutex.suspending.withLock(priority: priority, timeout: timeout) { section(&$0) }
                        }
                        if round % 4 == 0 { task.cancel() }
                        if case .failure = await task.result { gaveUp.increment() }
                    }
                }
            }
        }
        threads.forEach { $0.join() }
        #expect(mutex.withLock { $0.done } + gaveUp.value == (tasks + 4) * rounds)
        #expect(mutex.waitingCount == 0)
    }
}
