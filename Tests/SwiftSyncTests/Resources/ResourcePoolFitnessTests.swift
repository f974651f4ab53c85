import Synchronization
import Testing

@testable import SwiftSync

/// Resources that are too old or unfit, and requests that are too many: none of these is lent out or waits.
@Suite(.endsInTime)
struct ResourcePoolFitnessTests {
    private let ledger = Shared(Item.Ledger())

    private func makePool(
        maximum: Int, waitersLimit: Int? = nil, maximumLifetime: Duration? = nil,
        check: (@Sendable (Item) async throws -> Bool)? = nil
    ) -> ResourcePool<Item> {
        ResourcePool(
            maximum: maximum, waitersLimit: waitersLimit, maximumLifetime: maximumLifetime, makeTimeout: nil,
            check: check,
            close: { $0.close() }, make: { [ledger] in Item(ledger) })
    }

    /// Fills a pool with so many that are idle.
    private func fill(_ pool: ResourcePool<Item>, _ number: Int) async throws {
        let leave = Flag()
        var tasks: [Task<Void, any Error>] = []
        for _ in 0..<number { tasks.append(await occupy(pool, until: leave)) }
        leave.raise()
        for task in tasks { try await task.value }
        #expect(pool.idleCount == number)
    }

    // MARK: - Checks

    @Test
    func anIdleResourceThatIsUnfitIsClosedAndTheNextIsTried() async throws {
        let checked = Shared([Int]()), unfit = Shared(Set<Int>())
        let pool = makePool(maximum: 3) { item in
            checked.append(item.number)
            if item.number == 1 { throw Item.Failure.expected }
            return !unfit.value.contains(item.number)
        }
        // Nothing that is new is checked.
        try await fill(pool, 3)
        #expect(checked.value.isEmpty)
        unfit.access { $0 = [1, 2, 3] }
        #expect(try await pool.withResource { $0.number } == 4)
        await waitUntil { ledger.value.closed.count == 3 }
        #expect(checked.value.sorted() == [1, 2, 3] && ledger.value.faults.isEmpty)
        #expect(try await pool.withResource { $0.number } == 4)
        #expect(checked.value.last == 4 && pool.count == 1)
    }

    @Test
    func whatIsHandedOnFromUseToUseIsNotChecked() async throws {
        let checks = Shared(0), leave = Flag()
        let pool = makePool(maximum: 1) { _ in
            checks.increment()
            return true
        }
        let inside = await occupy(pool, until: leave)
        let next = await start(at: pool) { try await pool.withResource { #expect($0.number == 1) } }
        leave.raise()
        for task in [inside, next] { try await task.value }
        #expect(checks.value == 0)
    }

    @Test
    func aCheckThatHangsHoldsNobodyUpPastTheTimeoutAndIsNotCancelledByIt() async throws {
        let goOn = Flag(), isChecking = Flag(), wasCancelled = Flag()
        let pool = makePool(maximum: 1) { _ in
            isChecking.raise()
            await waitUntil { goOn.isRaised }
            if Task.isCancelled { wasCancelled.raise() }
            return true
        }
        try await fill(pool, 1)
        await #expect(throws: ResourcePoolError.timedOut) {
            try await pool.withResource(timeout: .milliseconds(1)) { _ in }
        }
        await waitUntil { isChecking.isRaised }
        // Where idle ones are checked, none is there at once.
        await #expect(throws: ResourcePoolError.timedOut) { try await pool.withResource(timeout: .zero) { _ in } }
        #expect(pool.idleCount == 0 && pool.inUseCount == 0 && pool.count == 1)
        goOn.raise()
        await waitUntil { pool.idleCount == 1 }
        #expect(!wasCancelled.isRaised && ledger.value.closed.isEmpty)
    }

    @Test
    func aCheckThatLastsForTooLongIsCancelledAndItsResourceClosedOnceItEnds() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 2, checks: true, preparationTimeout: 10))
        _ = state.end(try make(1, in: &state), .keep, at: 0)
        let (wait, check) = try queueMaking(in: &state, at: 100), task = Task {}
        let isOver = !state.keep(task, for: check).cancelled.isEmpty
        #expect(!isOver)
        // The call was asked for when the first was made, for when that is slow. The next is tried, which is new.
        let late = state.ring(.preparation, dueAt: 3, now: 110)
        #expect(late.cancelled == [task] && late.closed.isEmpty && late.started.count == 1 && state.closing == 1)
        _ = state.finish(late.started[0], .ready(Pooled(2)), at: 111)
        #expect(wait.outcome == 0)
        let end = state.finish(check, .ready(try #require(check.checked)), at: 200)
        #expect(end.closed == [1] && state.idleCount == 0)
    }

    @Test
    func aCheckThatRunsWhileThePoolIsShutDownIsCancelledAndItsResourceClosedOnce() async throws {
        let isChecking = Flag()
        let pool = makePool(maximum: 1) { item in
            await item.use {
                isChecking.raise()
                await waitUntil { Task.isCancelled }
            }
            return true
        }
        try await fill(pool, 1)
        let waiting = Task { try await pool.withResource { _ in Issue.record("a use began after the shutdown") } }
        await waitUntil { isChecking.isRaised }
        #expect(await pool.shutdown().isComplete)
        await #expect(throws: ResourcePoolError.shutDown) { try await waiting.value }
        #expect(ledger.value.closed == [1] && ledger.value.faults.isEmpty)
    }

    /// A check that hangs for a low priority counts among what is theirs until its resource is closed.
    @Test
    func aCheckOfALowPriorityTakesNothingOfTheReserve() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 2, reserved: 1, checks: true, preparationTimeout: 10))
        let use = try make(1, in: &state, .low)
        _ = state.end(use, .keep, at: 0)
        let (low, check) = try queueMaking(.low, in: &state, at: 100)
        #expect(check.checked === use && low.outcome == nil)
        let (high, making) = try queueMaking(.high, in: &state, at: 100)
        _ = state.finish(making, .ready(Pooled(2)), at: 101)
        #expect(high.outcome == 0)
        // It was asked for when the first was made.
        _ = state.ring(.preparation, dueAt: 3, now: 110)
        #expect(state.closing == 1 && state.count == 1)
        let late = state.finish(check, .ready(use), at: 120)
        #expect(late.closed == [1] && low.outcome == nil)
        let next = state.endClosing(late.toClose[0], at: 120)
        #expect(next.started.count == 1 && next.started[0].isCommon)
    }

    // MARK: - Lifetimes

    @Test
    func aResourceThatIsTooOldIsClosedWhereverItIs() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 4))
        let uses = try [(1, 100), (2, 200), (3, 300), (4, 300)].map { try make($0.0, in: &state, expires: $0.1) }
        for use in uses[1...] { _ = state.end(use, .keep, at: 50) }
        let ring = state.ring(.lifetime, dueAt: 100, now: 150)
        #expect(ring.closed.isEmpty && ring.calls == [200], "the first is in use")
        var back = state.end(uses[0], .keep, at: 160)
        #expect(back.closed == [1])
        // The oldest of those that are idle stands first; it is closed there and nowhere else.
        let idle = state.ring(.lifetime, dueAt: 200, now: 200)
        #expect(idle.closed == [2] && idle.calls == [300] && state.idleCount == 2)
        let fresh = state.takeIdle(request())
        #expect(fresh == nil, "the clock is far past all of them")
        let turn = state.attempt(request(), &back, at: 299)
        #expect(try number(#require(turn).get()) == 4)
        let none = state.attempt(request(), &back, at: 300)
        #expect(none == nil && back.closed == [1, 3] && state.idleCount == 0)
    }

    @Test
    func resourcesThatWereMadeTogetherDoNotGetTooOldTogether() async throws {
        let pool = makePool(maximum: 32, maximumLifetime: .seconds(1000)), before = ContinuousClock.now
        try await fill(pool, 32)
        let spent = ContinuousClock.now - before
        var left: [Int64] = []
        for _ in 0..<32 {
            let resource = try pool.core.state.withLock { try takeIdle(in: &$0) }
            left.append(resource.expires - Deadline.after(.nanoseconds(1)))
        }
        #expect(Set(left.map { $0 / 1_000_000_000 }).count > 1 && spent < .seconds(800))
        #expect(left.allSatisfy { $0 <= 1_000_000_000_000 && .nanoseconds($0) + spent >= .seconds(899) })
    }

    @Test
    func anIdleResourceIsClosedWhenItIsTooOldAndTheFewestAreMadeAgain() async throws {
        let pool = ResourcePool(
            maximum: 1, minimum: 1, maximumLifetime: .milliseconds(2), close: { (item: Item) in item.close() },
            make: { [ledger] in Item(ledger) })
        await waitUntil { ledger.value.closed.count >= 3 }
        #expect(await pool.shutdown().isComplete)
        #expect(ledger.value.closed.count == ledger.value.made && ledger.value.faults.isEmpty)
    }

    // MARK: - Too many that wait

    @Test
    func whoComesWhereAsManyWaitAsMayIsRefusedAtOnce() async throws {
        let pool = makePool(maximum: 1, waitersLimit: 2), leave = Flag()
        let inside = await occupy(pool, until: leave)
        let first = await start(at: pool) { try await pool.withResource { _ in } }
        let second = await start(at: pool) { try await pool.withResource { _ in } }
        for _ in 0..<2 {
            await #expect(throws: ResourcePoolError.full) { try await pool.withResource(priority: .highest) { _ in } }
        }
        first.cancel()
        await #expect(throws: ResourcePoolError.cancelled) { try await first.value }
        let third = await start(at: pool) { try await pool.withResource { _ in } }
        leave.raise()
        for task in [inside, second, third] { try await task.value }
        #expect(SyncErrorReason.full ~= ResourcePoolError.full)
    }

    /// Those are too many who would wait for what is lent out, not those for whom there is a place.
    @Test
    func noneIsRefusedForWhomAFactoryOrACheckBegins() throws {
        var state = ResourcePoolState(
            ResourceLimits(maximum: 4, reserved: 1, waiters: 1, checks: true, preparationTimeout: 9))
        func isRefused(_ priority: CommandPriority, at now: Int64) -> Bool {
            let wait = ResourceWait(request(priority)), waiting = state.waitingCount
            var effects = ResourcePoolState.Effects()
            guard case .failure(let error) = state.enter(wait, &effects, at: now) else { return false }
            return error as? ResourcePoolError == .full && effects.steps.isEmpty && state.waitingCount == waiting
        }
        _ = state.end(try make(1, in: &state), .keep, at: 0)
        for index in 0..<3 {
            let (_, preparation) = try queueMaking(.low, in: &state)
            #expect((preparation.checked != nil) == (index == 0))
        }
        _ = queue(.low, in: &state)
        #expect(isRefused(.low, at: 0))
        // One place is reserved.
        _ = try queueMaking(.high, in: &state)
        #expect(isRefused(.highest, at: 0), "whatever the priority")
        // What is slow stands for none of them.
        #expect(isRefused(.high, at: 3))
    }

    @Test(arguments: [(0, 1, 1, 1), (-1, 1, 1, 1), (1, 0, 1, 1), (1, -1, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)])
    func limitsThatAreOutOfBoundsStopTheProgram(makings: Int, waiters: Int, lifetime: Int, timeout: Int) async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [makings, waiters, lifetime, timeout] in
            _ = ResourcePool<Int>(
                maximum: 1, makingLimit: makings, waitersLimit: waiters, maximumLifetime: .seconds(lifetime),
                makeTimeout: .seconds(timeout), name: "connections"
            ) { 1 }
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("ResourcePool connections: makingLimit") && text.contains("1 <= makingLimit"))
    }
}
