import CSyncKernel
import Glibc
import Testing

@testable import SwiftSync

/// Waits of real tasks: suspension, deadlines, cancellation, and what a subclass is asked for.
@Suite
struct TaskWaitTests {
    /// What a kernel object would be: it says whether a withdrawal comes in time.
    private final class Registered: TaskWait, @unchecked Sendable {
        let withdrawals = Shared([Int32]())
        let refuses: Bool

        init(refuses: Bool = false) { self.refuses = refuses }

        override func withdraw(_ cause: Int32) {
            withdrawals.append(cause)
            if !refuses { resolve(cause) }
        }
    }

    @Test
    func aGrantResumesTheTask() async {
        let wait = TaskWait()
        let task = Task { await wait.wait { 0 } }
        #expect(wait.resolve(0))
        #expect(!wait.resolve(ECANCELED))
        #expect(await task.value == 0)
    }

    @Test
    func whatCanNotBeRegisteredIsTheOutcome() async {
        let wait = Registered()
        let status = await wait.wait { ESHUTDOWN }
        #expect(status == ESHUTDOWN)
        #expect(wait.withdrawals.value.isEmpty)
    }

    @Test
    func aDeadlineWithdrawsTheWaitAndIsNotEarly() async {
        let wait = Registered(), deadline = csk_deadline_after(2_000_000)
        let status = await wait.wait(until: deadline) { 0 }
        #expect(status == ETIMEDOUT)
        #expect(csk_deadline_after(0) >= deadline)
        #expect(wait.withdrawals.value == [ETIMEDOUT])
    }

    @Test
    func aTaskThatWasCancelledBeforeRegistersNothing() async {
        let wait = Registered(), registrations = Shared(0)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await wait.wait {
                registrations.increment()
                return 0
            }
        }
        #expect(await task.value == ECANCELED)
        #expect(registrations.value == 0 && wait.withdrawals.value.isEmpty)
    }

    @Test
    func aGrantThatCameFirstStandsAgainstACancellation() async {
        let wait = Registered(refuses: true)
        let task = Task { await wait.wait { 0 } }
        task.cancel()
        await waitUntil { !wait.withdrawals.value.isEmpty || wait.outcome != nil }
        _ = wait.resolve(0)
        let status = await task.value
        #expect(status == (wait.withdrawals.value.isEmpty ? ECANCELED : 0))
    }

    @Test
    func aWaitThatCanNotBeCancelledIgnoresTheCancellation() async {
        let wait = Registered()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await wait.wait(isCancellable: false) { 0 }
        }
        _ = wait.resolve(0)
        #expect(await task.value == 0)
        #expect(wait.withdrawals.value.isEmpty)
    }

    @Test
    func aWaitCanBeginAgainAndKeepsItsCancellation() async {
        let wait = Registered(refuses: true)
        let task = Task {
            let first = await wait.wait { [wait] in wait.resolve(0) ? 0 : EINVAL }
            withUnsafeCurrentTask { $0?.cancel() }
            return (first, await wait.waitAgain { 0 })
        }
        let (first, second) = await task.value
        #expect(first == 0 && second == ECANCELED)
    }

    @Test
    func nothingIsKeptOnceAWaitIsOver() async {
        weak var gone: TaskWait?
        do {
            let wait = TaskWait()
            gone = wait
            let status = await wait.wait(until: csk_deadline_after(60_000_000_000)) { [wait] in
                wait.resolve(0) ? 0 : EINVAL
            }
            #expect(status == 0)
        }
        #expect(gone == nil)
    }
}
