import Testing

@testable import SwiftSync

/// Those who use a pool: they are cancelled, in a hurry, on an actor, or inside of other pools.
@Suite(.endsInTime)
struct ResourcePoolCallerTests {
    private let ledger = Shared(Item.Ledger())

    private func makePool(maximum: Int, reserved: Int = 0) -> ResourcePool<Item> {
        ResourcePool(
            maximum: maximum, reserved: reserved, makeTimeout: nil, close: { $0.close() },
            make: { [ledger] in Item(ledger) })
    }

    // MARK: - Cancellation

    @Test
    func aTaskThatIsCancelledWhileItsResourceIsMadeLeavesAndTheNextGetsIt() async throws {
        let goOn = Flag(), made = Shared(0)
        let pool = ResourcePool(maximum: 1, makeTimeout: nil) {
            made.increment()
            await waitUntil { goOn.isRaised }
            return 7
        }
        let first = Task { try await pool.withResource { $0 } }
        await waitUntil { made.value == 1 }
        let second = await start(at: pool) { try await pool.withResource { #expect($0 == 7) } }
        first.cancel()
        await #expect(throws: ResourcePoolError.cancelled) { try await first.value }
        goOn.raise()
        try await second.value
        #expect(made.value == 1 && pool.count == 1)
    }

    @Test
    func aTaskThatIsCancelledInsideGoesOnAndGivesBack() async throws {
        let pool = makePool(maximum: 1), entered = Flag()
        let task = Task {
            try await pool.withResource { item in
                entered.raise()
                await waitUntil { Task.isCancelled }
                await item.use()
                return item.number
            }
        }
        await waitUntil { entered.isRaised }
        task.cancel()
        #expect(try await task.value == 1)
        #expect(pool.idleCount == 1 && pool.inUseCount == 0)
    }

    @Test
    func anErrorOfAFactoryWhoseTaskGaveUpIsForTheNext() async throws {
        let goOn = Flag(), made = Shared(0)
        let pool = ResourcePool(maximum: 1, makeTimeout: nil) {
            made.increment()
            if made.value == 1 {
                await waitUntil { goOn.isRaised }
                throw Item.Failure.expected
            }
            return 7
        }
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(timeout: .milliseconds(1)) { $0 }
        }
        let next = await start(at: pool) { try await pool.withResource { _ in } }
        goOn.raise()
        await #expect(throws: Item.Failure.expected) { try await next.value }
        #expect(try await pool.withResource { $0 } == 7)
        #expect(made.value == 2)
    }

    // MARK: - Deadlines

    @Test
    func aDeadlineInThePastTakesWhatIsThereAndMakesNothing() async throws {
        let pool = makePool(maximum: 1), past = ContinuousClock.now - .seconds(1), other = SuspendingClock.now
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(timeout: .until(past)) { _ in }
        }
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(timeout: .until(other)) { _, _ in }
        }
        #expect(ledger.value.made == 0 && pool.count == 0)
        try await pool.withResource { await $0.use() }
        #expect(try await pool.withResource(timeout: .until(past)) { $0.number } == 1)
        #expect(try await pool.withResource(timeout: .seconds(-1)) { $0.number } == 1)
        #expect(await pool.shutdown(timeout: .until(.now + .seconds(60))).isComplete)
        #expect(await pool.shutdown(timeout: .until(past)).isComplete)
    }

    @Test
    func whoOnlyTriesDoesNotPassWhoWaits() async throws {
        let pool = makePool(maximum: 2, reserved: 1), leave = Flag()
        let inside = await occupy(pool, .low, until: leave)
        let waiting = await start(at: pool) { try await pool.withResource(priority: .low) { await $0.use() } }
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(priority: .low, timeout: .zero) { _ in }
        }
        #expect(pool.waitingCount == 1)
        try await pool.withResource(priority: .high) { await $0.use() }
        try await pool.withResource(priority: .high, timeout: .zero) { await $0.use() }
        leave.raise()
        for task in [inside, waiting] { try await task.value }
    }

    @Test
    func theBodyIsNotBoundedByTheTimeout() async throws {
        let pool = makePool(maximum: 1), clock = ContinuousClock()
        try await pool.withResource { await $0.use() }
        let wasLate = try await pool.withResource(timeout: .milliseconds(1)) { _ in
            let begin = clock.now
            await waitUntil { clock.now - begin > .milliseconds(3) }
            return true
        }
        #expect(wasLate && pool.idleCount == 1)
    }

    @Test
    func aResourceComesBackOnceHoweverOftenAndLateItsLeaseIsUsed() async throws {
        let pool = makePool(maximum: 1)
        let late = try await pool.withResource { _, lease in lease }
        late.discard()
        try await pool.withResource { item, _ in
            late.discard()
            await item.use()
        }
        #expect(pool.idleCount == 1 && ledger.value.closed.isEmpty)
        try await pool.withResource { _, lease in
            lease.discard()
            lease.discard()
        }
        await waitUntil { ledger.value.closed == [1] }
        #expect(try await pool.withResource { $0.number } == 2)
        #expect(await pool.shutdown().isComplete)
        #expect(ledger.value.closed == [1, 2])
    }

    // MARK: - Places it is called from

    @MainActor
    @Test
    func onTheMainActorTheBodyStaysThere() async throws {
        let pool = makePool(maximum: 1)
        var count = 0
        for _ in 0..<2 {
            try await pool.withResource { item in
                MainActor.assertIsolated()
                await item.use()
                count += 1
            }
        }
        #expect(count == 2)
    }

    @Test
    func aFactoryAndACloseMayUseThePoolThatCallsThem() async throws {
        let pools = Shared([ResourcePool<Int>]()), depth = Shared(0)
        let pool = ResourcePool<Int>(
            maximum: 2, makeTimeout: nil,
            close: { _ in
                _ = try? await pools.value[0].withResource(timeout: .milliseconds(1)) { _ in }
            },
            make: {
                depth.increment()
                if depth.value > 1 { return 2 }
                return try await pools.value[0].withResource(timeout: .seconds(3600)) { $0 + 1 }
            })
        pools.append(pool)
        // What is made second comes first, and is for who came first; the factory has it then.
        #expect(try await pool.withResource { $0 } == 2)
        await waitUntil { pool.idleCount == 2 }
        #expect(pool.count == 2 && pool.inUseCount == 0)
        #expect(await pool.shutdown().isComplete)
        // One that has no second place waits for itself, until its timeout.
        let alone = Shared([ResourcePool<Int>]())
        alone.append(
            ResourcePool<Int>(maximum: 1) {
                try await alone.value[0].withResource(timeout: .milliseconds(1)) { $0 }
            })
        await #expect(throws: ResourcePoolError.timedOut) { try await alone.value[0].withResource { _ in } }
        #expect(alone.value[0].count == 0 && alone.value[0].waitingCount == 0)
        pools.access { $0 = [] }
        alone.access { $0 = [] }
    }

    @Test
    func poolsAndMutexesMayBeNested() async throws {
        let outer = makePool(maximum: 2), inner = makePool(maximum: 2), total = AsyncMutex(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<20 {
                        try await outer.withResource { first in
                            try await total.withLock { total in
                                try await inner.withResource { second in
                                    await first.use()
                                    await second.use()
                                    total += 1
                                }
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await total.withLock { $0 } == 160)
        #expect(ledger.value.faults.isEmpty)
    }

    @Test
    func aPoolThatIsReleasedWhileItMakesSomethingForNobodyClosesThat() async throws {
        let goOn = Flag()
        do {
            let pool = ResourcePool(
                maximum: 1, makeTimeout: nil, close: { (item: Item) in item.close() },
                make: { [ledger] in
                    await waitUntil { goOn.isRaised }
                    return Item(ledger)
                })
            await #expect(throws: ResourcePoolError.timedOut) {
                try await pool.withResource(timeout: .milliseconds(1)) { _ in }
            }
        }
        goOn.raise()
        await waitUntil { ledger.value.closed == [1] }
    }

    @Test
    func aTimeOfIdlenessMayBeZeroOrNegativeOrForEver() async throws {
        for timeout in [Duration.zero, .seconds(-1)] {
            let ledger = Shared(Item.Ledger())
            let pool = ResourcePool(
                maximum: 2, minimum: 1, idleTimeout: timeout, close: { (item: Item) in item.close() },
                make: { Item(ledger) })
            try await pool.withResource { _ in try await pool.withResource { _ in } }
            await waitUntil { ledger.value.closed.count == 1 && pool.count == 1 }
            #expect(pool.idleCount == 1)
            #expect(await pool.shutdown().isComplete)
        }
        for timeout in [Duration.seconds(Int64.max), .nanoseconds(Int64.max), .nanoseconds(Int64.max - 1)] {
            let pool = ResourcePool(maximum: 1, idleTimeout: timeout, make: { 1 })
            for _ in 0..<2 { try await pool.withResource { _ in } }
            #expect(pool.idleCount == 1)
            #expect(await pool.shutdown().isComplete)
        }
    }
}
