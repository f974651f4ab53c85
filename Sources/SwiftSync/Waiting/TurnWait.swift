import CSyncKernel

/// A task that waits for its turn in a kernel object, and runs its body there: inside the section, on the worker that
/// has the turn, and as itself, with its own task-local values, priority and cancellation.
///
/// The object is the task's preferred executor for as long as that takes. Going there, the task is enqueued here, and
/// its job becomes its place. A worker in its turn runs it up to the end of the body, where the task leaves for the
/// executor that it came from, and the worker goes on. Whoever refuses, cancels or times out gives it to the pool of
/// tasks.
///
/// No continuation would do: one that is resumed before its task is suspended lets the task go on where it is, outside
/// of the turn. A job exists only once the task is suspended, and nobody but who gives the turn runs the body. The
/// object may not be used for a second wait.
///
/// Only the library's own code runs on the way in, on whichever thread enqueues, and on the way out. An executor that
/// runs what it is given inside of its `enqueue` is the exception: what follows in its task then begins before the
/// worker goes on.
class TurnWait: TaskWait, TaskExecutor, @unchecked Sendable {
    /// Written before the wait is registered; belongs to whoever resolves it.
    private var job: UnownedJob?
    /// Why the wait could not be registered; of the thread that enqueues.
    private var refusal: Int32 = 0
    private let deadline: Int64
    /// The task's, but for its start.
    private let timer: TaskWaitTimer?

    /// - Parameter deadline: when the wait is given up with `ETIMEDOUT`, for kernel objects that know no deadlines.
    init(deadline: Int64 = Deadline.never) {
        self.deadline = deadline
        timer = deadline == Deadline.never ? nil : TaskWaitTimer()
        super.init()
    }

    /// Makes the wait known to what resolves it: zero, or the errno value that is the outcome.
    func register() -> Int32 { fatalError("\(Self.self) does not say what it waits for") }

    /// Leaves the section after the body, on its thread. A worker that leaves by returning needs none.
    func leave() {}

    /// Waits for the turn, and runs `body` in it: zero, or the errno value for which it was not run.
    ///
    /// Isolated to nothing, whatever the caller is, so that only this task's jobs come here.
    final func run(isCancellable: Bool, _ body: () -> Void) async -> Int32 {
        defer { timer?.stop() }
        if !isCancellable { return await runInTurn(body) }
        return await withTaskCancellationHandler {
            await runInTurn(body)
        } onCancel: {
            giveUp(ECANCELED)
        }
    }

    private func runInTurn(_ body: () -> Void) async -> Int32 {
        await withTaskExecutorPreference(self) { await bodyInTurn(body) }
    }

    /// What the task does once it has this executor.
    final func bodyInTurn(_ body: () -> Void) async -> Int32 {
        // For a runtime that finds no reason to go to another executor.
        while outcome == nil { await Task.yield() }
        let status = outcome.unsafelyUnwrapped
        if status == 0 {
            body()
            leave()
        }
        return status
    }

    /// Makes a task that runs `body` in its turn, with the caller's task-local values and priority: zero, or why it
    /// could not be queued.
    ///
    /// The task is enqueued, and so the wait registered, before this returns. Where `body` will not run, `dropped` is
    /// called with the status.
    final func start(_ body: @escaping @Sendable () -> Void, dropped: @escaping @Sendable (Int32) -> Void = { _ in }) -> Int32 {
        Task(executorPreference: self) {
            let status = await self.bodyInTurn(body)
            if status != 0 { dropped(status) }
        }
        return refusal
    }

    // MARK: - The executor

    /// Parks the task. Called by the Swift runtime.
    final func enqueue(_ job: consuming ExecutorJob) {
        // The runtime may enqueue a task again that it escalates. Either job would do, and this one waits.
        if self.job != nil { return }
        self.job = UnownedJob(job)
        // Its task keeps the object, but may end meanwhile.
        let reference = Unmanaged.passRetained(self)
        park {
            // A wait that is to be given up is not registered first: where nobody is before it, it could be granted.
            refusal = cause ?? timer?.start(for: self, deadline) ?? 0
            testStep("TurnWait: queues", self)
            if refusal == 0 { refusal = register() }
            return refusal
        }
        reference.release()
    }

    /// Runs the task on this thread until it leaves, through the body. The caller keeps the object alive.
    ///
    /// Where the turn was not given, the task goes on elsewhere: whoever cancels it holds the runtime's lock of its
    /// records, some of which it would take away under the eyes of who walks them.
    final override func resume(with outcome: Int32) {
        let job = job.unsafelyUnwrapped
        if outcome == 0 { job.runSynchronously(on: asUnownedTaskExecutor()) } else { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }
}
