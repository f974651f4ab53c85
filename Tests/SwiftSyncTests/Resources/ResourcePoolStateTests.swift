import Glibc
import Testing

@testable import SwiftSync

/// The steps of a pool's state, one at a time and without a thread: ends of waits that meet grants, and times.
@Suite(.endsInTime)
struct ResourcePoolStateTests {
    private static let second: Int64 = 1_000_000_000

    private func makeState(
        maximum: Int, minimum: Int = 0, reserved: Int = 0, idleTimeout: Int64 = Deadline.never
    ) -> ResourcePoolState {
        ResourcePoolState(
            ResourceLimits(maximum: maximum, minimum: minimum, reserved: reserved, idleTimeout: idleTimeout))
    }

    /// Takes what a step answers. The macro can't take steps, which change the state.
    private func check(_ isRight: Bool, _ what: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(isRight, what, sourceLocation: sourceLocation)
    }

    // MARK: - Ends that meet

    @Test(arguments: [ETIMEDOUT, ECANCELED])
    func whoGaveUpBeforeTheGrantGetsNothingAndTheNextGetsIt(status: Int32) throws {
        var state = makeState(maximum: 1)
        let use = try make(7, in: &state), first = queue(.high, in: &state), next = queue(.low, in: &state)
        #expect(first.claim(status) == .won)
        let effects = state.end(use, .keep, at: 0)
        #expect(effects.toResume.isEmpty && first.outcome == status && next.outcome == 0)
        let second = try #require(next.turn).get()
        #expect(number(second) == 7)
        // It comes too late to be in the way.
        state.leave(first)
        #expect(state.inUseCount == 1 && state.idleCount == 0 && state.waitingCount == 0)
        _ = state.end(second, .keep, at: 0)
        #expect(state.inUseCount == 0 && state.idleCount == 1)
        check(state.shutDown().closed == [7] && state.idleCount == 0)
    }

    @Test
    func ifAllGaveUpItIsThereForWhoComes() throws {
        var state = makeState(maximum: 1)
        let use = try make(7, in: &state), first = queue(.high, in: &state), next = queue(.low, in: &state)
        _ = (first.claim(ECANCELED), next.claim(ECANCELED))
        state.leave(next)
        _ = state.end(use, .keep, at: 0)
        state.leave(first)
        #expect(state.idleCount == 1 && state.waitingCount == 0)
        check(state.takeIdle(request()).map(number) == 7)
    }

    @Test
    func whatIsMadeGoesToTheNextIfTheFirstGaveUp() throws {
        var state = makeState(maximum: 1)
        let (first, making) = try queueMaking(in: &state)
        let next = queue(.low, in: &state)
        #expect(first.claim(ECANCELED) == .won)
        _ = state.finish(making, .ready(Pooled(7)), at: 0)
        #expect(try number(#require(next.turn).get()) == 7)
        #expect(next.outcome == 0 && state.inUseCount == 1 && state.count == 1)
    }

    @Test
    func whatIsMadeForNobodyIsIdle() throws {
        var state = makeState(maximum: 1)
        let (wait, making) = try queueMaking(in: &state)
        #expect(wait.claim(ETIMEDOUT) == .won)
        state.leave(wait)
        #expect(state.count == 1 && state.waitingCount == 0)
        _ = state.finish(making, .ready(Pooled(7)), at: 0)
        #expect(state.idleCount == 1)
    }

    @Test
    func aFailureIsForTheFirstAndAnotherCallForTheNext() throws {
        var state = makeState(maximum: 1)
        let (last, making) = try queueMaking(.low, in: &state)
        let first = queue(.high, in: &state), gone = queue(.highest, in: &state)
        #expect(gone.claim(ECANCELED) == .won)
        let effects = state.finish(making, .failed(Item.Failure.expected), at: 0)
        #expect(throws: Item.Failure.expected) { try first.turn!.get() }
        #expect(first.outcome == 0 && last.outcome == nil && effects.reports == 0)
        #expect(effects.started.count == 1 && state.count == 1 && state.waitingCount == 1)
        _ = state.shutDown()
    }

    @Test
    func aFactoryThatAlwaysFailsEndsWithThoseWhoWait() throws {
        var state = makeState(maximum: 2)
        var begun = try [queueMaking(in: &state).1, queueMaking(in: &state).1]
        let waits = (0..<5).map { _ in queue(.normal, in: &state) }
        var calls = 0
        while let next = begun.popLast() {
            calls += 1
            begun += state.finish(next, .failed(Item.Failure.expected), at: 0).started
        }
        #expect(calls == 7 && state.waitingCount == 0 && state.count == 0 && waits.allSatisfy { $0.outcome == 0 })
    }

    @Test
    func aShutdownRefusesEachOnce() throws {
        var state = makeState(maximum: 2, reserved: 1)
        let use = try make(7, in: &state)
        let (first, making) = try queueMaking(.high, in: &state)
        let waits = [first, queue(.low, in: &state), queue(.high, in: &state), queue(.normal, in: &state)]
        for _ in 0..<2 { check(state.shutDown().closed.isEmpty) }
        for wait in waits {
            #expect(throws: ResourcePoolError.shutDown) { try wait.turn!.get() }
        }
        #expect(state.waitingCount == 0)
        #expect(state.report(name: "").holders.count == 1 && state.report(name: "").unfinishedCount == 1)
        let (one, two) = (TaskWait(), TaskWait())
        check(state.addDrain(one) && state.addDrain(two))
        let late = state.finish(making, .ready(Pooled(8)), at: 0), used = state.end(use, .keep, at: 0)
        #expect(late.closed == [8] && used.closed == [7] && state.count == 0)
        _ = state.endClosing(late.toClose[0], at: 0)
        #expect(one.outcome == nil && state.report(name: "").unfinishedCount == 1)
        _ = state.endClosing(used.toClose[0], at: 0)
        #expect(one.outcome == 0 && two.outcome == 0 && state.report(name: "").isComplete)
    }

    /// The state keeps the task only after the step that begins it.
    @Test
    func aTaskThatTheStateKeepsAfterTheShutdownIsCancelled() throws {
        var state = makeState(maximum: 2)
        let (_, first) = try queueMaking(in: &state), (_, second) = try queueMaking(in: &state)
        let task = Task {}
        check(state.keep(task, for: first).cancelled.isEmpty)
        check(state.shutDown().cancelled == [task])
        check(!state.keep(task, for: second).cancelled.isEmpty)
    }

    @Test
    func thePlaceOfALowPriorityIsItsOwnUntilItsResourceIsIdleOrGone() throws {
        var state = makeState(maximum: 3, reserved: 1)
        let first = try make(1, in: &state, .low), second = try make(2, in: &state, .low)
        let high = try make(3, in: &state, .high)
        _ = state.end(high, .keep, at: 0)
        // One is idle, and is not for them.
        let low = queue(.low, in: &state)
        let closing = state.end(first, .discard, at: 0).toClose
        #expect(low.outcome == nil && state.closing == 1)
        _ = state.endClosing(closing[0], at: 0)
        #expect(try number(#require(low.turn).get()) == 3)
        check(state.idleCount == 0 && state.takeIdle(request(.low)) == nil)
        _ = state.end(second, .keep, at: 0)
        check(state.takeIdle(request(.low)).map(number) == 2)
        _ = try queueMaking(.high, in: &state)
    }

    // MARK: - Times of idleness

    @Test
    func aSweepClosesThoseWhoseTimeHasPassedAndIsMadeAgainForTheRest() throws {
        var state = makeState(maximum: 3, idleTimeout: 10)
        let uses = try (1...3).map { try make($0, in: &state) }
        check(state.end(uses[0], .keep, at: 100).calls == [110])
        check(state.end(uses[1], .keep, at: 105).calls.isEmpty)
        check(state.end(uses[2], .keep, at: 107).calls.isEmpty)
        let first = state.ring(.idle, dueAt: 110, now: 112)
        #expect(first.closed == [1] && first.calls == [115] && state.closing == 1)
        check(state.ring(.idle, dueAt: 110, now: 200).closed.isEmpty, "another is made in its place")
        let second = state.ring(.idle, dueAt: 115, now: 200)
        #expect(second.closed == [2, 3] && second.calls.isEmpty && state.count == 0)
    }

    @Test
    func nothingIsSweptAsLongAsThereAreNoMoreThanTheFewest() throws {
        var state = makeState(maximum: 3, minimum: 2, idleTimeout: 0)
        for making in state.fill(at: 0).started { _ = state.finish(making, .ready(Pooled(state.idleCount)), at: 0) }
        var uses = [try takeIdle(in: &state), try takeIdle(in: &state)]
        uses.insert(try make(2, in: &state), at: 0)
        check(state.end(uses[0], .keep, at: 100).calls == [100])
        let sweep = state.ring(.idle, dueAt: 100, now: 100)
        #expect(sweep.closed == [2] && sweep.calls.isEmpty && state.count == 2)
        _ = state.endClosing(sweep.toClose[0], at: 100)
        check(state.end(uses[1], .keep, at: 101).calls.isEmpty)
        // When there are more again, the oldest is looked at, whose time has passed.
        let again = try takeIdle(in: &state)
        #expect(number(again) == 1)
        let more = try make(4, in: &state)
        check(state.end(again, .keep, at: 200).calls == [200])
        _ = state.end(more, .discard, at: 200)
        let none = state.ring(.idle, dueAt: 200, now: 300)
        #expect(none.closed.isEmpty && none.calls.isEmpty && state.idleCount == 1)
    }

    @Test
    func aSweepThatTheSystemRefusedIsAskedForAgain() throws {
        var state = makeState(maximum: 1, idleTimeout: 10)
        var use = try make(1, in: &state)
        for (now, due) in [(100, 110), (200, nil), (109 + Self.second, nil), (110 + Self.second, 120 + Self.second)]
            as [(Int64, Int64?)]
        {
            check(state.end(use, .keep, at: now).calls.first == due)
            use = try takeIdle(in: &state)
        }
        _ = state.end(use, .keep, at: 2 * Self.second)
        // The first comes after all, and is not the one that counts.
        check(state.ring(.idle, dueAt: 110, now: 3 * Self.second).closed.isEmpty)
        check(state.ring(.idle, dueAt: 120 + Self.second, now: 3 * Self.second).closed.count == 1)
    }

    @Test
    func aTimeThatExceedsTheClockIsNeverSwept() throws {
        var state = makeState(maximum: 2, idleTimeout: .max - 1)
        let uses = try (1...2).map { try make($0, in: &state) }
        check(state.end(uses[0], .keep, at: 100).calls.isEmpty)
        check(state.end(uses[1], .keep, at: .max - 1).calls.isEmpty)
    }

    // MARK: - Calls of the factory that hang or fail

    @Test
    func aCallThatFailsTooLateLetsTheNextBegin() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 1, preparationTimeout: 9))
        let hanging = try (0..<16).map { try makeTooLate(.normal, in: &state, at: 100 * $0) }
        let next = queue(.normal, in: &state)
        let end = state.finish(hanging[0], .failed(Item.Failure.expected), at: 2000)
        #expect(end.started.count == 1 && next.outcome == nil && state.waitingCount == 1)
    }

    /// Begins a call of the factory that lasts for too long, and goes on all the same.
    private func makeTooLate(
        _ priority: CommandPriority, in state: inout ResourcePoolState, at now: Int64
    ) throws -> ResourcePreparation {
        let (wait, making) = try queueMaking(priority, in: &state, at: now)
        _ = state.ring(.preparation, dueAt: now + 3, now: now + 9)
        #expect(throws: ResourcePoolError.makingTimedOut) { try wait.turn!.get() }
        return making
    }

    @Test
    func callsOfLowPrioritiesThatAreTooLateLeaveSomeToTheReserve() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 4, reserved: 1, preparationTimeout: 9))
        // Three of the last run at once, so that more get late than are theirs.
        var hanging = try (0..<11).map { try makeTooLate(.low, in: &state, at: 100 * $0) }
        for _ in 0..<3 { hanging.append(try queueMaking(.low, in: &state, at: 2000).1) }
        _ = state.ring(.preparation, dueAt: 2003, now: 2009)
        _ = queue(.low, in: &state)
        for now in 30..<34 as Range<Int64> { _ = try makeTooLate(.high, in: &state, at: 100 * now) }
        _ = queue(.high, in: &state)
        // Once fewer are late than their share, the next begins for both.
        check(state.finish(hanging[0], .failed(Item.Failure.expected), at: 5000).started.isEmpty)
        let begun = hanging[1...2].map { making in
            let closing = state.finish(making, .ready(Pooled(1)), at: 5000).toClose
            return state.endClosing(closing[0], at: 5000).started.map(\.isCommon)
        }
        #expect(begun == [[], [false, true]])
    }

    @Test
    func lowPrioritiesAtTheirShareOfTheCallsDoNotKeepTheFewestFromBeingMade() throws {
        var state = ResourcePoolState(ResourceLimits(maximum: 100, minimum: 10, reserved: 50, makings: 4))
        for making in state.fill(at: 0).started {
            _ = state.finish(making, .failed(Item.Failure.expected), at: 1)
        }
        // In the pause only these begin, and they hang.
        for _ in 0..<2 { _ = try queueMaking(.low, in: &state) }
        let low = queue(.low, in: &state), end: Int64 = 100_000_001
        let begun = state.ring(.minimum, dueAt: end, now: end).started
        try #require(begun.count == 2 && state.count == 4)
        #expect(begun.allSatisfy { !$0.isCommon })
        _ = state.finish(begun[0], .ready(Pooled(1)), at: end)
        #expect(state.inUseCount == 1 && low.outcome == nil)
    }

    @Test
    func aCallOfBeforeThePauseThatFailsAfterItBeginsItAnew() throws {
        let ms: Int64 = 1_000_000
        var state = makeState(maximum: 2, minimum: 2)
        let first = state.fill(at: 0).started
        try #require(first.count == 2)
        check(state.finish(first[0], .failed(Item.Failure.expected), at: 200 * ms).calls == [300 * ms])
        let again = state.ring(.minimum, dueAt: 300 * ms, now: 300 * ms).started
        try #require(again.count == 1)
        let failed = state.finish(first[1], .failed(Item.Failure.expected), at: 450 * ms)
        #expect(failed.started.isEmpty && failed.calls == [550 * ms])
        // The other knew of the first pause, and doubles it.
        check(state.finish(again[0], .failed(Item.Failure.expected), at: 500 * ms).calls.isEmpty)
        let early = state.ring(.minimum, dueAt: 550 * ms, now: 550 * ms)
        #expect(early.started.isEmpty && early.calls == [700 * ms])
        check(state.ring(.minimum, dueAt: 700 * ms, now: 700 * ms).started.count == 2)
    }

    // MARK: - What it says

    @Test
    func theReportTellsThoseWhoUseOneFromTheRest() throws {
        var state = makeState(maximum: 3), uses: [PooledResource] = []
        for line in [11, 22, 33] as [UInt] {
            let (wait, making) = try queueMaking(in: &state, line: line)
            if line == 33 { break }
            _ = state.finish(making, .ready(Pooled(Int(line))), at: Int64(100 - line))
            uses.append(try #require(wait.turn).get())
        }
        let report = state.report(name: "")
        #expect(report.holders.map(\.location) == ["\(#fileID):22", "\(#fileID):11"] && report.unfinishedCount == 1)
        #expect(report.holders.allSatisfy { $0.heldFor > .zero } && !report.isComplete)
        // Each ends its own use.
        _ = state.end(uses[0], .keep, at: 0)
        #expect(state.inUseCount == 2, "who waits has got it")
        _ = state.end(uses[1], .keep, at: 0)
        #expect(state.report(name: "").holders.map(\.location) == ["\(#fileID):33"])
        _ = state.end(uses[0], .discard, at: 0)
        check(state.takeIdle(request(line: 44)) === uses[1] && state.inUseCount == 1)
        #expect(state.report(name: "").holders.map(\.location) == ["\(#fileID):44"])
    }
}
