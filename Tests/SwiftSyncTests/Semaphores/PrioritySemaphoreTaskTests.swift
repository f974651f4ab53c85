import Dispatch
import Testing

@testable import SwiftSync

/// Permits taken by tasks: the same order as that of threads, cancellation, deadlines, isolation.
@Suite(.endsInTime)
struct PrioritySemaphoreTaskTests {
    /// Starts a task, and returns once it waits.
    private func start(
        _ priority: TaskPriority = .medium, at semaphore: PrioritySemaphore,
        _ body: @escaping @Sendable () async -> Void
    ) async -> Task<Void, Never> {
        let waiting = semaphore.waitingCount
        let task = Task.detached(priority: priority) { await body() }
        await waitUntil { semaphore.waitingCount == waiting + 1 }
        return task
    }

    @Test
    func tasksAndThreadsStandInOneOrder() async throws {
        let semaphore = PrioritySemaphore(value: 0), served = Shared([String]())
        @Sendable func serve(_ name: String) {
            served.append(name)
            try? semaphore.signal()
        }
        let low = await start(at: semaphore) {
            try? await semaphore.wait(priority: .low)
            serve("task, low")
        }
        let thread = Thread {
            try? semaphore.blockingWait(priority: .high)
            serve("thread, high")
        }
        await waitUntil { semaphore.waitingCount == 2 }
        let high = await start(at: semaphore) {
            try? await semaphore.wait(priority: .high)
            serve("task, high")
        }
        let last = Thread {
            try? semaphore.blockingWait(priority: .low)
            serve("thread, low")
        }
        await waitUntil { semaphore.waitingCount == 4 }
        try semaphore.signal()
        await low.value
        await high.value
        thread.join()
        last.join()
        #expect(served.value == ["thread, high", "task, high", "task, low", "thread, low"])
    }

    @Test
    func withoutANamedPriorityATaskWaitsAtItsOwn() async throws {
        let semaphore = PrioritySemaphore(value: 0), served = Shared([String]())
        var tasks = [Task<Void, Never>]()
        for (priority, name) in [(TaskPriority.background, "background"), (.high, "high"), (.low, "low")] {
            tasks.append(
                await start(priority, at: semaphore) {
                    try? await semaphore.withPermit { served.append(name) }
                })
        }
        try semaphore.signal()
        // Whoever awaits a task escalates it, which moves it up.
        await waitUntil { served.value.count == 3 }
        for task in tasks { await task.value }
        #expect(served.value == ["high", "low", "background"])
    }

    @Test
    func aCancelledTaskLeavesTheQueueAndLetsOthersPass() async throws {
        let semaphore = PrioritySemaphore(value: 1), caught = Shared<PrioritySemaphoreError?>(nil)
        let large = await start(at: semaphore) {
            do throws(PrioritySemaphoreError) { try await semaphore.wait(permits: 2) } catch {
                caught.access { $0 = error }
            }
        }
        let small = await start(at: semaphore) { try? await semaphore.wait() }
        #expect(semaphore.availablePermits == 1)
        large.cancel()
        await large.value
        await small.value
        #expect(caught.value == .cancelled)
        #expect(semaphore.availablePermits == 0 && semaphore.waitingCount == 0)
    }

    @Test
    func aTaskThatIsCancelledAlreadyTakesNothing() async {
        let semaphore = PrioritySemaphore(value: 1)
        let task = Task {
            await waitUntil { Task.isCancelled }
            await #expect(throws: PrioritySemaphoreError.cancelled) { try await semaphore.wait() }
            await #expect(throws: PrioritySemaphoreError.cancelled) { try await semaphore.withPermit {} }
        }
        task.cancel()
        await task.value
        #expect(semaphore.availablePermits == 1)
    }

    @Test
    func aTimeoutOfATaskIsNeverEarlyAndTakesNothing() async throws {
        let semaphore = PrioritySemaphore(value: 1), clock = ContinuousClock(), start = clock.now
        await #expect(throws: PrioritySemaphoreError.timedOut) {
            try await semaphore.wait(permits: 2, timeout: .milliseconds(2))
        }
        #expect(clock.now - start >= .milliseconds(2))
        await #expect(throws: PrioritySemaphoreError.timedOut) { try await semaphore.wait(permits: 2, timeout: .zero) }
        await #expect(throws: PrioritySemaphoreError.invalidPermits) { try await semaphore.wait(permits: -1) }
        await #expect(throws: PrioritySemaphoreError.invalidPermits) { try await semaphore.wait(permits: .max) }
        try await semaphore.wait(timeout: .zero)
        #expect(semaphore.availablePermits == 0 && semaphore.waitingCount == 0)
    }

    @Test
    func aDeadlineOfATaskIsNeverEarlyAndTakesNothing() async throws {
        let semaphore = PrioritySemaphore(value: 1), clock = ContinuousClock(), deadline = clock.now + .milliseconds(2)
        await #expect(throws: PrioritySemaphoreError.timedOut) {
            try await semaphore.wait(permits: 2, timeout: .until(deadline))
        }
        #expect(clock.now >= deadline)
        await #expect(throws: PrioritySemaphoreError.timedOut) {
            try await semaphore.wait(permits: 2, timeout: .until(deadline))
        }
        await #expect(throws: PrioritySemaphoreError.timedOut) {
            try await semaphore.withPermit(permits: 2, timeout: .until(deadline)) { _ = Issue.record("ran") }
        }
        #expect(try await semaphore.withPermit(timeout: .until(deadline)) { semaphore.availablePermits } == 0)
        try await semaphore.wait(timeout: .until(deadline))
        #expect(semaphore.availablePermits == 0 && semaphore.waitingCount == 0)
        let task = await start(at: semaphore) { try? await semaphore.wait(timeout: .until(clock.now + .seconds(1000))) }
        try semaphore.signal()
        await task.value
        #expect(semaphore.availablePermits == 0)
    }

    /// While a large request stands in the queue, nobody of its priority gets the permit that is free.
    @Test
    func aTaskThatOnlyTriesBarsNobody() async throws {
        let semaphore = PrioritySemaphore(value: 1), isOver = Flag()
        let trying = Task.detached(priority: .medium) {
            var tries = 0
            while !isOver.isRaised || tries == 0 {
                await #expect(throws: PrioritySemaphoreError.timedOut) {
                    try await semaphore.wait(permits: 2, priority: .normal, timeout: .zero)
                }
                tries += 1
            }
        }
        let refusals = Shared(0)
        let thread = Thread {
            for _ in 0..<20_000 {
                if semaphore.tryWait() { try? semaphore.signal() } else { refusals.increment() }
            }
            isOver.raise()
        }
        await trying.value
        thread.join()
        #expect(refusals.value == 0)
    }

    private enum Failure: Error { case expected }

    @Test
    func aScopeOfATaskGivesBackOnEveryPath() async throws {
        let semaphore = PrioritySemaphore(value: 2, most: 2)
        let inside = try await semaphore.withPermit(permits: 2) {
            await Task.yield()
            return semaphore.availablePermits
        }
        #expect(inside == 0)
        await #expect(throws: Failure.expected) {
            try await semaphore.withPermit {
                await Task.yield()
                throw Failure.expected
            }
        }
        let entered = Flag()
        let task = Task {
            try await semaphore.withPermit {
                entered.raise()
                try await Task.sleep(for: .seconds(1000))
            }
        }
        await waitUntil { entered.isRaised }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(semaphore.availablePermits == 2)
    }

    @Test @MainActor
    func aTaskOfTheMainActorReturnsThere() async throws {
        let semaphore = PrioritySemaphore(value: 0)
        let task = Task { @MainActor in
            try await semaphore.wait()
            MainActor.assertIsolated()
            return try await semaphore.withPermit(timeout: .zero) { 1 }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        try semaphore.signal(2)
        #expect(try await task.value == 1)
    }

    @Test
    func whatNobodyKnowsAnyMoreEnds() async throws {
        var semaphore: PrioritySemaphore? = PrioritySemaphore(value: 0)
        weak let box = semaphore!.box
        let waiting = await start(at: semaphore!) { [semaphore] in try? await semaphore!.wait(timeout: .seconds(1000)) }
        semaphore = nil
        #expect(box != nil)
        waiting.cancel()
        await waiting.value
        await waitUntil { box == nil }
    }

    @Test
    func noPermitIsLostOrDoubledAmongTasksThatTimeOutAndAreCancelled() async throws {
        let semaphore = PrioritySemaphore(value: 3, most: 3), inside = Shared(0), most = Shared(0)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for round in 0..<500 {
                        let permits = 1 + (round + index) % 3
                        let timeout: TimeLimit = round % 5 == 0 ? .microseconds(20) : .never
                        let task = Task {
                            try await semaphore.withPermit(
                                permits: permits, priority: CommandPriority(rawValue: Int32(index % 3)),
                                timeout: timeout
                            ) {
                                let now = inside.access { number in
                                    number += permits
                                    return number
                                }
                                most.access { $0 = max($0, now) }
                                await Task.yield()
                                inside.access { $0 -= permits }
                            }
                        }
                        if round % 3 == 0 { task.cancel() }
                        _ = await task.result
                    }
                }
            }
        }
        #expect(semaphore.availablePermits == 3 && semaphore.waitingCount == 0)
        #expect(most.value <= 3 && most.value > 0)
    }
}
