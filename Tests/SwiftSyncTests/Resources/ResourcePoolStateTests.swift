import Glibc
import Testing

@testable import SwiftSync

/// The steps of a pool's state, one at a time and without a thread: ends of waits that meet grants, and times.
@Suite(.endsInTime)
struct ResourcePoolStateTests {
    /// What a step should have given.
    private struct Missing: Error {}

    private static let second: Int64 = 1_000_000_000

    private func makeState(
        maximum: Int, minimum: Int = 0, reserved: Int = 0, idleTimeout: Int64 = Deadline.never
    ) -> ResourcePoolState {
        ResourcePoolState(
            ResourceLimits(maximum: maximum, minimum: minimum, reserved: reserved, idleTimeout: idleTimeout))
    }

    private func request(_ priority: CommandPriority = .normal, line: UInt = #line) -> ResourceRequest {
        ResourceRequest(
            rank: CommandRank.of(priority), mayUseReserve: priority >= .high, file: #fileID, line: line)
    }

    /// Takes a place, and makes a resource there. Its use has begun.
    private func make(
        _ resource: Int, in state: inout ResourcePoolState, _ priority: CommandPriority = .normal
    ) throws -> PooledResource {
        let request = request(priority), making = ResourceMaking(request)
        guard case .place = state.enter(request) else { throw Item.Failure.expected }
        check(state.begin(making))
        let effects = state.finish(making, .success(Pooled(resource)), at: 0)
        #expect(effects.toClose.isEmpty && effects.toResume.isEmpty && effects.sweepAt == nil)
        let made = try making.made!.get()
        #expect(making.outcome == 0 && number(made) == resource)
        return made
    }

    private func queue(_ priority: CommandPriority, in state: inout ResourcePoolState) -> ResourceWait {
        let wait = ResourceWait(request(priority)), waiting = state.waitingCount
        check(state.enter(orQueue: wait) == nil && state.waitingCount == waiting + 1)
        return wait
    }

    private func number(_ resource: PooledResource) -> Int { ResourcePool<Int>.resource(of: resource) }

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
        guard case .use(let second) = next.turn, number(second) == 7 else { throw Missing() }
        // It comes too late to be in the way.
        state.leave(first)
        #expect(state.inUseCount == 1 && state.idleCount == 0 && state.waitingCount == 0)
        _ = state.end(second, .keep, at: 0)
        #expect(state.inUseCount == 0 && state.idleCount == 1)
        check(state.shutDown().toClose.map { number($0.resource) } == [7] && state.idleCount == 0)
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
        guard case .use(let taken) = state.enter(request()), number(taken) == 7 else { throw Missing() }
    }

    @Test
    func whatIsMadeForOneThatGaveUpGoesToTheNext() throws {
        var state = makeState(maximum: 1)
        let making = ResourceMaking(request())
        guard case .place = state.enter(making.request) else { throw Missing() }
        check(state.begin(making))
        let next = queue(.low, in: &state)
        #expect(making.claim(ECANCELED) == .won)
        _ = state.finish(making, .success(Pooled(7)), at: 0)
        guard case .use(let taken) = next.turn, number(taken) == 7 else { throw Missing() }
        #expect(next.outcome == 0 && state.inUseCount == 1 && state.count == 1)
    }

    @Test
    func aFailureIsForOneAndThePlaceForTheNext() throws {
        var state = makeState(maximum: 1)
        let making = ResourceMaking(request())
        guard case .place = state.enter(making.request) else { throw Missing() }
        check(state.begin(making))
        let next = queue(.low, in: &state), last = queue(.low, in: &state)
        _ = state.finish(making, .failure(Item.Failure.expected), at: 0)
        #expect(throws: Item.Failure.expected) { try making.made!.get() }
        guard case .place = next.turn else { throw Missing() }
        #expect(making.outcome == 0 && last.outcome == nil && state.count == 1 && state.waitingCount == 1)
        _ = state.shutDown()
    }

    @Test
    func aShutdownBetweenThePlaceAndTheFactoryRefusesTheFactory() throws {
        var state = makeState(maximum: 1)
        let making = ResourceMaking(request()), drain = TaskWait()
        guard case .place = state.enter(making.request) else { throw Missing() }
        _ = state.shutDown()
        check(state.addDrain(drain) && !state.begin(making))
        _ = state.abandon(making.request, at: 0)
        #expect(drain.outcome == 0 && state.count == 0 && state.report(name: "").isComplete)
    }

    @Test
    func aShutdownRefusesEachOnce() throws {
        var state = makeState(maximum: 2, reserved: 1)
        let use = try make(7, in: &state), making = ResourceMaking(request(.high))
        guard case .place = state.enter(making.request) else { throw Missing() }
        check(state.begin(making))
        let waits = [queue(.low, in: &state), queue(.high, in: &state), queue(.normal, in: &state)]
        for _ in 0..<2 { check(state.shutDown().toClose.isEmpty) }
        for wait in waits {
            guard case .refusal = wait.turn else { throw Missing() }
        }
        #expect(making.outcome == ESHUTDOWN && state.waitingCount == 0)
        #expect(state.report(name: "").holders.count == 1 && state.report(name: "").unfinishedCount == 1)
        let (first, second) = (TaskWait(), TaskWait())
        check(state.addDrain(first) && state.addDrain(second))
        let late = state.finish(making, .success(Pooled(8)), at: 0), used = state.end(use, .keep, at: 0)
        #expect(
            late.toClose.map { number($0.resource) } == [8] && used.toClose.map { number($0.resource) } == [7]
                && state.count == 0)
        _ = state.endClosing(late.toClose[0], at: 0)
        #expect(first.outcome == nil && state.report(name: "").unfinishedCount == 1)
        _ = state.endClosing(used.toClose[0], at: 0)
        #expect(first.outcome == 0 && second.outcome == 0 && state.report(name: "").isComplete)
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
        guard case .use(let taken) = low.turn, number(taken) == 3 else { throw Missing() }
        check(state.idleCount == 0 && state.enter(request(.low)) == nil)
        _ = state.end(second, .keep, at: 0)
        guard case .use(let taken) = state.enter(request(.low)), number(taken) == 2 else { throw Missing() }
        guard case .place = state.enter(request(.high)) else { throw Missing() }
    }

    // MARK: - Times of idleness

    @Test
    func aSweepClosesThoseWhoseTimeHasPassedAndIsMadeAgainForTheRest() throws {
        var state = makeState(maximum: 3, idleTimeout: 10)
        let uses = try (1...3).map { try make($0, in: &state) }
        check(state.end(uses[0], .keep, at: 100).sweepAt == 110)
        check(state.end(uses[1], .keep, at: 105).sweepAt == nil)
        check(state.end(uses[2], .keep, at: 107).sweepAt == nil)
        let first = state.sweep(dueAt: 110, now: 112)
        #expect(first.toClose.map { number($0.resource) } == [1] && first.sweepAt == 115 && state.closing == 1)
        check(state.sweep(dueAt: 110, now: 200).toClose.isEmpty, "another is made in its place")
        let second = state.sweep(dueAt: 115, now: 200)
        #expect(second.toClose.map { number($0.resource) } == [2, 3] && second.sweepAt == nil && state.count == 0)
    }

    @Test
    func nothingIsSweptAsLongAsThereAreNoMoreThanTheFewest() throws {
        var state = makeState(maximum: 3, minimum: 2, idleTimeout: 0)
        let uses = try (1...3).map { try make($0, in: &state) }
        check(state.end(uses[0], .keep, at: 100).sweepAt == 100)
        let sweep = state.sweep(dueAt: 100, now: 100)
        #expect(sweep.toClose.map { number($0.resource) } == [1] && sweep.sweepAt == nil && state.count == 2)
        _ = state.endClosing(sweep.toClose[0], at: 100)
        check(state.end(uses[1], .keep, at: 101).sweepAt == nil)
        // When there are more again, the oldest is looked at, whose time has passed.
        guard case .use(let again) = state.enter(request()), number(again) == 2 else { throw Missing() }
        let more = try make(4, in: &state)
        check(state.end(again, .keep, at: 200).sweepAt == 200)
        _ = state.end(more, .discard, at: 200)
        let none = state.sweep(dueAt: 200, now: 300)
        #expect(none.toClose.isEmpty && none.sweepAt == nil && state.idleCount == 1)
    }

    @Test
    func aSweepThatTheSystemRefusedIsAskedForAgain() throws {
        var state = makeState(maximum: 1, idleTimeout: 10)
        var use = try make(1, in: &state)
        for (now, due) in [(100, 110), (200, nil), (109 + Self.second, nil), (110 + Self.second, 120 + Self.second)]
            as [(Int64, Int64?)]
        {
            check(state.end(use, .keep, at: now).sweepAt == due)
            guard case .use(let next) = state.enter(request()), number(next) == 1 else { throw Missing() }
            use = next
        }
        _ = state.end(use, .keep, at: 2 * Self.second)
        // The first comes after all, and is not the one that counts.
        check(state.sweep(dueAt: 110, now: 3 * Self.second).toClose.isEmpty)
        check(state.sweep(dueAt: 120 + Self.second, now: 3 * Self.second).toClose.count == 1)
    }

    @Test
    func aTimeThatExceedsTheClockIsNeverSwept() throws {
        var state = makeState(maximum: 2, idleTimeout: .max - 1)
        let uses = try (1...2).map { try make($0, in: &state) }
        check(state.end(uses[0], .keep, at: 100).sweepAt == nil)
        check(state.end(uses[1], .keep, at: .max - 1).sweepAt == nil)
    }

    // MARK: - What it says

    @Test
    func theReportTellsThoseWhoUseOneFromTheRest() throws {
        var state = makeState(maximum: 3), uses: [PooledResource] = []
        for line in [11, 22, 33] as [UInt] {
            let making = ResourceMaking(request(line: line))
            guard case .place = state.enter(making.request) else { throw Missing() }
            _ = state.begin(making)
            if line == 33 { break }
            _ = state.finish(making, .success(Pooled(Int(line))), at: Int64(100 - line))
            uses.append(try making.made!.get())
        }
        let report = state.report(name: "")
        #expect(report.holders.map(\.location) == ["\(#fileID):22", "\(#fileID):11"] && report.unfinishedCount == 1)
        #expect(report.holders.allSatisfy { $0.heldFor > .zero } && !report.isComplete)
        // Each ends its own use.
        _ = state.end(uses[0], .keep, at: 0)
        guard case .use(let again) = state.enter(request(line: 44)) else { throw Missing() }
        #expect(again === uses[0] && state.inUseCount == 2)
        #expect(Set(state.report(name: "").holders.map(\.location)) == ["\(#fileID):22", "\(#fileID):44"])
        _ = state.end(uses[1], .keep, at: 0)
        #expect(state.report(name: "").holders.map(\.location) == ["\(#fileID):44"])
    }
}
