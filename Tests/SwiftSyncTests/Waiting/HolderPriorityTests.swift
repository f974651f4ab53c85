import CSyncKernel
import Testing

@testable import SwiftSync

/// A task that is inside an ``AsyncMutex`` has at least the priority of those that wait for it.
@Suite(.endsInTime)
struct HolderPriorityTests {
    /// A task that is inside until its priority is `.high`, or until that door is opened.
    private func holder(
        of mutex: AsyncMutex<Int>, _ priority: TaskPriority, until leave: Door? = nil
    ) async -> Task<TaskPriority, any Error> {
        let isInside = Flag()
        let task = Task.detached(priority: priority) {
            try await mutex.withLock { _ in
                let first = Task.currentPriority
                isInside.raise()
                if let leave { await leave.pass() } else { await untilRaised() }
                return first
            }
        }
        await waitUntil { isInside.isRaised }
        return task
    }

    private func waiter(at mutex: AsyncMutex<Int>, _ priority: TaskPriority) -> Task<Void, any Error> {
        Task.detached(priority: priority) { try await mutex.withLock { $0 += 1 } }
    }

    @Test(arguments: [TaskPriority.background, .low, .medium])
    func whoWaitsRaisesTheHolder(priority: TaskPriority) async throws {
        let mutex = AsyncMutex(0), holder = await holder(of: mutex, priority)
        // The holder would stay inside for ever.
        let waiter = waiter(at: mutex, .high)
        await waitUntil { mutex.isFree }
        try await waiter.value
        #expect(try await holder.value == priority)
    }

    /// Naming one gets the waiter no thread sooner, so the holder needs none sooner either.
    @Test
    func aNamedPriorityRaisesNoHolder() async throws {
        let mutex = AsyncMutex(0), isInside = Flag(), leave = Door(), found = Shared(TaskPriority?.none)
        let holder = Task.detached(priority: .background) {
            try await mutex.withLock { _ in
                isInside.raise()
                await leave.pass()
                found.access { $0 = Task.currentPriority }
            }
        }
        await waitUntil { isInside.isRaised }
        // It has come so far that it would have raised the holder.
        let waiter = Task.immediate(priority: .background) { try await mutex.withLock(priority: .high) { $0 += 1 } }
        #expect(mutex.waitingCount == 1)
        leave.open()
        await waitUntil { found.value != nil } // whoever awaits the task's value raises it
        #expect(found.value == .background)
        try await holder.value
        try await waiter.value
    }

    /// The task stands where it knows its priority, and is not counted yet.
    @Test
    func anEscalationJustBeforeAWaitIsQueuedRaisesTheHolder() async throws {
        let mutex = AsyncMutex(0), pause = StepPause("SemaphoreWait: knows its rank")
        let holder = await holder(of: mutex, .background)
        let waiter = Task.detached(executorPreference: OwnThreads.shared, priority: .background) {
            try await pause.within { try await mutex.withLock { $0 += 1 } }
        }
        await pause.isReached()
        waiter.escalatePriority(to: .high)
        pause.goOn()
        await waitUntil { mutex.isFree }
        try await waiter.value
        #expect(try await holder.value == .background)
    }

    /// A wait at a named priority keeps its place, and what it waits for is raised all the same.
    @Test(arguments: [nil, CommandPriority.low])
    func aTaskThatIsEscalatedWhileItWaitsRaisesTheHolder(named: CommandPriority?) async throws {
        let mutex = AsyncMutex(0), holder = await holder(of: mutex, .background)
        let waiter = Task.detached(priority: .background) { try await mutex.withLock(priority: named) { $0 += 1 } }
        await waitUntil { mutex.waitingCount == 1 }
        waiter.escalatePriority(to: .high)
        await waitUntil { mutex.isFree }
        try await waiter.value
        #expect(try await holder.value == .background)
    }

    /// The first holds `outer` and waits for `inner`, and one that is urgent waits for `outer`.
    @Test
    func aChainOfHoldersIsRaised() async throws {
        let outer = AsyncMutex(0), inner = AsyncMutex(0), first = await holder(of: inner, .background)
        let middle = Task.detached(priority: .background) {
            try await outer.withLock { _ in try await inner.withLock { _ in Task.currentPriority } }
        }
        await waitUntil { inner.waitingCount == 1 }
        let urgent = waiter(at: outer, .high)
        await waitUntil { inner.isFree }
        try await urgent.value
        #expect(try await middle.value == .high)
        #expect(try await first.value == .background)
    }

    /// Each of two waits for what the other one holds. Raising ends all the same.
    @Test
    func holdersThatWaitForEachOtherAreRaisedOnce() async throws {
        let one = AsyncMutex(0), other = AsyncMutex(0), raised = Shared(0)
        func hold(_ first: AsyncMutex<Int>, then second: AsyncMutex<Int>) -> Task<Void, any Error> {
            Task.detached(priority: .background) {
                try await withTaskPriorityEscalationHandler {
                    try await first.withLock { _ in
                        await waitUntil { !one.isFree && !other.isFree }
                        try await second.withLock { $0 += 1 }
                    }
                } onPriorityEscalated: { _, _ in
                    raised.access { $0 += 1 }
                }
            }
        }
        let tasks = [hold(one, then: other), hold(other, then: one)]
        await waitUntil { one.waitingCount == 1 && other.waitingCount == 1 }
        tasks[0].escalatePriority(to: .high)
        await waitUntil { raised.value == 2 }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }
        #expect(one.isFree && other.isFree)
        #expect(raised.value == 2)
    }

    /// It stays behind one of the same rank, which gets its priority all the same, whether it has it from the beginning
    /// or by an escalation.
    @Test(arguments: [TaskPriority.high, .low, .background])
    func whoWaitsAtALowerPriorityRaisesTheNextHolderToo(priority: TaskPriority) async throws {
        let mutex = AsyncMutex(0), leave = Door(), first = await holder(of: mutex, .medium, until: leave)
        let next = Task.detached(priority: .background) {
            try await mutex.withLock(priority: .normal) { _ in await untilRaised() }
        }
        await waitUntil { mutex.waitingCount == 1 }
        let urgent = Task.detached(priority: priority) { try await mutex.withLock(priority: .normal) { $0 += 1 } }
        await waitUntil { mutex.waitingCount == 2 }
        urgent.escalatePriority(to: .high)
        leave.open()
        await waitUntil { mutex.isFree && mutex.waitingCount == 0 }
        for task in [next, urgent] { try await task.value }
        _ = try await first.value
    }

    /// One that was overtaken too often goes before more urgent ones, and gets their priority.
    @Test
    func whoIsServedBeforeMoreUrgentOnesGetsTheirPriority() async throws {
        let mutex = AsyncMutex(0, bypassLimit: 1), leave = Door()
        let holder = await holder(of: mutex, .medium, until: leave)
        let found = Shared(TaskPriority.background)
        let low = Task.detached(priority: .background) {
            try await mutex.withLock { _ in found.access { $0 = Task.currentPriority } }
        }
        await waitUntil { mutex.waitingCount == 1 }
        let urgent = (0..<3).map { _ in
            Task.detached(priority: .high) { try await mutex.withLock { _ in await Task.yield() } }
        }
        await waitUntil { mutex.waitingCount == 4 }
        leave.open()
        await waitUntil { mutex.isFree && mutex.waitingCount == 0 }
        for task in urgent + [low] { try await task.value }
        _ = try await holder.value
        #expect(found.value == .high)
    }

    /// A task that is enqueued stays where it is, so it is raised before that.
    @Test
    func whoIsServedBeforeMoreUrgentOnesIsResumedAtTheirPriority() async throws {
        let mutex = AsyncMutex(0, bypassLimit: 1), leave = Door(), executor = JobPriorities()
        let holder = await holder(of: mutex, .medium, until: leave)
        let low = Task.detached(executorPreference: executor, priority: .background) {
            try await mutex.withLock { _ in }
        }
        await waitUntil { mutex.waitingCount == 1 && executor.isIdle }
        let first = executor.seen.value
        // One of these overtakes it, and then it goes before the other one.
        let urgent = (0..<2).map { _ in Task.detached(priority: .high) { try await mutex.withLock { $0 += 1 } } }
        await waitUntil { mutex.waitingCount == 3 }
        leave.open()
        await waitUntil { mutex.isFree && mutex.waitingCount == 0 }
        for task in urgent + [low] { try await task.value }
        _ = try await holder.value
        #expect(first.allSatisfy { $0 == .background })
        #expect(executor.seen.value.dropFirst(first.count).first == .high)
    }

    /// Who takes the mutex without waiting says a moment later who it is.
    @Test
    func aHolderThatHasNotSaidYetWhoItIsIsLookedForAgain() async throws {
        let mutex = AsyncMutex(0), isInside = Flag(), says = Flag()
        let holder = Task.detached(priority: .background) {
            #expect(unsafe csk_sem_take_fast(mutex.address, 1))
            isInside.raise()
            await waitUntil { says.isRaised }
            unsafe csk_sem_set_holder(mutex.address, UInt64(RuntimeFacts.addressOfTask()))
            await untilRaised()
            mutex.leave()
        }
        await waitUntil { isInside.isRaised }
        let waiter = waiter(at: mutex, .high)
        await waitUntil { mutex.waitingCount == 1 }
        says.raise()
        await waitUntil { mutex.isFree }
        try await waiter.value
        await holder.value
    }

    /// The memory of a task of `async let` is its parent's, and is used again as soon as it has ended.
    @Test
    func tasksThatEndWhileTheyAreRaisedAreLetGoFirst() async throws {
        let mutex = AsyncMutex(0)
        let urgent = Task.detached(priority: .high) {
            for _ in 0..<2000 { try await mutex.withLock { $0 += 1 } }
        }
        let low = (0..<4).map { _ in
            Task.detached(priority: .background) {
                for _ in 0..<500 {
                    async let one: Void = mutex.withLock { _ in await Task.yield() }
                    async let other: Void = mutex.withLock { $0 += 1 }
                    _ = try await (one, other)
                }
            }
        }
        try await urgent.value
        for task in low { try await task.value }
        #expect(try await mutex.withLock { $0 } == 4000)
    }
}

extension AsyncMutex where Value == Int {
    fileprivate var isFree: Bool { unsafe csk_sem_holder(address) == 0 && csk_sem_permits(address) == 1 }
}
