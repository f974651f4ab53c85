import Glibc
import Synchronization
import Testing

@testable import SwiftSync

/// Calls of a pool's factory, which belong to no request: how many there are, who gets what they make, and how long
/// they may last.
@Suite(.endsInTime)
struct ResourcePoolMakingTests {
    @TaskLocal static var baggage = 0

    private let ledger = Shared(Item.Ledger())

    private func makePool(
        maximum: Int, minimum: Int = 0, makingLimit: Int? = nil, makeTimeout: Duration? = nil,
        before: @escaping @Sendable (_ call: Int) async throws -> Void
    ) -> ResourcePool<Item> {
        let calls = Atomic(0)
        return ResourcePool(
            maximum: maximum, minimum: minimum, makingLimit: makingLimit, makeTimeout: makeTimeout,
            close: { $0.close() },
            make: { [ledger] in
                try await before(calls.add(1, ordering: .relaxed).newValue)
                return Item(ledger)
            })
    }

    // MARK: - Apart from the requests

    @Test
    func noRequestThatGivesUpEndsTheFactoryAndTheNextWaitForTheSameCall() async throws {
        let goOn = Flag(), calls = Shared(0), wasCancelled = Flag()
        let pool = makePool(maximum: 4) { _ in
            calls.increment()
            await waitUntil { goOn.isRaised }
            if Task.isCancelled { wasCancelled.raise() }
        }
        for _ in 0..<20 {
            await #expect(throws: ResourcePoolError.timedOut) {
                try await pool.withResource(timeout: .microseconds(200)) { _ in }
            }
        }
        await waitUntil { calls.value == 1 }
        let cancelled = await start(at: pool) { try await pool.withResource { _ in } }
        cancelled.cancel()
        await #expect(throws: ResourcePoolError.cancelled) { try await cancelled.value }
        #expect(calls.value == 1 && pool.count == 1 && pool.waitingCount == 0)
        goOn.raise()
        await waitUntil { pool.idleCount == 1 }
        #expect(try await pool.withResource(timeout: .zero) { $0.number } == 1)
        #expect(!wasCancelled.isRaised && ledger.value.made == 1)
    }

    @Test
    func whoeverIsFirstGetsWhatComesFirstBackOrNew() async throws {
        let goOn = Flag(), leave = Flag()
        let pool = makePool(maximum: 2) { call in if call > 1 { await waitUntil { goOn.isRaised } } }
        let inside = await occupy(pool, until: leave), numbers = Shared([Int]())
        let low = await start(at: pool) { try await pool.withResource(priority: .low) { numbers.append($0.number) } }
        let high = await start(at: pool) { try await pool.withResource(priority: .high) { numbers.append($0.number) } }
        // The factory hangs, and one resource comes back: it is enough for both.
        leave.raise()
        for task in [inside, high, low] { try await task.value }
        #expect(numbers.value == [1, 1])
        goOn.raise()
        await waitUntil { pool.idleCount == 2 }
    }

    @Test
    func aResourceGoesBackFromATaskThatIsCancelledOnceItIsItsOwn() async throws {
        let pool = makePool(maximum: 1) { _ in }, leave = Flag(), entered = Flag()
        let inside = await occupy(pool, until: leave)
        let waiting = await start(at: pool) {
            try await pool.withResource { _ in
                entered.raise()
                await waitUntil { Task.isCancelled }
            }
        }
        leave.raise()
        await waitUntil { entered.isRaised }
        waiting.cancel()
        try await waiting.value
        try await inside.value
        #expect(pool.idleCount == 1 && pool.inUseCount == 0 && ledger.value.closed.isEmpty)
    }

    @Test
    func aFactoryAndACloseHaveNeitherTheDeadlineNorTheTaskLocalsOfWhoCausesThem() async throws {
        let seen = Shared([String]())
        @Sendable func note(_ call: String) {
            seen.append("\(call): \(Self.baggage), \(RequestDeadline.nearest == Deadline.never)")
        }
        let pool = ResourcePool(maximum: 1, close: { _ in note("close") }, make: { note("make") })
        try await Self.$baggage.withValue(7) {
            try await withDeadline(.now + .seconds(3600)) {
                note("body")
                try await pool.withResource { $1.discard() }
            }
        }
        await waitUntil { seen.value.count == 3 }
        #expect(seen.value == ["body: 7, false", "make: 0, true", "close: 0, true"])
    }

    /// Whoever waits for the place would wait for a task of low priority.
    @Test
    func aCloseHasNotThePriorityOfWhoCausesIt() async throws {
        let seen = Shared([TaskPriority?]())
        let pool = ResourcePool(maximum: 1, close: { _ in seen.append(Task.basePriority) }, make: { 1 })
        // Who awaited its value would escalate it.
        let task = Task.detached(priority: .background) { try await pool.withResource { $1.discard() } }
        await waitUntil { !seen.value.isEmpty }
        #expect(seen.value == [.medium])
        try await task.value
    }

    @Test
    func aFactoryBeginsWithThePriorityOfTheFirstInOrder() async throws {
        let seen = Shared([TaskPriority]())
        let pool = makePool(maximum: 1) { _ in seen.append(Task.basePriority ?? .medium) }
        // Who awaited its value would escalate it.
        let task = Task.detached(priority: .low) { try await pool.withResource { _ in } }
        await waitUntil { !seen.value.isEmpty }
        #expect(seen.value == [.low])
        try await task.value
    }

    // MARK: - How many

    @Test
    func noMoreFactoriesRunAtOnceThanTheirLimit() async throws {
        let running = Atomic(0), most = Atomic(0), goOn = Door()
        let pool = makePool(maximum: 12, makingLimit: 2) { _ in
            most.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
            await goOn.pass()
            running.subtract(1, ordering: .relaxed)
        }
        let leave = Flag()
        var tasks: [Task<Void, any Error>] = []
        for _ in 0..<12 {
            tasks.append(Task { try await pool.withResource { _ in await waitUntil { leave.isRaised } } })
        }
        await waitUntil { pool.waitingCount == 12 }
        #expect(pool.count == 2)
        goOn.open()
        await waitUntil { pool.inUseCount == 12 }
        leave.raise()
        for task in tasks { try await task.value }
        #expect(most.load(ordering: .relaxed) <= 2 && ledger.value.made == 12)
    }

    @Test
    func whatIsMadeForLowPrioritiesUpToTheLimitIsForWhoeverIsFirst() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 4, makings: 2))
        let low = try [queueMaking(.low, in: &state), queueMaking(.low, in: &state)]
        _ = queue(.low, in: &state)
        let high = queue(.highest, in: &state)
        let end = state.finish(low[0].1, .ready(Pooled(1)), at: 0)
        #expect(high.outcome == 0 && low.allSatisfy { $0.0.outcome == nil } && end.started.count == 1)
    }

    /// Their calls may hang, and would keep those from being begun for which places are reserved.
    @Test
    func lowPrioritiesLeaveSomeOfTheFactorysCallsToTheReserve() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 4, reserved: 1, makings: 2))
        let (first, hanging) = try queueMaking(.low, in: &state), next = queue(.low, in: &state)
        let (high, making) = try queueMaking(.high, in: &state)
        let made = state.finish(making, .ready(Pooled(1)), at: 0)
        #expect(high.outcome == 0 && made.started.isEmpty && first.outcome == nil)
        let late = state.finish(hanging, .ready(Pooled(2)), at: 0)
        #expect(first.outcome == 0 && next.outcome == nil && late.started.count == 1)
        #expect(ResourceLimits(maximum: 100, reserved: 20, makings: 16).commonMakings == 12)
        #expect(ResourceLimits(maximum: 100, reserved: 1, makings: 16).commonMakings == 15)
        // One call is theirs, whatever is reserved.
        var other = ResourcePoolState(ResourceLimits(maximum: 4, reserved: 3, makings: 1))
        let (low, only) = try queueMaking(.low, in: &other), urgent = queue(.high, in: &other)
        let end = other.finish(only, .ready(Pooled(1)), at: 0)
        #expect(urgent.outcome == 0 && low.outcome == nil && end.started.count == 1)
    }

    @Test
    func theFewestAreMadeInAdvanceAndInThePlaceOfThoseThatAreGone() async throws {
        let pool = makePool(maximum: 4, minimum: 2) { _ in }
        await waitUntil { pool.idleCount == 2 }
        #expect(ledger.value.made == 2)
        try await pool.withResource { $1.discard() }
        await waitUntil { pool.idleCount == 2 && ledger.value.closed.count == 1 }
        #expect(ledger.value.made == 3)
        #expect(await pool.shutdown().isComplete)
        #expect(ledger.value.made == 3 && ledger.value.closed.count == 3)
    }

    @Test
    func aPoolThatGoesAwayMakesNoFewest() async {
        let goOn = Flag(), calls = Shared(0), wasCancelled = Flag(), alive = Shared(0)
        do {
            let tracked = Tracked(alive)
            let pool = makePool(maximum: 4, minimum: 4, makingLimit: 1) { _ in
                _ = tracked.number
                calls.increment()
                await waitUntil { goOn.isRaised }
                if Task.isCancelled { wasCancelled.raise() }
            }
            await waitUntil { calls.value == 1 }
            #expect(pool.count == 1)
        }
        goOn.raise()
        // Once the factory is released, nothing calls it any more.
        await waitUntil { alive.value == 0 }
        #expect(calls.value == 1 && wasCancelled.isRaised && ledger.value.closed == [1])
    }

    /// It did so for as long as it took to search a list once for each of them.
    @Test
    func aHundredThousandFactoriesAtOnceTakeFiveTimesAsLongAsTwentyThousand() async {
        /// The time of this thread alone, in nanoseconds.
        @Sendable func time(of number: Int) -> Int {
            let begin = threadTime()
            var state = ResourcePoolState(ResourceLimits(maximum: number, preparationTimeout: 1_000_000_000))
            let waits = (0..<number).map { _ in ResourceWait(request()) }
            var effects = ResourcePoolState.Effects()
            for wait in waits { _ = state.enter(wait, &effects, at: 0) }
            for making in effects.started { _ = state.finish(making, .ready(Pooled(1)), at: 0) }
            for wait in waits { _ = state.end(try! wait.turn!.get(), .keep, at: 0) }
            let closing = state.shutDown().toClose
            for resource in closing { _ = state.endClosing(resource, at: 0) }
            mustHold(closing.count == number && state.report(name: "").isComplete)
            return threadTime() - begin
        }
        let (few, many) = await withUnsafeContinuation { continuation in
            Thread {
                // What others do to the caches makes it longer, and nothing makes it shorter.
                let few = (0..<3).map { _ in time(of: 20_000) }, many = (0..<3).map { _ in time(of: 100_000) }
                continuation.resume(returning: (few.min()!, many.min()!))
            }.detach()
        }
        #expect(many <= few * 10, "\(few), \(many)")
    }

    // MARK: - How long

    /// It stands for one request, and for those that come later only as long as it is not slow.
    @Test
    func aFactoryThatHangsHoldsUpNobodyBesideAFreePlace() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 2, preparationTimeout: 9))
        let (gone, hanging) = try enter(.normal, in: &state)
        #expect(gone.claim(ETIMEDOUT) == .won && hanging.calls == [3])
        state.leave(gone)
        let next = queue(.normal, in: &state)
        let second = state.ring(.preparation, dueAt: 3, now: 3).started
        try #require(second.count == 1)
        _ = state.finish(second[0], .ready(Pooled(2)), at: 4)
        #expect(try number(#require(next.turn).get()) == 2)
        #expect(next.outcome == 0 && state.count == 2)
    }

    @Test
    func aFactoryThatHangsIsGivenUpAndWhatItMakesTooLateIsClosed() async throws {
        let goOn = Flag(), wasCancelled = Flag()
        let pool = makePool(maximum: 1, makeTimeout: .milliseconds(5)) { call in
            if call > 1 { return }
            await waitUntil { goOn.isRaised }
            if Task.isCancelled { wasCancelled.raise() }
        }
        let clock = ContinuousClock(), begin = clock.now
        await #expect(throws: ResourcePoolError.makingTimedOut) { try await pool.withResource { _ in } }
        #expect(clock.now - begin >= .milliseconds(5) && pool.count == 0)
        // Its place is free. On a slow machine others may take too long as well.
        var number: Int?
        while number == nil {
            do {
                number = try await pool.withResource { $0.number }
            } catch ResourcePoolError.makingTimedOut {}
        }
        let report = await pool.shutdown(timeout: .milliseconds(1))
        #expect(report.unfinishedCount >= 1)
        goOn.raise()
        #expect(await pool.shutdown().isComplete)
        #expect(wasCancelled.isRaised && ledger.value.made >= 2 && ledger.value.faults.isEmpty)
        #expect(ledger.value.closed.count == ledger.value.made)
    }

    @Test
    func aFactoryThatFailsTooLateIsWaitedForAndToldNobody() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 1, preparationTimeout: 10))
        let (first, effects) = try enter(.normal, in: &state, at: 100), next = queue(.normal, in: &state)
        #expect(effects.calls == [103], "when it is slow")
        #expect(state.ring(.preparation, dueAt: 103, now: 103).calls == [110])
        let late = state.ring(.preparation, dueAt: 110, now: 110)
        #expect(throws: ResourcePoolError.makingTimedOut) { try first.turn!.get() }
        // The next call is for the next.
        #expect(late.started.count == 1 && late.calls == [113] && next.outcome == nil)
        _ = state.shutDown()
        let drain = TaskWait()
        let isWaitedFor = state.addDrain(drain)
        _ = state.finish(late.started[0], .failed(Item.Failure.expected), at: 115)
        #expect(isWaitedFor && drain.outcome == nil && state.report(name: "").unfinishedCount == 1)
        let end = state.finish(effects.started[0], .failed(Item.Failure.expected), at: 200)
        #expect(drain.outcome == 0 && end.reports == 0 && state.report(name: "").isComplete)
    }

    // MARK: - Failures that nobody waits for

    @Test
    func aFailureThatNobodyWaitsForIsReportedAndTheFewestAreTriedAgainAfterAPause() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 3, minimum: 1))
        var making = state.fill(at: 0).started
        #expect(making.count == 1)
        for (now, pause) in [(1000, 100), (200_000_000, 200), (700_000_000, 400)] as [(Int64, Int64)] {
            let failed = state.finish(making[0], .failed(Item.Failure.expected), at: now), due = now + pause * 1_000_000
            #expect(failed.reports == 1 && failed.started.isEmpty && failed.calls == [due] && state.count == 0)
            making = state.ring(.minimum, dueAt: due, now: due).started
            #expect(making.count == 1)
        }
        // Whoever comes meanwhile waits for no pause.
        _ = state.finish(making[0], .failed(Item.Failure.expected), at: 0)
        let (_, call) = try queueMaking(in: &state)
        // One that succeeds ends the pause.
        let success = state.finish(call, .ready(Pooled(1)), at: 0)
        #expect(success.started.isEmpty && state.count == 1)
    }

    @Test
    func callsThatFailTogetherDoubleThePauseOnce() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 8, minimum: 8))
        var making = state.fill(at: 0).started
        for (now, pause) in [(1000, 100), (200_000_000, 200), (700_000_000, 400)] as [(Int64, Int64)] {
            let due = now + pause * 1_000_000
            let failed = making.indices.map { index in
                state.finish(making[index], .failed(Item.Failure.expected), at: now + Int64(index))
            }
            #expect(failed.flatMap(\.calls) == [due] && failed.allSatisfy { $0.started.isEmpty })
            // The pause is that of the last of them.
            let early = state.ring(.minimum, dueAt: due, now: due)
            #expect(early.started.isEmpty && early.calls == [due + 7])
            making = state.ring(.minimum, dueAt: due + 7, now: due + 7).started
            #expect(making.count == 8)
        }
    }

    @Test
    func aFactoryThatFailsForALowPriorityGivesItsPlaceBack() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 2, reserved: 1))
        for _ in 0..<3 {
            let (low, making) = try queueMaking(.low, in: &state)
            #expect(making.isCommon)
            _ = state.finish(making, .failed(Item.Failure.expected), at: 0)
            #expect(low.outcome == 0 && state.count == 0)
        }
    }

    @Test
    func aFactoryThatAlwaysFailsEndsEachWaitOnce() async throws {
        let calls = Shared(0)
        let pool = makePool(maximum: 4) { _ in
            calls.increment()
            throw Item.Failure.expected
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await #expect(throws: Item.Failure.expected) { try await pool.withResource { _ in } }
                }
            }
        }
        #expect(calls.value >= 100 && calls.value <= 104 && pool.count == 0 && pool.waitingCount == 0)
    }
}

/// The processor time of the calling thread, in nanoseconds.
private func threadTime() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}
