import Glibc
import Testing

@testable import SwiftSync

/// A task that waits for its turn runs its body in it: as itself, on the thread that gives the turn, and nothing else
/// there.
@Suite(.endsInTime)
struct TurnWaitTests {
    enum Local {
        @TaskLocal static var value = 0
    }

    /// Something that gives turns: when the test says so, or at once on a thread of its own, which may be before the
    /// call has returned.
    private final class Turn: TurnWait, @unchecked Sendable {
        let registrations = Shared(0), withdrawals = Shared([Int32]()), inside = Shared<UInt?>(nil), over = Flag()
        private let grantsAtOnce: Bool

        init(grantsAtOnce: Bool = false, deadline: Int64 = Deadline.never) {
            self.grantsAtOnce = grantsAtOnce
            super.init(deadline: deadline)
        }

        override func register() -> Int32 {
            registrations.increment()
            if grantsAtOnce { Thread { self.grant() }.join() }
            return 0
        }

        override func withdraw(_ cause: Int32) {
            withdrawals.append(cause)
            resolve(cause)
        }

        func grant() {
            inside.access { $0 = Threads.current }
            resolve(0)
            inside.access { $0 = nil }
            over.raise()
        }

        var isCurrent: Bool { inside.value == Threads.current }
    }

    private func granting(_ turn: Turn) async {
        await waitUntil { turn.registrations.value == 1 }
        onThread { turn.grant() }
    }

    @Test(arguments: [true, false])
    func theBodyIsAPartOfTheCallersTaskInsideOfTheTurn(grantsAtOnce: Bool) async {
        for round in 1...200 {
            let turn = Turn(grantsAtOnce: grantsAtOnce), seen = Shared([String]())
            let task = Task(priority: .low) {
                await Local.$value.withValue(round) {
                    let before = withUnsafeCurrentTask { $0?.hashValue }
                    let status = await turn.run(isCancellable: false) {
                        if turn.isCurrent { seen.append("inside") }
                        if Local.value == round { seen.append("local") }
                        if Task.currentPriority == .low { seen.append("priority") }
                        if withUnsafeCurrentTask(body: { $0?.hashValue }) == before { seen.append("task") }
                    }
                    if turn.isCurrent { seen.append("still inside") }
                    return status
                }
            }
            if !grantsAtOnce { await granting(turn) }
            // Before anything that waits for it could raise its priority.
            await waitUntil { turn.over.isRaised }
            #expect(await task.value == 0)
            #expect(seen.value == ["inside", "local", "priority", "task"])
        }
    }

    private actor Visitor {
        var visits = 0
        func visit() { visits += 1 }
        func take(_ turn: Turn) async -> Bool {
            _ = await turn.run(isCancellable: false) {}
            return !turn.isCurrent
        }
    }

    @Test
    func anActorsOtherJobsGoOnMeanwhileAndNotInTheTurn() async {
        let turn = Turn(), visitor = Visitor()
        let task = Task { await visitor.take(turn) }
        await waitUntil { turn.registrations.value == 1 }
        for _ in 0..<100 { await visitor.visit() }
        #expect(await visitor.visits == 100)
        await granting(turn)
        #expect(await task.value)
    }

    @Test
    func aCallerWithAnExecutorOfItsOwnGoesBackToIt() async {
        let queue = ConcurrentWorkQueue(name: "own"), turn = Turn(grantsAtOnce: true)
        let isBack = await Task(executorPreference: queue) {
            guard queue.isCurrent else { return false }
            _ = await turn.run(isCancellable: false) { #expect(turn.isCurrent && !queue.isCurrent) }
            return queue.isCurrent
        }.value
        #expect(isBack)
    }

    @Test
    func raisingThePriorityOfATaskThatWaitsDoesNotRunItOutsideOfTheTurn() async {
        for _ in 0..<50 {
            let turn = Turn(), ran = Flag()
            let task = Task.detached(priority: .background) {
                await turn.run(isCancellable: false) {
                    #expect(turn.isCurrent)
                    ran.raise()
                }
            }
            await waitUntil { turn.registrations.value == 1 }
            task.escalatePriority(to: .high)
            let waiting = Task(priority: .high) { await task.value }
            for _ in 0..<20 { await Task.yield() }
            #expect(!ran.isRaised)
            await granting(turn)
            #expect(await waiting.value == 0)
            #expect(ran.isRaised)
        }
    }

    @Test
    func aTaskThatWasCancelledBeforeTakesNoPlace() async {
        let turn = Turn()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await turn.run(isCancellable: true) { Issue.record("it ran") }
        }
        #expect(await task.value == ECANCELED)
        #expect(turn.registrations.value == 0 && turn.withdrawals.value.isEmpty)
    }

    @Test
    func aWaitThatIsCancelledOrLateIsWithdrawnOnce() async {
        let turn = Turn(), late = Turn(deadline: Deadline.after(.milliseconds(1)))
        let task = Task { await turn.run(isCancellable: true) { Issue.record("it ran") } }
        await waitUntil { turn.registrations.value == 1 }
        task.cancel()
        #expect(await task.value == ECANCELED)
        #expect(turn.withdrawals.value == [ECANCELED])
        #expect(await late.run(isCancellable: true) { Issue.record("it ran") } == ETIMEDOUT)
        #expect(late.withdrawals.value == [ETIMEDOUT])
    }

    @Test
    func aTaskThatBeginsOnTheCallersThreadWaitsLikeAnyOther() async {
        let turn = Turn()
        let task = Task.immediate { await turn.run(isCancellable: false) { #expect(turn.isCurrent) } }
        #expect(turn.registrations.value == 1)
        await granting(turn)
        #expect(await task.value == 0)
    }

    @Test
    func aTurnThatCameInTimeIsKeptByNoTimer() async {
        weak var gone: Turn?
        do {
            let turn = Turn(grantsAtOnce: true, deadline: Deadline.after(.seconds(3600)))
            gone = turn
            #expect(await turn.run(isCancellable: true) {} == 0)
        }
        await waitUntil { gone == nil }
    }

    @Test
    func aTurnThatIsNotGrantedLeavesItsObjectFree() async {
        weak var gone: Turn?
        do {
            let turn = Turn()
            gone = turn
            let task = Task { [turn] in await turn.run(isCancellable: true) {} }
            await waitUntil { turn.registrations.value == 1 }
            task.cancel()
            _ = await task.value
        }
        await waitUntil { gone == nil }
    }
}
