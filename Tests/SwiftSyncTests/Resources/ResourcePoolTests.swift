import Testing

@testable import SwiftSync

/// Resources that are made when needed and used by one task at a time: order, reserve, failures, closing, shutdown.
@Suite(.endsInTime)
struct ResourcePoolTests {
    private let ledger = Shared(Item.Ledger())

    private func makePool(
        maximum: Int, minimum: Int = 0, reserved: Int = 0, idleTimeout: Duration? = nil,
        afterError: @escaping ResourcePool<Item>.AfterError = { _ in .discard }
    ) -> ResourcePool<Item> {
        ResourcePool(
            maximum: maximum, minimum: minimum, reserved: reserved, idleTimeout: idleTimeout, makeTimeout: nil,
            afterError: afterError, close: { $0.close() }, make: { [ledger] in Item(ledger) })
    }

    // MARK: - Using

    @Test
    func aResourceIsMadeWhenItIsNeededAndUsedAgain() async throws {
        let pool = makePool(maximum: 2)
        #expect(pool.count == 0)
        for _ in 0..<3 {
            let number = try await pool.withResource { item in
                await item.use()
                return item.number
            }
            #expect(number == 1)
        }
        #expect(pool.count == 1 && pool.idleCount == 1 && pool.inUseCount == 0 && ledger.value.made == 1)
    }

    @Test
    func theOneThatWasUsedLastIsUsedNext() async throws {
        let pool = makePool(maximum: 2), first = Flag(), second = Flag()
        let one = await occupy(pool, until: first), two = await occupy(pool, until: second)
        #expect(pool.inUseCount == 2)
        first.raise()
        try await one.value
        second.raise()
        try await two.value
        #expect(try await pool.withResource { $0.number } == 2)
    }

    @Test
    func noMoreThanTheMaximumAreMadeAndEachHasOneUser() async throws {
        let pool = makePool(maximum: 3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<12 {
                group.addTask {
                    for round in 0..<100 {
                        try await pool.withResource(priority: CommandPriority(rawValue: Int32((index + round) % 3))) {
                            await $0.use()
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(ledger.value.made <= 3 && ledger.value.faults.isEmpty)
        #expect(pool.waitingCount == 0 && pool.inUseCount == 0 && pool.idleCount == pool.count)
    }

    @Test
    func tasksAreServedByPriorityAndThenByArrival() async throws {
        let pool = makePool(maximum: 1), leave = Flag(), served = Shared([String]())
        var tasks = [await occupy(pool, until: leave)]
        let orders: [(CommandPriority, String)] = [
            (.low, "low"), (.normal, "normal"), (.high, "high"), (.normal, "normal, later"),
        ]
        for (priority, name) in orders {
            tasks.append(
                await start(at: pool) {
                    try await pool.withResource(priority: priority) { _ in served.append(name) }
                })
        }
        leave.raise()
        for task in tasks { try await task.value }
        #expect(served.value == ["high", "normal", "normal, later", "low"])
    }

    @Test
    func onlyHighPrioritiesTakeWhatIsReserved() async throws {
        let pool = makePool(maximum: 2, reserved: 1), leave = Flag(), leaveHigh = Flag()
        let normal = await occupy(pool, until: leave)
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(priority: .normal, timeout: .milliseconds(1)) { _ in }
        }
        let high = await occupy(pool, .high, until: leaveHigh)
        #expect(pool.inUseCount == 2)
        leave.raise()
        try await normal.value
        // The other one is free now, and anybody may have it.
        try await pool.withResource(priority: .low, timeout: .zero) { await $0.use() }
        leaveHigh.raise()
        try await high.value
        #expect(ledger.value.made == 2 && ledger.value.faults.isEmpty)
    }

    @Test
    func aTimeoutIsNeverEarlyAndZeroMakesNothing() async throws {
        let pool = makePool(maximum: 1), leave = Flag(), clock = ContinuousClock(), begin = clock.now
        await #expect(throws: ResourcePoolError.timedOut) { try await pool.withResource(timeout: .zero) { _ in } }
        #expect(ledger.value.made == 0 && pool.count == 0)
        let inside = await occupy(pool, until: leave)
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(timeout: .milliseconds(2)) { _ in }
        }
        #expect(clock.now - begin >= .milliseconds(2))
        leave.raise()
        try await inside.value
        try await pool.withResource(timeout: .zero) { await $0.use() }
    }

    @Test
    func aCancelledTaskLeavesTheQueue() async throws {
        let pool = makePool(maximum: 1), leave = Flag()
        let inside = await occupy(pool, until: leave)
        let waiting = await start(at: pool) { try await pool.withResource { _ in } }
        waiting.cancel()
        await #expect(throws: ResourcePoolError.cancelled) { try await waiting.value }
        #expect(pool.waitingCount == 0)
        leave.raise()
        try await inside.value
        let cancelled = Task {
            await waitUntil { Task.isCancelled }
            await #expect(throws: ResourcePoolError.cancelled) { try await pool.withResource { _ in } }
        }
        cancelled.cancel()
        await cancelled.value
    }

    // MARK: - Broken ones

    @Test
    func aDiscardedResourceIsClosedAndAnotherIsMade() async throws {
        let pool = makePool(maximum: 1)
        try await pool.withResource { item, lease in
            await item.use()
            lease.discard()
        }
        #expect(try await pool.withResource { $0.number } == 2)
        await waitUntil { ledger.value.closed == [1] }
        #expect(pool.count == 1)
    }

    @Test
    func afterAnErrorTheProgramSaysWhatBecomesOfTheResource() async throws {
        let pool = makePool(maximum: 1, afterError: { $0 is CancellationError ? .discard : .keep })
        await #expect(throws: Item.Failure.expected) {
            try await pool.withResource { _ in throw Item.Failure.expected }
        }
        #expect(try await pool.withResource { $0.number } == 1)
        await #expect(throws: CancellationError.self) { try await pool.withResource { _ in throw CancellationError() } }
        #expect(try await pool.withResource { $0.number } == 2)
        let other = makePool(maximum: 1)
        await #expect(throws: Item.Failure.expected) {
            try await other.withResource { _ in throw Item.Failure.expected }
        }
        #expect(other.idleCount == 0)
    }

    @Test
    func whatALeaseGaveUpIsClosedThoughItWouldBeKeptAfterTheError() async throws {
        let pool = makePool(maximum: 1, afterError: { _ in .keep })
        await #expect(throws: Item.Failure.expected) {
            try await pool.withResource { _, lease in
                lease.discard()
                throw Item.Failure.expected
            }
        }
        #expect(pool.idleCount == 0)
        #expect(try await pool.withResource { $0.number } == 2)
    }

    @Test
    func aFailedFactoryGivesItsErrorToOneAndTheNextTries() async throws {
        let calls = Shared(0), go = Flag()
        let pool = ResourcePool<Int>(maximum: 1, makeTimeout: nil) {
            let call = calls.access {
                $0 += 1
                return $0
            }
            if call == 1 {
                await waitUntil { go.isRaised }
                throw Item.Failure.expected
            }
            return call
        }
        let first = Task { try await pool.withResource { $0 } }
        await waitUntil { calls.value == 1 }
        let second = Task { try await pool.withResource { $0 } }
        await waitUntil { pool.waitingCount == 2 }
        go.raise()
        await #expect(throws: Item.Failure.expected) { try await first.value }
        #expect(try await second.value == 2)
        #expect(pool.count == 1)
    }

    @Test
    func aFactoryThatHangsHoldsUpNobodyPastTheTimeoutAndWhatItMakesIsKept() async throws {
        let go = Flag(), wasCancelled = Flag()
        let pool = ResourcePool<Int>(maximum: 1, makeTimeout: nil) {
            await waitUntil { go.isRaised }
            if Task.isCancelled { wasCancelled.raise() }
            return 7
        }
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(timeout: .milliseconds(2)) { $0 }
        }
        #expect(pool.count == 1 && pool.waitingCount == 0)
        // Its place is taken as long as it makes one.
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(timeout: .milliseconds(1)) { $0 }
        }
        go.raise()
        #expect(try await pool.withResource { $0 } == 7)
        #expect(!wasCancelled.isRaised && pool.count == 1)
    }

    // MARK: - Closing

    @Test
    func idleOnesAreClosedAfterATimeButTheFewest() async throws {
        let pool = makePool(maximum: 3, minimum: 1, idleTimeout: .milliseconds(2)), leave = Flag()
        var tasks: [Task<Void, any Error>] = []
        for _ in 0..<3 { tasks.append(await occupy(pool, until: leave)) }
        leave.raise()
        for task in tasks { try await task.value }
        await waitUntil { ledger.value.closed.count == 2 }
        try await pool.withResource { await $0.use() }
        #expect(ledger.value.made == 3 && pool.count == 1)
        let report = await pool.shutdown()
        #expect(report.isComplete && ledger.value.closed.count == 3 && ledger.value.faults.isEmpty)
    }

    @Test
    func aShutdownRefusesWaitersAndNamesWhoHoldsOne() async throws {
        let pool = makePool(maximum: 1), leave = Flag()
        let inside = await occupy(pool, until: leave)
        let waiting = await start(at: pool) { try await pool.withResource { _ in } }
        let report = await pool.shutdown(timeout: .milliseconds(2))
        await #expect(throws: ResourcePoolError.shutDown) { try await waiting.value }
        await #expect(throws: ResourcePoolError.shutDown) { try await pool.withResource { _ in } }
        #expect(!report.isComplete && report.holders.count == 1 && report.unfinishedCount == 0)
        #expect(report.holders[0].location.contains("ResourceFixture.swift:"))
        #expect(report.holders[0].heldFor >= .milliseconds(2))
        #expect("\(report)".contains("held by"))
        let end = Task { await pool.shutdown() }
        leave.raise()
        try await inside.value
        #expect(await end.value.isComplete)
        #expect(await pool.shutdown(timeout: .zero).isComplete)
        #expect(ledger.value.closed == [1] && pool.isShutDown && pool.count == 0)
    }

    @Test
    func aShutdownClosesWhatIsIdleAndWaitsForIt() async throws {
        let closed = Shared(0)
        let pool = ResourcePool<Int>(
            maximum: 2, name: "connections",
            close: { _ in
                await Task.yield()
                closed.access { $0 += 1 }
            }, make: { 1 })
        try await pool.withResource { _ in try await pool.withResource { _ in } }
        #expect(pool.idleCount == 2)
        let report = await pool.shutdown()
        #expect(report.isComplete && "\(report)" == "connections: all resources are closed")
        #expect(closed.value == 2 && pool.idleCount == 0)
    }

    @Test
    func aCancelledShutdownReportsAtOnce() async throws {
        let pool = makePool(maximum: 1), leave = Flag()
        let inside = await occupy(pool, until: leave)
        let shutdown = Task { await pool.shutdown() }
        await waitUntil { pool.isShutDown }
        shutdown.cancel()
        #expect(await shutdown.value.holders.count == 1)
        leave.raise()
        try await inside.value
        #expect(await pool.shutdown().isComplete)
    }

    @Test
    func aPoolThatGoesAwayClosesWhatItHas() async throws {
        do {
            let pool = makePool(maximum: 1)
            try await pool.withResource { await $0.use() }
        }
        await waitUntil { ledger.value.closed == [1] }
        #expect(ledger.value.faults.isEmpty)
    }

    @Test(arguments: [(0, 0, 0), (-1, 0, 0), (1, 2, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (1 << 20 + 1, 0, 0)])
    func numbersThatAreOutOfBoundsStopTheProgram(maximum: Int, minimum: Int, reserved: Int) async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [maximum, minimum, reserved] in
            _ = ResourcePool<Int>(maximum: maximum, minimum: minimum, reserved: reserved, name: "connections") { 1 }
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("ResourcePool connections: maximum"))
    }

    @Test
    func nothingIsLostAmongTasksThatTimeOutAreCancelledAndFail() async throws {
        let pool = makePool(maximum: 3, reserved: 1, idleTimeout: .milliseconds(1))
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        let timeout: TimeLimit = round % 5 == 0 ? .microseconds(20) : .never
                        let task = Task {
                            try await pool.withResource(
                                priority: index % 3 == 0 ? .high : .normal, timeout: timeout
                            ) { item, lease in
                                await item.use()
                                if round % 7 == 0 { lease.discard() }
                                if round % 11 == 0 { throw Item.Failure.expected }
                            }
                        }
                        if round % 3 == 0 { task.cancel() }
                        _ = await task.result
                    }
                }
            }
        }
        #expect(pool.inUseCount == 0 && pool.waitingCount == 0 && pool.count <= 3)
        let leave = Flag()
        var tasks: [Task<Void, any Error>] = []
        for _ in 0..<3 { tasks.append(await occupy(pool, .high, until: leave)) }
        leave.raise()
        for task in tasks { try await task.value }
        #expect(await pool.shutdown().isComplete)
        #expect(ledger.value.closed.count == ledger.value.made && ledger.value.faults.isEmpty)
    }
}
