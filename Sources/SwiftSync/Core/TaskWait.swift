import CSyncKernel
import Synchronization

/// A task that waits: for a gate, a section, its turn on a queue, room, or the end of something. Every wait of a task
/// in this library is an object of this class.
///
/// Every party that grants, refuses, cancels or times out consults ``TaskWaitState``, and exactly one of them decides.
/// There are two kinds of users:
///
/// - Where this object's state word decides (for an entry of an ordered queue), the granting party calls
///   ``resolve(_:)``. A result of false means that the grant belongs to the next in order. A cancelled or late wait
///   resolves itself.
/// - Where the kernel decides (a gate, a read-write lock, a work queue), a subclass overrides ``withdraw(_:)`` to take
///   the registration back, and the kernel's answer resolves the wait: with the cause, or with the grant if that came
///   first.
///
/// The object must stay alive until it is resolved. The object that it is registered with holds a reference to it.
///
/// A task that has to go on inside the section that it waits for uses the subclass ``TurnWait``.
@safe
class TaskWait: @unchecked Sendable {
    private let state: Atomic<TaskWaitState>
    /// It is written before PARKED is set. After that, the party that resolves the wait owns it.
    @safe private var continuation: UnsafeContinuation<Void, Never>?

    init() {
        state = Atomic(TaskWaitState())
    }

    /// Takes the registration back because of `cause`. It is called at most once for each registration, with no lock
    /// held.
    ///
    /// An override must ensure that the wait is resolved: with `cause`, or by the grant that came first.
    func withdraw(_ cause: Int32) {
        resolve(cause)
    }

    /// Zero or an errno value once the wait is over; nil before.
    final var outcome: Int32? { state.load(ordering: .acquiring).outcome }
    /// Why the wait has to be given up, if it has.
    final var cause: Int32? { state.load(ordering: .acquiring).cause }

    /// Applies one step to the state word. It acquires what the others' steps have released, and releases what the
    /// caller did before.
    private func step<Answer>(_ body: (inout TaskWaitState) -> Answer) -> Answer {
        var current = state.load(ordering: .acquiring)
        while true {
            var next = current
            let answer = body(&next)
            if next == current { return answer }
            let (exchanged, found) = state.compareExchange(
                expected: current, desired: next, ordering: .acquiringAndReleasing)
            if exchanged { return answer }
            current = found
        }
    }

    // MARK: - The task

    /// Suspends the task until the wait is resolved, and returns the outcome: zero, or an errno value.
    ///
    /// - Parameters:
    ///   - deadline: when the wait is given up with `ETIMEDOUT`, for users whose kernel object knows no deadlines.
    ///   - isCancellable: whether the task's cancellation gives the wait up, with `ECANCELED`.
    ///   - object: the object that it waits for, if that is no object of the kernel.
    ///   - isolation: the caller's isolation, in which the task goes on.
    ///   - register: makes the wait known to the party that resolves it, from inside of the suspension. A status other
    ///     than zero is the outcome.
    @inline(__always)
    final func wait(
        until deadline: Int64 = Deadline.never, isCancellable: Bool = true, at object: (any WaitedObject)? = nil,
        isolation: isolated (any Actor)? = #isolation,
        register: () -> Int32
    ) async -> Int32 {
        await suspend(until: deadline, isCancellable, object, isolation) { timer in
            // A wait that has to be given up is not registered first: if it were first in order, it could be granted. A
            // wait whose deadline has passed already is registered, since it tries once: its grant may be available.
            let triesOnce = deadline == Deadline.passed
            let status = cause ?? (triesOnce ? nil : timer?.start(for: self, deadline)) ?? 0
            testStep("TaskWait: queues", self)
            if status != 0 { return status }
            let refusal = register()
            if refusal == 0, triesOnce { giveUp(ETIMEDOUT) }
            return refusal
        }
    }

    /// Suspends the task for a wait that the resolving party already knows, and returns the outcome.
    @inline(__always)
    final func wait(
        until deadline: Int64 = Deadline.never, isCancellable: Bool = true, at object: (any WaitedObject)? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async -> Int32 {
        await suspend(until: deadline, isCancellable, object, isolation) { timer in
            let status = timer?.start(for: self, deadline) ?? 0
            if status != 0 { giveUp(status) }
            return 0
        }
    }

    /// Suspends the task for another wait of an object whose last wait was resolved, and returns the outcome. If a
    /// cause came meanwhile, it is the outcome.
    final func waitAgain(isolation: isolated (any Actor)? = #isolation, register: () -> Int32) async -> Int32 {
        if let cause = step({ $0.beginAgain() }) { return Deadline.outcome(cause) }
        return await wait(isolation: isolation, register: register)
    }

    @inline(__always)
    private func suspend(
        until deadline: Int64, _ isCancellable: Bool, _ object: (any WaitedObject)?,
        _ isolation: isolated (any Actor)?, _ register: (TaskWaitTimer?) -> Int32
    ) async -> Int32 {
        if let outcome { return Deadline.outcome(outcome) }
        let timer = deadline == Deadline.never ? nil : TaskWaitTimer()
        defer { timer?.stop() }
        // A try is made even in a task that was cancelled because its deadline has passed.
        let isCancellable = isCancellable && (deadline != Deadline.passed || Task.isCancelledByOthers)
        if !isCancellable { return await suspend(timer, deadline, object, isolation, register) }
        return await withTaskCancellationHandler {
            await suspend(timer, deadline, object, isolation, register)
        } onCancel: {
            giveUp(ECANCELED)
        }
    }

    @inline(__always)
    private func suspend(
        _ timer: TaskWaitTimer?, _ deadline: Int64, _ object: (any WaitedObject)?,
        _ isolation: isolated (any Actor)?, _ register: (TaskWaitTimer?) -> Int32
    ) async -> Int32 {
        var told: ToldWait?
        unsafe await withUnsafeContinuation { continuation in
            self.continuation = unsafe continuation
            if !csk_task_waits_are_told() { return park { register(timer) } }
            told = unsafe ToldWait(self, at: object, until: deadline, continuation)
            unsafe csk_profile_suspend(RuntimeFacts.context(of: continuation))
            unsafe csk_deadlock_suspend(UInt64(RuntimeFacts.addressOfTask(of: continuation)))
            park { register(timer) }
            csk_profile_suspend(nil)
            csk_deadlock_suspend(0)
        }
        // The task reads the outcome from the word in which it was decided. So everything that happened before the
        // decision happened before this too, by this word alone.
        let outcome = unsafe Deadline.outcome(outcome.unsafelyUnwrapped)
        told?.end(outcome)
        return outcome
    }

    /// Describes for the kernel the purpose and the order of the wait. An object of the library is described already.
    func describe(_ told: inout csk_task_wait_t) {}

    /// Whether a view shows the wait as it was described. A view reads this under a lock of the kernel.
    var isShown: Bool { outcome == nil }

    /// Parks the task and registers the wait; the continuation (or job) that resumes the task is stored already. The
    /// task may run, and the wait may end, before this returns. The caller keeps the object alive.
    final func park(_ register: () -> Int32) {
        testStep("TaskWait: parks", self)
        if case .goesOn(let outcome) = step({ $0.park() }) { return resume(with: outcome) }
        let status = register()
        testStep("TaskWait: is queued", self)
        if status != 0 {
            resolve(status)
        } else if let cause = step({ $0.register() }) {
            testStep("TaskWait: withdraws", self)
            withdraw(cause)
        }
    }

    /// Resumes the parked task. It is called at most once for each time that the task parks.
    func resume(with outcome: Int32) {
        unsafe continuation.unsafelyUnwrapped.resume()
    }

    // MARK: - Others

    /// Asks for the end of the wait because of `cause`. The first cause counts. A grant that came before stays.
    final func giveUp(_ cause: Int32) {
        if let cause = step({ $0.giveUp(cause) }) { withdraw(cause) }
    }

    /// Decides the outcome without resuming the task. It is for callers that hold a lock: after `.mustResume` they call
    /// ``resume()``, once they have dropped it.
    final func claim(_ status: Int32) -> TaskWaitState.Resolution {
        step { $0.resolve(status) }
    }

    /// Resumes the task after a claim that asked for it, with the outcome of the claim.
    final func resume() {
        unsafe resume(with: outcome.unsafelyUnwrapped)
    }

    /// Decides the outcome, and resumes the task if it waits. The task may run, and the wait may end, before this
    /// returns.
    ///
    /// - Returns: false if another party has decided before.
    @discardableResult
    final func resolve(_ status: Int32) -> Bool {
        let claim = claim(status)
        if claim == .mustResume { resume() }
        return claim != .lost
    }
}
