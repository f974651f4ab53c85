import CSyncKernel
import Synchronization

/// A task that waits: for a gate, a section, its turn on a queue, room, or an end. All waits of tasks in this library
/// are one of these.
///
/// Whoever grants, refuses, cancels or times out asks ``TaskWaitState``, and exactly one of them decides. Two kinds of
/// users:
///
/// - Where this word decides (an entry of an ordered queue), whoever grants calls ``resolve(_:)``, and a false means
///   that the grant belongs to the next in order. A cancelled or late wait resolves itself.
/// - Where the kernel decides (a gate, a read-write lock, a work queue), a subclass overrides ``withdraw(_:)`` to take
///   the registration back, and the kernel's answer resolves the wait: with the cause, or with the grant if that came
///   first.
///
/// The object must stay alive until it is resolved: whatever it is registered with holds a reference.
///
/// Where the task is to go on inside of what it waits for, it is a ``TurnWait``.
class TaskWait: @unchecked Sendable {
    private let state: Atomic<TaskWaitState>
    /// Written before PARKED is set; belongs to whoever resolves the wait after that.
    private var continuation: UnsafeContinuation<Void, Never>?

    init() {
        state = Atomic(TaskWaitState())
    }

    /// Takes the registration back because of `cause`, at most once for each registration, with no lock held.
    ///
    /// Must see to it that the wait is resolved: with `cause`, or by the grant that came first.
    func withdraw(_ cause: Int32) {
        resolve(cause)
    }

    /// Zero or an errno value once the wait is over; nil before.
    final var outcome: Int32? { state.load(ordering: .acquiring).outcome }
    /// Why the wait is to be given up, if it is.
    final var cause: Int32? { state.load(ordering: .acquiring).cause }

    /// Acquires what the others' steps have released, and releases what the caller did before.
    private func step<Answer>(_ body: (inout TaskWaitState) -> Answer) -> Answer {
        var current = state.load(ordering: .acquiring)
        while true {
            var next = current
            let answer = body(&next)
            if next == current { return answer }
            let (exchanged, found) = state.compareExchange(expected: current, desired: next, ordering: .acquiringAndReleasing)
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
    ///   - isolation: that of the caller, which goes on there.
    ///   - register: makes the wait known to what resolves it, from inside of the suspension; a status other than zero
    ///     is the outcome.
    final func wait(
        until deadline: Int64 = Deadline.never, isCancellable: Bool = true, isolation: isolated (any Actor)? = #isolation,
        register: () -> Int32
    ) async -> Int32 {
        await suspend(until: deadline, isCancellable, isolation) { timer in
            // A wait that is to be given up is not registered first: where nobody is before it, it could be granted.
            // One whose time has passed is, since it tries once: what it waits for may be there.
            let triesOnce = deadline == Deadline.passed
            let status = cause ?? (triesOnce ? nil : timer?.start(for: self, deadline)) ?? 0
            testStep("TaskWait: queues", self)
            if status != 0 { return status }
            let refusal = register()
            if refusal == 0, triesOnce { giveUp(ETIMEDOUT) }
            return refusal
        }
    }

    /// The same for a wait that is known before to what resolves it.
    final func wait(
        until deadline: Int64 = Deadline.never, isCancellable: Bool = true, isolation: isolated (any Actor)? = #isolation
    ) async -> Int32 {
        await suspend(until: deadline, isCancellable, isolation) { timer in
            let status = timer?.start(for: self, deadline) ?? 0
            if status != 0 { giveUp(status) }
            return 0
        }
    }

    /// The same for one more wait of an object whose last wait was resolved. A cause that came meanwhile is the
    /// outcome.
    final func waitAgain(isolation: isolated (any Actor)? = #isolation, register: () -> Int32) async -> Int32 {
        if let cause = step({ $0.beginAgain() }) { return cause }
        return await wait(isolation: isolation, register: register)
    }

    private func suspend(
        until deadline: Int64, _ isCancellable: Bool, _ isolation: isolated (any Actor)?, _ register: (TaskWaitTimer?) -> Int32
    ) async -> Int32 {
        if let outcome { return outcome }
        let timer = deadline == Deadline.never ? nil : TaskWaitTimer()
        defer { timer?.stop() }
        if !isCancellable { return await suspend(timer, isolation, register) }
        return await withTaskCancellationHandler {
            await suspend(timer, isolation, register)
        } onCancel: {
            giveUp(ECANCELED)
        }
    }

    private func suspend(_ timer: TaskWaitTimer?, _ isolation: isolated (any Actor)?, _ register: (TaskWaitTimer?) -> Int32) async -> Int32 {
        await withUnsafeContinuation { continuation in
            self.continuation = continuation
            park { register(timer) }
        }
        // Read where it was decided: what happened before that decision has happened for this task too, by this word alone.
        return outcome.unsafelyUnwrapped
    }

    /// What resumes the task is there now: registers the wait. The task may run, and the wait end, before this returns;
    /// the caller keeps the object alive.
    final func park(_ register: () -> Int32) {
        testStep("TaskWait: parks", self)
        if case .goesOn(let outcome) = step({ $0.park() }) { return resume(with: outcome) }
        let status = register()
        testStep("TaskWait: is queued", self)
        if status != 0 {
            resolve(status)
        } else if let cause = step({ $0.register() }) {
            withdraw(cause)
        }
    }

    /// Resumes the parked task, at most once for each time that it parks.
    func resume(with outcome: Int32) {
        continuation.unsafelyUnwrapped.resume()
    }

    // MARK: - Others

    /// Asks for the end of the wait because of `cause`; the first cause counts. What was granted before stays granted.
    final func giveUp(_ cause: Int32) {
        if let cause = step({ $0.giveUp(cause) }) { withdraw(cause) }
    }

    /// Decides the outcome without resuming the task: for callers that hold a lock. After `.mustResume` they call
    /// ``resume()``.
    final func claim(_ status: Int32) -> TaskWaitState.Resolution {
        step { $0.resolve(status) }
    }

    /// Resumes the task after a claim that asked for it, with the outcome of the claim.
    final func resume() {
        resume(with: outcome.unsafelyUnwrapped)
    }

    /// Decides the outcome, and resumes the task if it waits. The task may run, and the wait end, before this returns.
    ///
    /// - Returns: false if somebody else has decided before.
    @discardableResult
    final func resolve(_ status: Int32) -> Bool {
        let claim = claim(status)
        if claim == .mustResume { resume() }
        return claim != .lost
    }
}
