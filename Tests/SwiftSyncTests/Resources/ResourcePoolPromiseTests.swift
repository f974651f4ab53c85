import Testing

@testable import SwiftSync

/// What a program finds that takes the promises of a pool at their word: places, the reserve, and ends that meet.
@Suite(.endsInTime)
struct ResourcePoolPromiseTests {
    private let ledger = Shared(Item.Ledger())

    private func makePool(
        maximum: Int, minimum: Int = 0, reserved: Int = 0, close: @escaping @Sendable (Item) async -> Void
    ) -> ResourcePool<Item> {
        ResourcePool(
            maximum: maximum, minimum: minimum, reserved: reserved, makeTimeout: nil, close: close,
            make: { [ledger] in Item(ledger) })
    }

    private func makePool(maximum: Int, reserved: Int = 0) -> ResourcePool<Item> {
        makePool(maximum: maximum, reserved: reserved) { $0.close() }
    }

    // MARK: - Order

    @Test
    func whoWaitsForWhatIsNotReservedIsPassedByWhoComesLaterWithAHigherPriority() async throws {
        let pool = makePool(maximum: 2, reserved: 1), leaves = [Flag(), Flag()], served = Shared([String]())
        let holders = [
            await occupy(pool, .high, until: leaves[0]), await occupy(pool, .high, until: leaves[1]),
        ]
        var tasks: [Task<Void, any Error>] = []
        for (priority, name) in [(CommandPriority.low, "low"), (.normal, "normal")] {
            tasks.append(
                await start(at: pool) {
                    try await pool.withResource(priority: priority) { _ in
                        served.append(name)
                    }
                })
        }
        for leave in leaves { leave.raise() }
        for task in holders + tasks { try await task.value }
        #expect(served.value == ["normal", "low"])
    }

    @Test
    func prioritiesAtTheEndsOfTheirRangeKeepTheirOrder() async throws {
        let pool = makePool(maximum: 1), leave = Flag(), served = Shared([Int32]())
        var tasks = [await occupy(pool, until: leave)]
        for priority in [0, Int32.min, .max, .min + 1, .max - 1] {
            tasks.append(
                await start(at: pool) {
                    try await pool.withResource(priority: CommandPriority(rawValue: priority)) { _ in
                        served.append(priority)
                    }
                })
        }
        leave.raise()
        for task in tasks { try await task.value }
        #expect(served.value == [.max, .max - 1, 0, .min + 1, .min])
    }

    @Test
    func withoutAPriorityItIsThatOfTheTask() async throws {
        let pool = makePool(maximum: 1), leave = Flag(), served = Shared([String]())
        var tasks = [await occupy(pool, until: leave)]
        for (priority, name) in [(TaskPriority.low, "low"), (.high, "high")] {
            let waiting = pool.waitingCount
            tasks.append(Task(priority: priority) { try await pool.withResource { _ in served.append(name) } })
            await waitUntil { pool.waitingCount == waiting + 1 }
        }
        leave.raise()
        await waitUntil { served.value.count == 2 }
        #expect(served.value == ["high", "low"])
        for task in tasks { try await task.value }
    }

    @Test(arguments: [Int32.min, .max])
    func theReserveMayBeForThePrioritiesAtTheEnds(of priority: Int32) async throws {
        let pool = ResourcePool(
            maximum: 1, reserved: 0, reservedFor: CommandPriority(rawValue: priority), make: { 1 })
        #expect(try await pool.withResource(priority: CommandPriority(rawValue: priority)) { $0 } == 1)
        let two = ResourcePool(
            maximum: 2, reserved: 1, reservedFor: CommandPriority(rawValue: priority), make: { 1 })
        try await two.withResource(priority: CommandPriority(rawValue: .min)) { _ in
            // Where all are high, all have the reserve.
            if priority == .min {
                try await two.withResource(priority: CommandPriority(rawValue: .min), timeout: .seconds(3600)) { _ in }
            } else {
                await #expect(throws: ResourcePoolError.timedOut) {
                    try await two.withResource(
                        priority: CommandPriority(rawValue: .max - 1), timeout: .milliseconds(1)
                    ) { _ in }
                }
                try await two.withResource(priority: CommandPriority(rawValue: .max)) { _ in }
            }
        }
    }

    // MARK: - No more than the maximum

    @Test
    func theOneThatIsBeingClosedIsOneOfTheMaximum() async throws {
        let goOn = Flag(), isClosing = Flag()
        let pool = makePool(maximum: 1) { item in
            isClosing.raise()
            await waitUntil { goOn.isRaised }
            item.close()
        }
        try await pool.withResource { _, lease in lease.discard() }
        await waitUntil { isClosing.isRaised }
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(timeout: .milliseconds(1)) { _ in }
        }
        #expect(ledger.value.made == 1)
        let next = await start(at: pool) { try await pool.withResource { await $0.use() } }
        goOn.raise()
        try await next.value
        #expect(ledger.value.made == 2 && ledger.value.closed == [1])
    }

    @Test
    func aCloseOrAFactoryOfALowPriorityTakesNothingOfTheReserve() async throws {
        let goOn = Flag(), isClosing = Shared(0)
        let pool = makePool(maximum: 2, reserved: 1) { item in
            isClosing.increment()
            await waitUntil { goOn.isRaised }
            item.close()
        }
        try await pool.withResource(priority: .low) { _, lease in lease.discard() }
        await waitUntil { isClosing.value == 1 }
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(priority: .low, timeout: .milliseconds(1)) { _ in }
        }
        try await pool.withResource(priority: .high) { await $0.use() }
        goOn.raise()
        // Once it is closed, the place is theirs again, and no more than that.
        try await pool.withResource(priority: .low) { _ in
            await #expect(throws: ResourcePoolError.timedOut) {
                try await pool.withResource(priority: .low, timeout: .milliseconds(1)) { _ in }
            }
            return
        }

        let made = Shared(0), deliver = Flag()
        let slow = ResourcePool(maximum: 2, reserved: 1, makeTimeout: nil) {
            made.increment()
            if made.value == 1 { await waitUntil { deliver.isRaised } }
            return 1
        }
        for _ in 0..<2 {
            await #expect(throws: ResourcePoolError.timedOut) {
                try await slow.withResource(priority: .low, timeout: .milliseconds(1)) { _ in }
            }
        }
        #expect(try await slow.withResource(priority: .high) { $0 } == 1)
        deliver.raise()
    }

    // MARK: - A close that hangs

    @Test
    func aCloseThatHangsHoldsUpNoOther() async throws {
        let goOn = Flag(), slow = 3 // the first to come back, and so the first to be closed
        let pool = makePool(maximum: 3) { item in
            if item.number == slow { await waitUntil { goOn.isRaised } }
            item.close()
        }
        try await pool.withResource { _ in try await pool.withResource { _ in try await pool.withResource { _ in } } }
        let report = await pool.shutdown(timeout: .milliseconds(1))
        #expect(!report.isComplete && report.holders.isEmpty && report.unfinishedCount >= 1)
        await waitUntil { Set(ledger.value.closed) == [1, 2] }
        goOn.raise()
        #expect(await pool.shutdown().isComplete)
        #expect(ledger.value.faults.isEmpty)
    }

    @Test
    func aCloseThatHangsHoldsUpNoOtherOfAPoolThatIsGone() async throws {
        let goOn = Flag(), slow = 2
        do {
            let pool = makePool(maximum: 2) { item in
                if item.number == slow { await waitUntil { goOn.isRaised } }
                item.close()
            }
            try await pool.withResource { _ in try await pool.withResource { _ in } }
        }
        await waitUntil { ledger.value.closed == [1] }
        goOn.raise()
        await waitUntil { ledger.value.closed == [1, 2] }
    }

    @Test
    func aPoolThatGoesAwayAmidACloseThatHangsClosesWhatIsIdle() async throws {
        let goOn = Flag()
        do {
            let pool = makePool(maximum: 2) { item in
                if item.number == 1 { await waitUntil { goOn.isRaised } }
                item.close()
            }
            try await pool.withResource { _, lease in
                lease.discard()
                try await pool.withResource { _ in }
            }
        }
        await waitUntil { ledger.value.closed == [2] }
        goOn.raise()
        await waitUntil { ledger.value.closed == [2, 1] }
    }

    // MARK: - A shutdown amid the rest

    @Test
    func aShutdownRefusesWhoWaitsForAFactoryAndClosesWhatThatMakes() async throws {
        let goOn = Flag(), isMaking = Flag(), wasCancelled = Flag()
        let pool = ResourcePool(
            maximum: 1, makeTimeout: nil, close: { (item: Item) in item.close() },
            make: { [ledger] in
                isMaking.raise()
                await waitUntil { goOn.isRaised }
                if Task.isCancelled { wasCancelled.raise() }
                return Item(ledger)
            })
        let waiting = Task { try await pool.withResource { _ in Issue.record("a use began after the shutdown") } }
        await waitUntil { isMaking.isRaised }
        let report = await pool.shutdown(timeout: .milliseconds(1))
        #expect(report.holders.isEmpty && report.unfinishedCount == 1)
        // The factory hangs still.
        await #expect(throws: ResourcePoolError.shutDown) { try await waiting.value }
        goOn.raise()
        #expect(await pool.shutdown().isComplete)
        #expect(ledger.value.closed == [1] && wasCancelled.isRaised)
    }

    @Test
    func aFactoryThatFailsAfterTheShutdownCompletesIt() async throws {
        let goOn = Flag(), isMaking = Flag()
        let pool = ResourcePool<Int>(maximum: 1, makeTimeout: nil) {
            isMaking.raise()
            await waitUntil { goOn.isRaised }
            throw Item.Failure.expected
        }
        let waiting = Task { try await pool.withResource { $0 } }
        await waitUntil { isMaking.isRaised }
        let first = Task { await pool.shutdown() }, second = Task { await pool.shutdown() }
        await #expect(throws: ResourcePoolError.shutDown) { try await waiting.value }
        goOn.raise()
        #expect(await first.value.isComplete)
        #expect(await second.value.isComplete)
    }

    @Test
    func aShutdownRefusesWhoWaitsForWhatIsNotReserved() async throws {
        let pool = makePool(maximum: 3, reserved: 1), leave = Flag()
        let inside = [await occupy(pool, until: leave), await occupy(pool, until: leave)]
        let waiting = await start(at: pool) { try await pool.withResource(priority: .low) { _ in } }
        let report = await pool.shutdown(timeout: .zero)
        #expect(report.holders.count == 2)
        await #expect(throws: ResourcePoolError.shutDown) { try await waiting.value }
        // Who only tries is told the same, and so is one of a high priority.
        await #expect(throws: ResourcePoolError.shutDown) { try await pool.withResource(timeout: .zero) { _ in } }
        await #expect(throws: ResourcePoolError.shutDown) { try await pool.withResource(priority: .high) { _ in } }
        leave.raise()
        for task in inside { try await task.value }
        #expect(await pool.shutdown().isComplete)
    }

    @Test
    func aShutdownFromInsideOfAUseNamesThatUse() async throws {
        let pool = makePool(maximum: 1)
        let report = try await pool.withResource { _ in await pool.shutdown(timeout: .milliseconds(1)) }
        #expect(report.holders.count == 1)
        #expect(await pool.shutdown().isComplete)
        #expect(ledger.value.closed == [1])
    }

    @Test
    func theLongestUseIsNamedFirst() async throws {
        let pool = makePool(maximum: 3), leave = Flag(), first = Flag()
        var tasks = [await occupy(pool, until: first)]
        for _ in 0..<2 { tasks.append(await occupy(pool, until: leave)) }
        first.raise()
        try await tasks[0].value
        // It comes in the place of the first, and is the shortest.
        tasks.append(await occupy(pool, until: leave))
        let report = await pool.shutdown(timeout: .zero), times = report.holders.map(\.heldFor)
        #expect(times.count == 3 && times == times.sorted(by: >) && report.unfinishedCount == 0)
        leave.raise()
        for task in tasks { try await task.value }
        #expect(await pool.shutdown().isComplete)
    }
}
