import Dispatch
import Testing

@testable import SwiftSync

/// Waiting until a predicate of the value is true: threads and tasks in one order, one waiter for one change,
/// deadlines, cancellation, executors that are stuck.
@Suite(.endsInTime)
struct PriorityMutexWhenTests {
    private enum Failure: Error { case expected }

    /// A mutex that waits for its tasks' executors, however late they are.
    private func patient<Value: Sendable>(_ value: Value, policy: GatePolicy = .fast) -> PriorityMutex<Value> {
        PriorityMutex(value, policy: policy, graceMicroseconds: 2_000_000_000)
    }

    /// Starts a thread, and returns once it waits.
    private func onThread<Value>(at mutex: PriorityMutex<Value>, _ body: @escaping @Sendable () -> Void) async -> Thread
    {
        let waiting = mutex.waitingCount, thread = Thread(body)
        await waitUntil { mutex.waitingCount == waiting + 1 }
        return thread
    }

    /// Starts a task, and returns once it waits.
    private func inTask<Value, Success: Sendable>(
        at mutex: PriorityMutex<Value>, _ body: @escaping @Sendable () async throws -> Success
    ) async -> Task<Success, any Error> {
        let waiting = mutex.waitingCount, task = Task.detached { try await body() }
        await waitUntil { mutex.waitingCount == waiting + 1 }
        return task
    }

    @Test
    func aPredicateThatIsTrueIsNotWaitedFor() async throws {
        let mutex = PriorityMutex([1])
        #expect(mutex.withLock(when: { !$0.isEmpty }) { $0.removeFirst() } == 1)
        #expect(mutex.withLock(when: { $0.isEmpty }, priority: .high, timeout: .zero) { $0.count } == 0)
        #expect(mutex.withLock(when: { $0.isEmpty }, timeout: .until(.now)) { $0.count } == 0)
        #expect(try await mutex.suspending.withLock(when: { $0.isEmpty }) { $0.count } == 0)
        #expect(try await mutex.suspending.withLock(when: { $0.isEmpty }, timeout: .until(.now)) { $0.count } == 0)
        #expect(throws: Failure.expected) {
            try mutex.withLock(when: { $0.isEmpty }) { _ throws(Failure) in throw .expected }
        }
        await #expect(throws: Failure.expected) {
            try await mutex.suspending.withLock(when: { $0.isEmpty }) { _ in throw Failure.expected }
        }
        #expect(mutex.withLock { $0.isEmpty })
    }

    @Test
    func whoeverChangesTheValueNeedSignalNothing() async throws {
        let mutex = PriorityMutex([Int]()), taken = Shared(0)
        let thread = await onThread(at: mutex) {
            let item = mutex.withLock(when: { !$0.isEmpty }) { $0.removeFirst() }
            taken.access { $0 = item }
        }
        mutex.withLock { $0.append(1) }
        thread.join()
        #expect(taken.value == 1)
        let task = await inTask(at: mutex) {
            try await mutex.suspending.withLock(when: { !$0.isEmpty }) { $0.removeFirst() }
        }
        try await mutex.suspending.withLock { $0.append(2) }
        #expect(try await task.value == 2)
        #expect(mutex.waitingCount == 0)
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func threadsAndTasksGoInOneOrder(policy: GatePolicy) async throws {
        let mutex = patient((isOpen: false, order: [String]()), policy: policy)
        var tasks = [Task<Void, any Error>](), threads = [Thread]()
        for priority in [CommandPriority.low, .high, .normal] {
            tasks.append(
                await inTask(at: mutex) {
                    try await mutex.suspending.withLock(when: { $0.isOpen }, priority: priority) {
                        $0.order.append("task \(priority.rawValue)")
                    }
                })
            threads.append(
                await onThread(at: mutex) {
                    mutex.withLock(when: { $0.isOpen }, priority: priority) {
                        $0.order.append("thread \(priority.rawValue)")
                    }
                })
        }
        mutex.withLock { $0.isOpen = true }
        for task in tasks { try await task.value }
        threads.forEach { $0.join() }
        let order = [CommandPriority.high, .normal, .low].flatMap { ["task \($0.rawValue)", "thread \($0.rawValue)"] }
        #expect(mutex.withLock { $0.order } == order)
    }

    @Test
    func oneChangeLetsOneWaiterIn() async throws {
        let mutex = patient(0)
        var tasks = [Task<Void, any Error>]()
        for _ in 0..<4 {
            tasks.append(
                await inTask(at: mutex) { try await mutex.suspending.withLock(when: { $0 > 0 }) { $0 -= 1 } })
        }
        for left in (0..<4).reversed() {
            mutex.withLock { $0 += 1 }
            await waitUntil { mutex.withLock { $0 } == 0 }
            #expect(mutex.waitingCount == left)
        }
        for task in tasks { try await task.value }
    }

    @Test
    func oneThatIsFalseBarsNobody() async throws {
        let mutex = patient(0)
        let large = await inTask(at: mutex) {
            try await mutex.suspending.withLock(when: { $0 >= 10 }, priority: .high) { $0 -= 10 }
        }
        let small = await onThread(at: mutex) { mutex.withLock(when: { $0 >= 1 }) { $0 -= 1 } }
        #expect(mutex.withLock(priority: .lowest) { $0 } == 0)
        mutex.withLock { $0 = 1 }
        small.join()
        #expect(mutex.waitingCount == 1)
        mutex.withLock { $0 = 10 }
        try await large.value
        #expect(mutex.withLock { $0 } == 0)
    }

    @Test
    func aTimeoutIsNeverEarlyAndRunsNothing() async {
        let mutex = PriorityMutex(0), clock = ContinuousClock()
        for isInstant in [false, true] {
            var start = clock.now
            if isInstant {
                #expect(mutex.withLock(when: { $0 > 0 }, timeout: .until(start + .milliseconds(2))) { $0 += 1 } == nil)
            } else {
                #expect(
                    mutex.withLock(when: { $0 > 0 }, priority: .low, timeout: .milliseconds(2)) { $0 += 1 } == nil)
            }
            #expect(clock.now - start >= .milliseconds(2))
            start = clock.now
            await #expect(throws: PriorityMutexError.timedOut) {
                if isInstant {
                    try await mutex.suspending.withLock(when: { $0 > 0 }, timeout: .until(start + .milliseconds(2))) {
                        $0 += 1
                    }
                } else {
                    try await mutex.suspending.withLock(when: { $0 > 0 }, timeout: .milliseconds(2)) { $0 += 1 }
                }
            }
            #expect(clock.now - start >= .milliseconds(2))
        }
        #expect(mutex.withLock(when: { $0 > 0 }, priority: .low, timeout: .zero) { $0 += 1 } == nil)
        await #expect(throws: PriorityMutexError.timedOut) {
            try await mutex.suspending.withLock(when: { $0 > 0 }, timeout: .zero) { $0 += 1 }
        }
        #expect(mutex.withLock { $0 } == 0 && mutex.waitingCount == 0)
    }

    @Test
    func aCancelledTaskLeavesAtOnce() async {
        let mutex = PriorityMutex(0)
        let first = await inTask(at: mutex) { try await mutex.suspending.withLock(when: { $0 > 0 }) { $0 -= 1 } }
        let second = await inTask(at: mutex) { try await mutex.suspending.withLock(when: { $0 > 0 }) { $0 -= 1 } }
        first.cancel()
        await #expect(throws: PriorityMutexError.cancelled) { try await first.value }
        #expect(mutex.waitingCount == 1)
        mutex.withLock { $0 = 1 }
        await #expect(throws: Never.self) { try await second.value }
        let before = Task {
            await waitUntil { Task.isCancelled }
            try await mutex.suspending.withLock(when: { $0 == 0 }) { $0 += 1 }
        }
        before.cancel()
        await #expect(throws: PriorityMutexError.cancelled) { try await before.value }
        #expect(mutex.withLock { $0 } == 0 && mutex.waitingCount == 0)
    }

    /// It holds the mutex at that moment, and goes on as another thread perhaps.
    @Test(arguments: ["TaskWait: parks", "TaskWait: queues", "TaskWait: is queued"])
    func aTaskThatIsCancelledJustBeforeItWaitsLeavesTheMutexFree(step: String) async {
        let mutex = PriorityMutex(0), pause = StepPause(step)
        let task = Task(executorPreference: OwnThreads.shared) {
            await pause.within {
                await #expect(throws: PriorityMutexError.cancelled) {
                    try await mutex.suspending.withLock(when: { $0 > 0 }) { $0 -= 1 }
                }
            }
        }
        await pause.isReached()
        task.cancel()
        pause.goOn()
        _ = await task.value
        #expect(mutex.withLock(priority: .normal, timeout: .seconds(3600)) { $0 } == 0)
    }

    /// The thread that asks the predicate holds the mutex, and ends the wait.
    @Test
    func aTaskThatIsCancelledWhileItsPredicateIsAskedLeaves() async {
        let mutex = PriorityMutex(0), canceller = Shared<Task<Void, any Error>?>(nil)
        let task = await inTask(at: mutex) {
            try await mutex.suspending.withLock(when: { _ in
                canceller.access { $0 }?.cancel()
                return false
            }) { $0 += 1 }
        }
        canceller.access { $0 = task }
        mutex.withLock { _ in }
        await #expect(throws: PriorityMutexError.cancelled) { try await task.value }
        #expect(mutex.withLock { $0 } == 0 && mutex.waitingCount == 0)
    }

    @MainActor
    @Test
    func aSectionRunsOnTheActorOfItsCaller() async throws {
        let mutex = PriorityMutex(0)
        Task.detached {
            await waitUntil { mutex.waitingCount == 1 }
            mutex.withLock { $0 = 1 }
        }
        try await mutex.suspending.withLock(when: { $0 == 1 }) {
            MainActor.preconditionIsolated()
            $0 = 2
        }
        #expect(mutex.withLock { $0 } == 2)
    }

    /// The main actor is busy when a task of its own is found. A thread that waits for the same goes first.
    @MainActor
    @Test
    func anExecutorThatIsStuckStopsNobody() async throws {
        let mutex = PriorityMutex((items: 0, taken: 0))
        let task = Task { @MainActor in
            try await mutex.suspending.withLock(when: { $0.items > 0 }, priority: .high) { $0.items -= 1 }
        }
        await waitUntil { mutex.waitingCount == 1 }
        let thread = await onThread(at: mutex) {
            mutex.withLock(when: { $0.items > 0 }) {
                $0.items -= 1
                $0.taken += 1
            }
        }
        mutex.withLock { $0.items = 1 }
        thread.join() // on the main actor
        #expect(mutex.withLock { $0.taken } == 1)
        mutex.withLock { $0.items = 1 }
        try await task.value
        #expect(mutex.withLock { $0.items } == 0)
    }

    /// What protects a value without copies is not copied for a predicate either.
    private struct Unique: ~Copyable {
        var count = 0
    }

    @Test
    func aValueNeedNotBeCopyable() async throws {
        let mutex = PriorityMutex(Unique())
        let thread = Thread { mutex.withLock(when: { $0.count == 1 }) { $0.count = 2 } }
        try await mutex.suspending.withLock(when: { $0.count == 0 }) { $0.count = 1 }
        thread.join()
        #expect(mutex.withLock { $0.count } == 2)
    }

    /// The item of each round reaches one of two that wait, of whom one may give up at the same moment.
    @Test
    func ofFoundAndCancelledExactlyOneHappens() async throws {
        let mutex = PriorityMutex(0), rounds = 2000
        var found = 0
        for round in 0..<rounds {
            let task = await inTask(at: mutex) {
                try await mutex.suspending.withLock(when: { $0 > 0 }) { $0 -= 1 }
            }
            let putter = Task.detached { mutex.withLock { $0 += 1 } }
            if round % 2 == 0 { await Task.yield() }
            task.cancel()
            await putter.value
            let isFound = (try? await task.value) != nil
            found += isFound ? 1 : 0
            #expect(
                mutex.withLock { items in
                    defer { items = 0 }; return items
                } == (isFound ? 0 : 1))
            #expect(mutex.waitingCount == 0)
        }
        #expect(found > 0 && found < rounds)
    }

    @Test
    func ofFoundAndTimeoutExactlyOneHappens() async {
        let mutex = PriorityMutex(0), rounds = 1000
        for round in 0..<rounds {
            let limit = Duration.microseconds(round % 100)
            let task = Task.detached {
                try await mutex.suspending.withLock(when: { $0 > 0 }, timeout: .after(limit)) { $0 -= 1 }
            }
            let thread = Thread {
                _ = mutex.withLock(when: { $0 > 1 }, priority: .high, timeout: .after(limit)) { $0 -= 2 }
            }
            mutex.withLock { $0 += 1 }
            let isFound = (try? await task.value) != nil
            thread.join()
            #expect(
                mutex.withLock { items in
                    defer { items = 0 }; return items
                } == (isFound ? 0 : 1))
            #expect(mutex.waitingCount == 0)
        }
    }

    @Test
    func noItemOfABoundedBufferIsLost() async throws {
        let buffer = PriorityMutex([Int]()), room = 4, each = 500, sum = Shared(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for producer in 0..<4 {
                group.addTask {
                    for item in 0..<each {
                        try await buffer.suspending.withLock(when: { $0.count < room }) {
                            $0.append(producer * each + item)
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<each {
                        let item = try await buffer.suspending.withLock(when: { !$0.isEmpty }) { $0.removeFirst() }
                        sum.access { $0 += item }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(sum.value == (0..<4 * each).reduce(0, +))
        #expect(buffer.withLock { $0.isEmpty } && buffer.waitingCount == 0)
    }

    @Test
    func theDeadlineOfARequestBoundsTheWaitsThatCanReportIt() async throws {
        let mutex = PriorityMutex(0)
        blockingWithDeadline(.until(.now + .milliseconds(2))) {
            #expect(mutex.withLock(when: { $0 > 0 }, priority: .high, timeout: .seconds(600)) { $0 } == nil)
        }
        await withDeadline(.now + .milliseconds(2)) {
            _ = await #expect(throws: PriorityMutexError.timedOut) {
                try await mutex.suspending.withLock(when: { $0 > 0 }) { $0 += 1 }
            }
        }
        let thread = Thread {
            blockingWithDeadline(.until(.now + .milliseconds(1))) { mutex.withLock(when: { $0 > 0 }) { $0 -= 1 } }
        }
        await waitUntil { mutex.waitingCount == 1 }
        let start = ContinuousClock.now
        await waitUntil { ContinuousClock.now - start > .milliseconds(3) }
        #expect(mutex.waitingCount == 1)
        mutex.withLock { $0 += 1 }
        thread.join()
    }
}
