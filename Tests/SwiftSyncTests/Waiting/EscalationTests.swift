import Testing

@testable import SwiftSync

/// A task that waits at its own priority, and is escalated, moves up.
@Suite(.endsInTime)
struct EscalationTests {
    enum Object: String, CaseIterable, CustomTestStringConvertible {
        case asyncMutex, semaphore, pool, mutex, predicate, value

        var testDescription: String { rawValue }
    }

    private struct Place: Sendable {
        let wait: @Sendable (CommandPriority?, @escaping @Sendable () -> Void) async throws -> Void
        let waiting: @Sendable () -> Int
        /// Has the object held by others. What it returns lets go of it.
        let hold: @Sendable () async -> @Sendable () -> Void
    }

    /// Holds an object in whose section a task may wait.
    private static func held(
        _ inside: @escaping @Sendable (@escaping @Sendable () async -> Void) async throws -> Void
    ) async -> @Sendable () -> Void {
        let entered = Flag(), leave = Door()
        Task {
            try await inside {
                entered.raise()
                await leave.pass()
            }
        }
        await waitUntil { entered.isRaised }
        return { leave.open() }
    }

    private static func place(_ object: Object) -> Place {
        switch object {
        case .asyncMutex:
            let mutex = AsyncMutex(0)
            return Place(
                wait: { priority, body in try await mutex.withLock(priority: priority) { _ in body() } },
                waiting: { mutex.waitingCount },
                hold: { await held { body in try await mutex.withLock(priority: .normal) { _ in await body() } } })
        case .semaphore:
            let semaphore = PrioritySemaphore(value: 1)
            return Place(
                wait: { priority, body in try await semaphore.withPermit(priority: priority) { body() } },
                waiting: { semaphore.waitingCount },
                hold: { await held { body in try await semaphore.withPermit(priority: .normal) { await body() } } })
        case .pool:
            let pool = ResourcePool<Int>(maximum: 1) { 1 }
            return Place(
                wait: { priority, body in try await pool.withResource(priority: priority) { _ in body() } },
                waiting: { pool.waitingCount },
                hold: { await held { body in try await pool.withResource(priority: .normal) { _ in await body() } } })
        case .mutex:
            // No grant is lost: a thread of its own takes its time to begin.
            let mutex = PriorityMutex(0, graceMicroseconds: UInt32(Int32.max))
            return Place(
                wait: { priority, body in try await mutex.suspending.withLock(priority: priority) { _ in body() } },
                waiting: { mutex.waitingCount },
                hold: {
                    let entered = Flag(), leave = Flag()
                    onThread {
                        mutex.withLock { _ in
                            entered.raise()
                            waitUntil { leave.isRaised }
                        }
                    }
                    await waitUntil { entered.isRaised }
                    return { leave.raise() }
                })
        case .predicate:
            let mutex = PriorityMutex(false, graceMicroseconds: UInt32(Int32.max))
            return Place(
                wait: { priority, body in
                    try await mutex.suspending.withLock(when: { $0 }, priority: priority) { _ in body() }
                },
                waiting: { mutex.waitingCount }, hold: { { mutex.withLock { $0 = true } } })
        case .value:
            let value = QueueSafeValue(value: 0)
            return Place(
                wait: { priority, body in
                    if let priority {
                        _ = try await value.suspending.priority(priority).set { _ in body() }.get()
                    } else {
                        _ = try await value.suspending.set { _ in body() }.get()
                    }
                },
                waiting: { value.waitingCount }, hold: { await SwiftSyncTests.hold(value) })
        }
    }

    /// The place at which a background task is served that came after three of a higher priority, and was escalated
    /// above them while all waited. All are served before the test awaits any of them, which would escalate that one.
    private func placeOfEscalated(
        _ object: Object, naming priority: CommandPriority? = nil, request: CommandPriority? = nil
    ) async throws -> Int {
        let place = Self.place(object), order = Shared([String]()), leave = await place.hold()
        var tasks = [Task<Void, any Error>]()
        for number in 1...3 {
            tasks.append(Task.detached(priority: .utility) { try await place.wait(nil) { order.append("other") } })
            await waitUntil { place.waiting() == number }
        }
        // A request stands in a pool's queue a moment before an escalation of its task finds it.
        let waits = StepPause("TaskWait: is queued"), isPool = object == .pool
        let wait: @Sendable () async throws -> Void = {
            if let request {
                try await withPriority(request) { try await place.wait(priority) { order.append("low") } }
            } else {
                try await place.wait(priority) { order.append("low") }
            }
        }
        let executor: (any TaskExecutor)? = isPool ? OwnThreads.shared : nil
        let low = Task.detached(executorPreference: executor, priority: .background) {
            if isPool { try await waits.within { try await wait() } } else { try await wait() }
        }
        if isPool { await waits.isReached() }
        waits.goOn()
        await waitUntil { place.waiting() == 4 }
        low.escalatePriority(to: .high)
        leave()
        await waitUntil { order.value.count == 4 }
        for task in tasks + [low] { try await task.value }
        return try #require(order.value.firstIndex(of: "low"))
    }

    @Test(arguments: Object.allCases)
    func aTaskThatIsEscalatedWhileItWaitsIsServedNext(object: Object) async throws {
        #expect(try await placeOfEscalated(object) == 0)
    }

    /// Whoever was named a priority keeps it.
    @Test(arguments: Object.allCases)
    func aNamedPriorityIsNotRaised(object: Object) async throws {
        #expect(try await placeOfEscalated(object, naming: .low) == 3)
        #expect(try await placeOfEscalated(object, request: .low) == 3)
    }

    /// The task stands where it knows its priority, and no handler or no waiter of it can be found.
    @Test(arguments: [
        (Object.asyncMutex, "SemaphoreWait: knows its rank"), (.semaphore, "SemaphoreWait: knows its rank"),
        (.pool, "ResourcePool: a request waits"), (.mutex, "SuspendedWaiter: knows its rank"),
        (.predicate, "SuspendedCondition: knows its rank"),
    ])
    func anEscalationJustBeforeAWaitIsQueuedIsNotMissed(object: Object, step: String) async throws {
        let place = Self.place(object), order = Shared([String]()), leave = await place.hold()
        let other = Task.detached(priority: .utility) { try await place.wait(nil) { order.append("other") } }
        await waitUntil { place.waiting() == 1 }
        // Where it waits for a predicate it has waited for the gate before.
        let isQueued = object == .predicate ? "SuspendedCondition: is queued" : "TaskWait: is queued"
        let pause = StepPause(step), after = StepPause(isQueued)
        let low = Task.detached(executorPreference: OwnThreads.shared, priority: .background) {
            try await pause.within { try await after.within { try await place.wait(nil) { order.append("low") } } }
        }
        await pause.isReached()
        low.escalatePriority(to: .high)
        pause.goOn()
        await after.isReached()
        after.goOn()
        #expect(place.waiting() == 2)
        leave()
        await waitUntil { order.value.count == 2 }
        for task in [other, low] { try await task.value }
        #expect(order.value == ["low", "other"])
    }

    /// A task that is awaited by one of a higher priority is escalated by the system.
    @Test
    func whoIsAwaitedByAnUrgentTaskIsServedNext() async throws {
        let mutex = AsyncMutex([String]()), entered = Flag(), leave = Door()
        let holder = Task {
            try await mutex.withLock { _ in
                entered.raise()
                await leave.pass()
            }
        }
        await waitUntil { entered.isRaised }
        let other = Task.detached(priority: .utility) { try await mutex.withLock { $0.append("other") } }
        await waitUntil { mutex.waitingCount == 1 }
        let isEscalated = Flag()
        let low = Task.detached(priority: .background) {
            // The runtime calls the handlers of a task from the innermost, which is the wait's, to this one.
            try await withTaskPriorityEscalationHandler {
                try await mutex.withLock { $0.append("low") }
            } onPriorityEscalated: { _, _ in
                isEscalated.raise()
            }
        }
        await waitUntil { mutex.waitingCount == 2 }
        let urgent = Task.detached(priority: .high) { try await low.value }
        await waitUntil { isEscalated.isRaised }
        leave.open()
        for task in [holder, other, low, urgent] { try await task.value }
        #expect(try await mutex.withLock { $0 } == ["low", "other"])
    }

    /// A request that may not have the reserve moves up below those that may, and bars nobody from it.
    @Test
    func aRequestThatIsEscalatedAboveTheReserveDoesNotBarIt() async throws {
        let pool = ResourcePool<Int>(maximum: 3, reserved: 1) { 1 }, leave = Door(), inside = Shared(0)
        let holders = (0..<2).map { _ in
            Task {
                try await pool.withResource(priority: .low) { _ in
                    inside.access { $0 += 1 }
                    await leave.pass()
                }
            }
        }
        await waitUntil { inside.value == 2 }
        let low = Task.detached(priority: .background) { try await pool.withResource { $0 } }
        await waitUntil { pool.waitingCount == 1 }
        low.escalatePriority(to: .high)
        for _ in 0..<3 { #expect(try await pool.withResource(priority: .high) { $0 } == 1) }
        #expect(pool.waitingCount == 1)
        leave.open()
        for task in holders { try await task.value }
        #expect(try await low.value == 1)
    }

    /// Permits are handed out as soon as the head of the queue is one that there are enough for.
    @Test
    func aTaskThatIsEscalatedAboveALargeRequestIsServedAtOnce() async throws {
        let semaphore = PrioritySemaphore(value: 1)
        let large = Task.detached(priority: .utility) { try await semaphore.wait(permits: 2) }
        await waitUntil { semaphore.waitingCount == 1 }
        let low = Task.detached(priority: .background) { try await semaphore.wait() }
        await waitUntil { semaphore.waitingCount == 2 }
        low.escalatePriority(to: .high)
        try await low.value
        #expect(semaphore.waitingCount == 1)
        try semaphore.signal(2)
        try await large.value
    }

    /// Escalations at any moment of a wait lose nobody.
    @Test
    func escalationsBesideGrantsAndCancellationsLoseNobody() async throws {
        let mutex = AsyncMutex(0), semaphore = PrioritySemaphore(value: 2), pool = ResourcePool<Int>(maximum: 2) { 1 }
        let section = PriorityMutex(0), value = QueueSafeValue(value: 0), count = Shared(0)
        for round in 0..<400 {
            let tasks = (0..<4).map { _ in
                Task.detached(priority: .background) {
                    try? await mutex.withLock { $0 += 1 }
                    try? await semaphore.withPermit { await Task.yield() }
                    try? await pool.withResource { _ in count.access { $0 += 1 } }
                    try? await section.suspending.withLock { $0 += 1 }
                    try? await section.suspending.withLock(when: { $0 > 0 }) { $0 -= 1 }
                    await value.suspending.set { $0 += 1 }
                }
            }
            for (number, task) in tasks.enumerated() {
                if (round + number) % 3 == 0 { await Task.yield() }
                task.escalatePriority(to: number % 2 == 0 ? .high : .medium)
                if (round + number) % 7 == 0 { task.cancel() }
            }
            for task in tasks { await task.value }
        }
        #expect(mutex.waitingCount == 0)
        #expect(semaphore.availablePermits == 2)
        #expect(pool.waitingCount == 0)
        #expect(section.waitingCount == 0)
        #expect(value.waitingCount == 0)
        #expect(count.value > 0)
    }

    // MARK: - A pool's factory

    /// A pool whose factory ends once its task has a high priority, and a task that waits for it.
    private func poolThatMakes(
        _ priority: TaskPriority
    ) async -> (ResourcePool<TaskPriority>, Task<TaskPriority, any Error>) {
        let began = Flag()
        let pool = ResourcePool<TaskPriority>(maximum: 1) {
            let first = Task.currentPriority
            began.raise()
            await untilRaised()
            return first
        }
        let task = Task.detached(priority: priority) { try await pool.withResource { $0 } }
        await waitUntil { began.isRaised }
        return (pool, task)
    }

    @Test
    func whoComesToWaitRaisesTheFactoryThatIsUnderWay() async throws {
        let (pool, low) = await poolThatMakes(.background)
        let urgent = Task.detached(priority: .high) { try await pool.withResource { $0 } }
        await waitUntil { pool.waitingCount == 0 && pool.inUseCount == 0 }
        #expect(try await urgent.value == .background)
        #expect(try await low.value == .background)
    }

    @Test
    func aTaskThatIsEscalatedWhileItWaitsRaisesTheFactory() async throws {
        let (pool, low) = await poolThatMakes(.background)
        low.escalatePriority(to: .high)
        await waitUntil { pool.waitingCount == 0 && pool.inUseCount == 0 }
        #expect(try await low.value == .background)
    }

    /// It keeps its place, and hurries the factory all the same.
    @Test
    func aTaskThatIsEscalatedWhileItWaitsAtANamedPriorityRaisesTheFactory() async throws {
        let (pool, low) = await poolThatMakes(.background)
        let named = Task.detached(priority: .background) { try await pool.withResource(priority: .low) { $0 } }
        await waitUntil { pool.waitingCount == 2 }
        named.escalatePriority(to: .high)
        await waitUntil { pool.waitingCount == 0 && pool.inUseCount == 0 }
        #expect(try await named.value == .background)
        #expect(try await low.value == .background)
    }

    /// Between the beginning of a factory's call and the moment from which its task is known.
    @Test
    func aFactoryIsRaisedWhoseTaskIsNotKnownYet() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 1))
        let (_, making) = try queueMaking(.low, in: &state)
        #expect(making.firstPriority == Task.currentPriority, "a lower rank lowers nothing")
        let (urgent, effects) = try enter(.high, in: &state)
        #expect(effects.raised.isEmpty && effects.started.isEmpty)
        let task = Task {}
        #expect(state.keep(task, for: making).raised == [.high])
        #expect(state.keep(task, for: making).cancelled.isEmpty)
        let again = state.hurry(for: urgent, at: .low)
        #expect(again.raised.isEmpty, "it was raised")
        let (_, more) = try enter(.highest, in: &state)
        #expect(more.raised.count == 1)
        // One that waits no longer raises nothing.
        _ = urgent.claim(0)
        let none = state.hurry(for: urgent, at: .low)
        #expect(none.raised.isEmpty)
    }
}
