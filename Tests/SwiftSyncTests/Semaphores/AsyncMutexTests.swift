import Testing

@testable import SwiftSync

/// Sections that suspend: nobody else is inside, order, deadlines, cancellation, re-entry, isolation.
@Suite(.endsInTime)
struct AsyncMutexTests {
    private enum Failure: Error { case expected }

    /// Starts a task, and returns once it waits for the mutex.
    private func start<Value>(
        _ priority: TaskPriority = .medium, at mutex: AsyncMutex<Value>,
        _ body: @escaping @Sendable () async -> Void
    ) async -> Task<Void, Never> {
        let waiting = mutex.waitingCount
        let task = Task.detached(priority: priority) { await body() }
        await waitUntil { mutex.waitingCount == waiting + 1 }
        return task
    }

    /// Starts a task that is inside until `leave` is opened.
    private func occupy<Value>(_ mutex: AsyncMutex<Value>, until leave: Door) async -> Task<Void, Never> {
        let entered = Flag()
        let task = Task.detached {
            _ = try? await mutex.withLock { _ in
                entered.raise()
                await leave.pass()
            }
        }
        await waitUntil { entered.isRaised }
        return task
    }

    @Test
    func aSectionHasTheValueAndReturnsAndThrows() async throws {
        let mutex = AsyncMutex([1])
        let count = try await mutex.withLock { value in
            value.append(2)
            await Task.yield()
            return value.count
        }
        #expect(count == 2)
        await #expect(throws: Failure.expected) {
            try await mutex.withLock { value in
                value.append(3)
                await Task.yield()
                throw Failure.expected
            }
        }
        #expect(try await mutex.withLock { $0 } == [1, 2, 3])
        #expect(await mutex.withLockIfAvailable { $0.count } == 3)
    }

    @Test
    func nobodyElseIsInsideWhileASectionIsSuspended() async throws {
        let mutex = AsyncMutex((entered: 0, sum: 0)), tasks = 8, rounds = 400
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<tasks {
                group.addTask {
                    for round in 0..<rounds {
                        try await mutex.withLock(priority: CommandPriority(rawValue: Int32((index + round) % 3))) {
                            value in
                            value.entered += 1
                            #expect(value.entered == 1)
                            let sum = value.sum
                            if round % 2 == 0 { await Task.yield() }
                            value.sum = sum + 1
                            value.entered -= 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await mutex.withLock { $0.sum } == tasks * rounds)
        #expect(mutex.waitingCount == 0)
    }

    @Test
    func tasksEnterByPriorityAndThenByArrival() async throws {
        let mutex = AsyncMutex([String]()), leave = Door()
        var tasks = [await occupy(mutex, until: leave)]
        let orders: [(CommandPriority?, TaskPriority, String)] = [
            (.low, .high, "low"), (nil, .high, "high by its task"), (.normal, .background, "normal"),
            (.high, .low, "high"), (.normal, .high, "normal, later"), (nil, .background, "background by its task"),
        ]
        for (priority, taskPriority, name) in orders {
            tasks.append(
                await start(taskPriority, at: mutex) {
                    try? await mutex.withLock(priority: priority) { $0.append(name) }
                })
        }
        leave.open()
        for task in tasks { await task.value }
        let names = ["high by its task", "high", "normal", "normal, later", "low", "background by its task"]
        #expect(try await mutex.withLock { $0 } == names)
    }

    @Test
    func aCancelledTaskLeavesTheQueueAndOneInsideStays() async throws {
        let mutex = AsyncMutex(0), leave = Door(), caught = Shared<AsyncMutexError?>(nil)
        let inside = await occupy(mutex, until: leave)
        let waiting = await start(at: mutex) {
            do { try await mutex.withLock { $0 += 1 } } catch { caught.access { $0 = error as? AsyncMutexError } }
        }
        waiting.cancel()
        await waiting.value
        #expect(caught.value == .cancelled && mutex.waitingCount == 0)
        inside.cancel()
        #expect(await mutex.withLockIfAvailable { $0 } == nil)
        leave.open()
        await inside.value
        #expect(try await mutex.withLock { $0 } == 0)
    }

    @Test
    func aTaskThatIsCancelledAlreadyDoesNotEnter() async throws {
        let mutex = AsyncMutex(0)
        let task = Task {
            await waitUntil { Task.isCancelled }
            await #expect(throws: AsyncMutexError.cancelled) { try await mutex.withLock { $0 += 1 } }
        }
        task.cancel()
        await task.value
        #expect(try await mutex.withLock { $0 } == 0)
    }

    @Test
    func aTimeoutIsNeverEarlyAndZeroTriesOnce() async throws {
        let mutex = AsyncMutex(0), leave = Door(), clock = ContinuousClock(), begin = clock.now
        let inside = await occupy(mutex, until: leave)
        await #expect(throws: AsyncMutexError.timedOut) {
            try await mutex.withLock(timeout: .milliseconds(2)) { $0 += 1 }
        }
        #expect(clock.now - begin >= .milliseconds(2))
        for timeout in [Duration.zero, .seconds(-1)] {
            await #expect(throws: AsyncMutexError.timedOut) {
                try await mutex.withLock(timeout: .after(timeout)) { $0 += 1 }
            }
        }
        leave.open()
        await inside.value
        try await mutex.withLock(timeout: .zero) { $0 += 1 }
        #expect(try await mutex.withLock { $0 } == 1)
    }

    @Test
    func aTaskThatIsInsideIsToldThatItWouldWaitForItself() async throws {
        let mutex = AsyncMutex(0), other = AsyncMutex(0)
        try await mutex.withLock { _ in
            await Task.yield()
            for timeout in [Duration.zero, .milliseconds(50)] {
                await #expect(throws: AsyncMutexError.wouldDeadlock) {
                    try await mutex.withLock(timeout: .after(timeout)) { $0 += 1 }
                }
            }
            #expect(await mutex.withLockIfAvailable { $0 } == nil)
            try await other.withLock { $0 += 1 }
        }
        try await mutex.withLock { $0 += 1 }
        // A child task is another one.
        try await mutex.withLock { _ in
            async let child = #expect(throws: AsyncMutexError.timedOut) {
                try await mutex.withLock(timeout: .milliseconds(1)) { $0 += 1 }
            }
            _ = await child
        }
        #expect(try await mutex.withLock { $0 } == 1)
    }

    /// Both tasks are the main actor's. So the second, which has the mutex next, has not run yet when the first comes
    /// again.
    @Test @MainActor
    func whoHasLeftMayWaitLikeOthers() async throws {
        let mutex = AsyncMutex([String]()), entered = Flag()
        let first = Task { @MainActor in
            try await mutex.withLock { value in
                entered.raise()
                await waitUntil { mutex.waitingCount == 1 }
                value.append("first")
            }
            try await mutex.withLock { $0.append("first, again") }
        }
        await waitUntil { entered.isRaised }
        let second = Task { @MainActor in try await mutex.withLock { $0.append("second") } }
        try await first.value
        try await second.value
        #expect(try await mutex.withLock { $0 } == ["first", "second", "first, again"])
    }

    @Test
    func aTryThatEnteredIsInsideLikeOthers() async throws {
        let mutex = AsyncMutex(0)
        let error = await mutex.withLockIfAvailable { _ in
            await #expect(throws: AsyncMutexError.wouldDeadlock) {
                try await mutex.withLock(timeout: .milliseconds(50)) { $0 += 1 }
            }
        }
        #expect(error != nil)
        #expect(try await mutex.withLock { $0 } == 0)
    }

    @Test
    func aTryPassesNobodyWhoWaits() async throws {
        let mutex = AsyncMutex(0), leave = Door()
        let inside = await occupy(mutex, until: leave)
        let waiting = await start(at: mutex) { try? await mutex.withLock { $0 += 1 } }
        #expect(await mutex.withLockIfAvailable { $0 } == nil)
        leave.open()
        await inside.value
        await waiting.value
        #expect(await mutex.withLockIfAvailable { $0 } == 1)
    }

    @Test @MainActor
    func aSectionOfTheMainActorRunsThere() async throws {
        let mutex = AsyncMutex(0), leave = Door()
        let inside = await occupy(mutex, until: leave)
        let task = Task { @MainActor in
            try await mutex.withLock { value in
                MainActor.assertIsolated()
                await Task.yield()
                MainActor.assertIsolated()
                value += 1
            }
            MainActor.assertIsolated()
        }
        await waitUntil { mutex.waitingCount == 1 }
        leave.open()
        await inside.value
        try await task.value
        #expect(try await mutex.withLock { $0 } == 1)
    }

    @Test
    func aValueThatCantBeCopiedIsProtectedAndEndsWithTheMutex() async throws {
        struct Unique: ~Copyable {
            let ended: Flag
            var uses = 0
            deinit { ended.raise() }
        }
        let ended = Flag()
        var mutex: AsyncMutex<Unique>? = AsyncMutex(Unique(ended: ended))
        let uses = try await mutex!.withLock { value in
            value.uses += 1
            await Task.yield()
            return value.uses
        }
        #expect(uses == 1 && !ended.isRaised)
        mutex = nil
        #expect(ended.isRaised)
    }

    @Test
    func nothingIsLostAmongTasksThatTimeOutAndAreCancelled() async throws {
        let mutex = AsyncMutex(0), entered = Shared(0)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for round in 0..<300 {
                        let timeout: TimeLimit = round % 5 == 0 ? .microseconds(20) : .never
                        let task = Task {
                            try await mutex.withLock(
                                priority: CommandPriority(rawValue: Int32(index % 3)), timeout: timeout
                            ) { value in
                                let before = value
                                await Task.yield()
                                value = before + 1
                                entered.access { $0 += 1 }
                            }
                        }
                        if round % 3 == 0 { task.cancel() }
                        _ = await task.result
                    }
                }
            }
        }
        #expect(try await mutex.withLock { $0 } == entered.value)
        #expect(mutex.waitingCount == 0 && entered.value > 0)
    }
}
