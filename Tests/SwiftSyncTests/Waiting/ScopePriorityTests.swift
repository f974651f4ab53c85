import CSyncKernel
import Testing

@testable import SwiftSync

/// A task inside ``PrioritySemaphore/withPermit(permits:priority:timeout:_:)`` has at least the priority of those that
/// wait for permits, if it was the last to enter.
@Suite(.endsInTime)
struct ScopePriorityTests {
    /// A task that is inside until its priority is `.high`.
    private func inside(_ semaphore: PrioritySemaphore) async -> Task<TaskPriority, any Error> {
        let isInside = Flag()
        let task = Task.detached(priority: .background) {
            try await semaphore.withPermit {
                isInside.raise()
                await untilRaised()
                return Task.currentPriority
            }
        }
        await waitUntil { isInside.isRaised }
        return task
    }

    private enum Way: CaseIterable { case scope, wait }

    private func waiter(
        at semaphore: PrioritySemaphore, _ priority: TaskPriority, by way: Way = .scope, naming: CommandPriority? = nil
    ) -> Task<Void, any Error> {
        Task.detached(priority: priority) {
            switch way {
            case .scope: try await semaphore.withPermit(priority: naming) {}
            case .wait:
                try await semaphore.wait(priority: naming)
                try semaphore.signal()
            }
        }
    }

    @Test(arguments: Way.allCases)
    private func whoWaitsRaisesTheTaskInside(way: Way) async throws {
        let semaphore = PrioritySemaphore(value: 1), task = await inside(semaphore)
        // The task would stay inside for ever.
        try await waiter(at: semaphore, .high, by: way).value
        #expect(try await task.value == .high)
        #expect(semaphore.availablePermits == 1)
    }

    /// One that was cancelled, and one that came too late, are behind it no more.
    @Test
    func whoGaveUpRaisesNobodyThatIsLetIn() async throws {
        let semaphore = PrioritySemaphore(value: 0), found = Shared(TaskPriority?.none)
        let late = Task.detached(priority: .high) { try await semaphore.wait(timeout: .milliseconds(1)) }
        await #expect(throws: PrioritySemaphoreError.timedOut) { try await late.value }
        let cancelled = waiter(at: semaphore, .high, by: .wait)
        await waitUntil { semaphore.waitingCount == 1 }
        cancelled.cancel()
        await #expect(throws: PrioritySemaphoreError.cancelled) { try await cancelled.value }
        let low = Task.detached(priority: .background) {
            try await semaphore.withPermit { found.access { $0 = Task.currentPriority } }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        try semaphore.signal()
        await waitUntil { found.value != nil }
        #expect(found.value == .background)
        try await low.value
    }

    /// It was cancelled, and then escalated, just before it would have been queued.
    @Test
    func whoGaveUpBeforeItWasQueuedRaisesNobodyThatIsLetIn() async throws {
        let semaphore = PrioritySemaphore(value: 0), found = Shared(TaskPriority?.none),
            pause = StepPause("TaskWait: parks")
        let cancelled = Task.detached(executorPreference: OwnThreads.shared, priority: .background) {
            try await pause.within { try await semaphore.wait() }
        }
        await pause.isReached()
        cancelled.cancel()
        cancelled.escalatePriority(to: .high)
        pause.goOn()
        await #expect(throws: PrioritySemaphoreError.cancelled) { try await cancelled.value }
        let low = Task.detached(priority: .background) {
            try await semaphore.withPermit { found.access { $0 = Task.currentPriority } }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        try semaphore.signal()
        await waitUntil { found.value != nil }
        #expect(found.value == .background)
        try await low.value
    }

    @Test
    func whoMovedUpIsCountedOnce() async throws {
        let semaphore = PrioritySemaphore(value: 0), found = Shared(TaskPriority?.none)
        let escalated = waiter(at: semaphore, .low, by: .wait)
        await waitUntil { semaphore.waitingCount == 1 }
        escalated.escalatePriority(to: .high)
        try semaphore.signal()
        try await escalated.value
        try await semaphore.wait()
        let low = Task.detached(priority: .background) {
            try await semaphore.withPermit { found.access { $0 = Task.currentPriority } }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        try semaphore.signal()
        await waitUntil { found.value != nil }
        #expect(found.value == .background)
        try await low.value
    }

    /// Naming one gets the waiter no thread sooner.
    @Test
    func aNamedPriorityRaisesNobodyThatIsLetIn() async throws {
        let semaphore = PrioritySemaphore(value: 0), found = Shared(TaskPriority?.none)
        let low = Task.detached(priority: .background) {
            try await semaphore.withPermit(priority: .high) { found.access { $0 = Task.currentPriority } }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        let other = waiter(at: semaphore, .background, by: .wait, naming: .high)
        await waitUntil { semaphore.waitingCount == 2 }
        try semaphore.signal()
        await waitUntil { found.value != nil }
        #expect(found.value == .background)
        try await low.value
        try await other.value
    }

    @Test(arguments: Way.allCases, [nil, CommandPriority.low])
    private func aTaskThatIsEscalatedWhileItWaitsRaisesTheTaskInside(way: Way, named: CommandPriority?) async throws {
        let semaphore = PrioritySemaphore(value: 1), task = await inside(semaphore)
        let waiter = waiter(at: semaphore, .background, by: way, naming: named)
        await waitUntil { semaphore.waitingCount == 1 }
        waiter.escalatePriority(to: .high)
        try await waiter.value
        #expect(try await task.value == .high)
    }

    /// The first holds `outer` and waits for `inner`, and one that is urgent waits for `outer`.
    @Test
    func aChainIsRaised() async throws {
        let outer = PrioritySemaphore(value: 1), inner = PrioritySemaphore(value: 1), first = await inside(inner)
        let middle = Task.detached(priority: .background) {
            try await outer.withPermit { try await inner.withPermit { Task.currentPriority } }
        }
        await waitUntil { inner.waitingCount == 1 }
        try await waiter(at: outer, .high).value
        #expect(try await middle.value == .high)
        #expect(try await first.value == .high)
    }

    /// The task had to wait itself, and so was not inside when it came.
    @Test
    func aTaskThatHadToWaitIsRaisedOnceItIsInside() async throws {
        let semaphore = PrioritySemaphore(value: 0), isInside = Flag()
        let task = Task.detached(priority: .background) {
            try await semaphore.withPermit {
                isInside.raise()
                await untilRaised()
            }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        try semaphore.signal()
        await waitUntil { isInside.isRaised }
        try await waiter(at: semaphore, .high).value
        try await task.value
    }

    /// Of two that are inside, one is enough to let the waiter in.
    @Test
    func ofSeveralTheLastIsRaised() async throws {
        let semaphore = PrioritySemaphore(value: 2), leave = Door(), isInside = Flag(),
            found = Shared(TaskPriority?.none)
        let first = Task.detached(priority: .background) {
            try await semaphore.withPermit {
                isInside.raise()
                await leave.pass()
                found.access { $0 = Task.currentPriority }
            }
        }
        await waitUntil { isInside.isRaised }
        let last = await inside(semaphore)
        try await waiter(at: semaphore, .high).value
        #expect(try await last.value == .high)
        leave.open()
        await waitUntil { found.value != nil } // whoever awaits the task's value raises it too
        #expect(found.value == .background)
        try await first.value
    }

    /// One that was overtaken too often goes before more urgent ones.
    @Test
    func whoIsLetInBeforeMoreUrgentOnesGetsTheirPriority() async throws {
        let semaphore = PrioritySemaphore(value: 0, bypassLimit: 1), found = Shared(TaskPriority.background)
        let low = Task.detached(priority: .background) {
            try await semaphore.withPermit { found.access { $0 = Task.currentPriority } }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        let urgent = (0..<2).map { _ in waiter(at: semaphore, .high, by: .wait) }
        await waitUntil { semaphore.waitingCount == 3 }
        try semaphore.signal()
        for task in urgent + [low] { try await task.value }
        #expect(found.value == .high)
    }

    /// At its own priority the task, which is inside, would hold up the one that waits.
    @Test
    func whoIsLetInAtANamedPriorityGetsThatOfTasksBehindIt() async throws {
        let semaphore = PrioritySemaphore(value: 0), found = Shared(TaskPriority?.none)
        let low = Task.detached(priority: .background) {
            try await semaphore.withPermit(priority: .high) { found.access { $0 = Task.currentPriority } }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        let other = waiter(at: semaphore, .medium, by: .wait)
        await waitUntil { semaphore.waitingCount == 2 }
        try semaphore.signal()
        await waitUntil { found.value != nil }
        #expect(found.value == .medium)
        try await low.value
        try await other.value
    }

    /// Whoever signals may hold locks, or be the timers' thread.
    @Test
    func aSignalDoesNotWaitForHandlersOfTheTaskThatItLetsIn() async throws {
        let semaphore = PrioritySemaphore(value: 0, bypassLimit: 1), goOn = Semaphore(), isCalled = Flag()
        let low = Task.detached(priority: .background) {
            try await withTaskPriorityEscalationHandler {
                try await semaphore.withPermit {}
            } onPriorityEscalated: { _, _ in
                isCalled.raise()
                goOn.wait()
            }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        let urgent = (0..<2).map { _ in
            Task.detached(priority: .high) { try await semaphore.wait(priority: .high) }
        }
        await waitUntil { semaphore.waitingCount == 3 }
        try semaphore.signal()
        await waitUntil { semaphore.waitingCount == 2 }
        try semaphore.signal()
        await waitUntil { isCalled.isRaised }
        goOn.signal()
        try await low.value
        for task in urgent { try await task.value }
    }

    /// The handler runs on the thread of whoever raises the task, which keeps it from leaving.
    @Test
    func aHandlerOfTheTaskInsideMaySignal() async throws {
        let semaphore = PrioritySemaphore(value: 1), isInside = Flag()
        let task = Task.detached(priority: .background) {
            try await withTaskPriorityEscalationHandler {
                try await semaphore.withPermit {
                    isInside.raise()
                    await untilRaised()
                }
            } onPriorityEscalated: { _, _ in
                try? semaphore.signal()
            }
        }
        await waitUntil { isInside.isRaised }
        try await waiter(at: semaphore, .high).value
        try await task.value
        #expect(semaphore.availablePermits == 2)
    }

    /// Whoever waits leaves a permit alone that nobody has for a scope: nobody looks for its holder.
    @Test
    func aPermitWithoutAScopeRaisesNobody() async throws {
        let semaphore = PrioritySemaphore(value: 1)
        try await semaphore.wait()
        let waiter = waiter(at: semaphore, .high)
        await waitUntil { semaphore.waitingCount == 1 }
        #expect(unsafe csk_sem_pin_holder(semaphore.box.semaphore, TaskPriority.high.rawValue) == 0)
        try semaphore.signal()
        try await waiter.value
    }

    /// The memory of a task of `async let` is its parent's, and is used again as soon as it has ended.
    @Test(arguments: [1, 2])
    func tasksThatEndWhileTheyAreRaisedAreLetGoFirst(value: Int) async throws {
        let semaphore = PrioritySemaphore(value: value)
        let urgent = Task.detached(priority: .high) {
            for _ in 0..<2000 { try await semaphore.withPermit {} }
        }
        let low = (0..<4).map { _ in
            Task.detached(priority: .background) {
                for _ in 0..<500 {
                    async let one: Void = semaphore.withPermit { await Task.yield() }
                    async let other: Void = semaphore.withPermit {}
                    _ = try await (one, other)
                }
            }
        }
        try await urgent.value
        for task in low { try await task.value }
        #expect(semaphore.availablePermits == value)
    }
}
