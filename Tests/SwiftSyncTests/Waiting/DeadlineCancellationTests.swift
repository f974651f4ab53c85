import CSyncKernel
import Testing

@testable import SwiftSync

/// `withDeadline` cancels its body when the deadline passes, and nothing around it.
@Suite(.endsInTime)
struct DeadlineCancellationTests {
    private enum Failure: Error { case expected }

    private struct Once: ~Copyable {
        let number: Int
    }

    @Test
    func otherWaitsEndAtTheDeadlineAndTheTaskGoesOnUncancelled() async throws {
        let instant = ContinuousClock.now + .milliseconds(5)
        await #expect(throws: CancellationError.self) {
            try await withDeadline(instant) { try await Task.sleep(for: .seconds(1000)) }
        }
        #expect(ContinuousClock.now >= instant)
        #expect(!Task.isCancelled)
        try await PrioritySemaphore(value: 1).withPermit {}
        await #expect(throws: CancellationError.self) {
            try await withDeadline(SuspendingClock.now + .milliseconds(1), clock: .suspending) {
                try await Task.sleep(for: .seconds(1000))
            }
        }
        await #expect(throws: CancellationError.self) {
            try await withDeadline(in: .milliseconds(1)) { try await Task.sleep(for: .seconds(1000)) }
        }
    }

    @Test
    func aDeadlineThatHasPassedCancelsAtOnce() async {
        #expect(await withDeadline(.now - .seconds(1)) { Task.isCancelled })
        #expect(await withDeadline(in: .zero) { Task.isCancelled })
        #expect(await !withDeadline(.now + .seconds(1000)) { Task.isCancelled })
    }

    @Test
    func handlersAreCalledAndNotByTheTimersThread() async {
        let byTimers = Shared<Bool?>(nil)
        await withDeadline(in: .milliseconds(1)) {
            await withTaskCancellationHandler {
                await waitUntil { byTimers.value != nil }
            } onCancel: {
                byTimers.access { $0 = csk_timer_is_current() }
            }
        }
        #expect(byTimers.value == false)
    }

    @Test
    func theNearerOfTwoCancels() async {
        let far = ContinuousClock.now + .seconds(1000)
        for isOuter in [true, false] {
            let near = ContinuousClock.now + .milliseconds(2)
            await #expect(throws: CancellationError.self) {
                try await withDeadline(isOuter ? near : far) {
                    try await withDeadline(isOuter ? far : near) { try await Task.sleep(for: .seconds(1000)) }
                }
            }
            #expect(ContinuousClock.now >= near)
        }
        // The part around the inner one goes on.
        await withDeadline(far) {
            #expect(await withDeadline(in: .zero) { Task.isCancelled })
            #expect(!Task.isCancelled)
        }
    }

    @Test
    func aTaskThatIsStartedInsideHasADeadlineOfItsOwnThatCancels() async {
        await withDeadline(in: .milliseconds(1)) {
            let started = Task {
                try await withDeadline(in: .seconds(1000)) { try await Task.sleep(for: .seconds(1000)) }
            }
            await #expect(throws: CancellationError.self) { try await started.value }
        }
        await #expect(throws: CancellationError.self) {
            try await withDeadline(in: .seconds(1000)) {
                try await withTaskCancellationShield {
                    try await withDeadline(in: .milliseconds(1)) { try await Task.sleep(for: .seconds(1000)) }
                }
            }
        }
        await #expect(throws: CancellationError.self) {
            try await withDeadline(in: .milliseconds(1)) {
                try await withTaskCancellationShield {
                    try await withDeadline(in: .seconds(1000)) { try await Task.sleep(for: .seconds(1000)) }
                }
            }
        }
    }

    @Test
    func bodiesThatEndJustAfterTheirDeadlinesLeaveOthersMemoryAlone() async {
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<16 {
                group.addTask {
                    for round in 0..<200 {
                        let deadline = ContinuousClock.now + .microseconds(20 + (round * 13 + index) % 200)
                        await withDeadline(deadline) {
                            while ContinuousClock.now < deadline + .microseconds(30) { await Task.yield() }
                        }
                    }
                }
            }
        }
    }

    @Test
    func whoIsCancelledByOthersIsToldSo() async {
        let entered = Flag()
        let task = Task {
            try await withDeadline(.now + .seconds(1000)) {
                entered.raise()
                try await PrioritySemaphore(value: 0).wait()
            }
        }
        await waitUntil { entered.isRaised }
        task.cancel()
        await #expect(throws: PrioritySemaphoreError.cancelled) { try await task.value }
    }

    @Test
    func onceItHasPassedACancelledBodyStillTriesOnce() async throws {
        let free = AsyncMutex(1), taken = PrioritySemaphore(value: 0), coordinator = ReadWriteCoordinator()
        let bounded = WorkQueue(capacity: 1, whenFull: .wait)
        try await withDeadline(in: .zero) { () async throws in
            #expect(Task.isCancelled)
            #expect(try await free.withLock { $0 } == 1)
            #expect(try await coordinator.suspending.write { 2 } == 2)
            try await bounded.asyncWaitingForRoom {}
            await #expect(throws: PrioritySemaphoreError.timedOut) { try await taken.wait() }
        }
    }

    @Test
    func aBodyThatWaitsForItsOwnTaskIsTold() async throws {
        let mutex = AsyncMutex(0), queue = FIFOQueue()
        try await mutex.withLock { _ in
            _ = await #expect(throws: AsyncMutexError.wouldDeadlock) {
                try await withDeadline(in: .seconds(1000)) { try await mutex.withLock { _ in } }
            }
            await #expect(throws: AsyncMutexError.wouldDeadlock) {
                try await withDeadline(in: .seconds(1000)) {
                    try await withDeadline(in: .seconds(100)) { try await mutex.withLock { _ in } }
                }
            }
        }
        try await queue.enqueueAndWait { () async throws in
            _ = await #expect(throws: OrderedQueueError.wouldDeadlock) {
                try await withDeadline(in: .seconds(1000)) { try await queue.enqueueAndWait { () async throws in } }
            }
        }
    }

    @Test
    func aTaskThatIsOnlyStartedInsideMayWaitForWhatItsStarterHolds() async throws {
        let mutex = AsyncMutex(0)
        let tasks = Shared<[Task<Void, any Error>]>([])
        try await mutex.withLock { _ in
            await withDeadline(in: .seconds(1000)) {
                tasks.append(Task { try await mutex.withLock { $0 += 1 } })
                await withTaskCancellationShield { tasks.append(Task { try await mutex.withLock { $0 += 1 } }) }
                await waitUntil { mutex.waitingCount == 2 }
            }
        }
        for task in tasks.value { try await task.value }
        #expect(try await mutex.withLock { $0 } == 2)
    }

    @Test
    func resultsThatCanNotBeCopiedAndTypedErrorsComeThrough() async throws {
        func fails() async throws(Failure) -> Once { throw .expected }
        let once = await withDeadline(in: .seconds(1000)) { () async -> Once in Once(number: 7) }
        #expect(once.number == 7)
        do throws(Failure) {
            _ = try await withDeadline(in: .seconds(1000)) { () async throws(Failure) -> Once in try await fails() }
            Issue.record("it returned")
        } catch {
            #expect(error == .expected)
        }
    }

    @Test
    func manyThatEndAsTheirDeadlinesPassLeaveNothing() async {
        let alive = Shared<Int>()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<4 {
                group.addTask {
                    for round in 0..<500 {
                        let held = Tracked(alive)
                        await withDeadline(in: .microseconds((round * 7 + index) % 60)) {
                            for _ in 0..<round % 20 { await Task.yield() }
                            withExtendedLifetime(held) {}
                        }
                    }
                }
            }
        }
        #expect(alive.value == 0)
    }

    // MARK: - Who cancels a task beside its end

    /// Has the worker that cancels the task of one `withDeadline` stop at a step.
    private final class Canceller: Sendable {
        private struct Weak {
            weak var scope: DeadlineScope?
        }

        @TaskLocal private static var current: Canceller?

        /// Raised by the worker that has found the task running.
        let cancels = Flag()
        private let pause = Shared<StepPause?>(nil)
        private let watched = Shared(Weak()), listener = Shared<Int?>(nil)

        init(stopsAt step: String) {
            let id = TestSteps.add { [weak self] name, scope in
                guard let self, let scope = scope as? DeadlineScope else { return }
                if name == "DeadlineScope: is timed", Self.current === self {
                    watched.access { $0.scope = scope }
                    pause.access { $0 = StepPause(step, subject: scope) }
                } else if name == "DeadlineScope: cancels", watched.access({ $0.scope === scope }) {
                    cancels.raise()
                }
            }
            listener.access { $0 = id }
        }

        deinit { if let id = listener.value { TestSteps.remove(id) } }

        /// Calls `withDeadline`, whose body ends when the worker stands at the step. It is called again where the
        /// deadline had passed before the body began.
        func runUntilItIsReached() async {
            var timeout = Duration.milliseconds(1)
            while pause.value == nil {
                await Self.$current.withValue(self) {
                    await withDeadline(in: timeout) { await pause.value?.isReached() }
                }
                timeout *= 2
            }
        }

        func isReached() async {
            await waitUntil { self.pause.value != nil }
            await pause.value?.isReached()
        }

        func goOn() { pause.value?.goOn() }

        var scope: DeadlineScope? { watched.access { $0.scope } }

        /// Whether neither the task nor a worker has anything to do with it any more.
        var hasGone: Bool { scope == nil }
    }

    @Test
    func aTaskDoesNotEndWhileAWorkerCancelsIt() async {
        let canceller = Canceller(stopsAt: "DeadlineScope: cancels"), hasEnded = Flag()
        let task = Task {
            await canceller.runUntilItIsReached()
            hasEnded.raise()
        }
        await canceller.isReached()
        // A task that does not wait would have ended by then.
        let later = csk_deadline_after(20_000_000)
        await waitUntil { csk_now() >= later }
        #expect(!hasEnded.isRaised)
        let scope = canceller.scope
        canceller.goOn()
        await task.value
        #expect(scope?.holdsTask == false)
    }

    @Test
    func aTaskThatHasEndedIsNotCancelledAnyMore() async {
        let canceller = Canceller(stopsAt: "DeadlineScope: is to cancel")
        await canceller.runUntilItIsReached()
        #expect(canceller.scope?.holdsTask == false)
        canceller.goOn()
        await waitUntil { canceller.hasGone }
        #expect(!canceller.cancels.isRaised)
    }
}
