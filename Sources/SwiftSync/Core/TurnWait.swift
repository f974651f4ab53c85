import CSyncKernel

/// A task that waits for its turn in a kernel object, and runs its body in that turn. The body runs inside the section,
/// on the worker that has the turn. It runs as part of the task, with the task's own task-local values, priority and
/// cancellation.
///
/// The object is the task's preferred executor meanwhile. When the task switches to this executor, the runtime enqueues
/// the task's job here, and the job becomes the task's place. A worker in its turn runs the job up to the end of the
/// body. There the task leaves for the executor that it came from, and the worker goes on. A party that refuses,
/// cancels or times out gives the job to the cooperative pool.
///
/// A continuation would not do: if it is resumed before its task is suspended, the task goes on where it is, outside of
/// the turn. A job exists only once the task is suspended, and only the party that gives the turn runs the body. The
/// object may not be used for a second wait.
///
/// Only the library's own code runs on the way in, on whichever thread enqueues, and on the way out. There is one
/// exception: an executor may run what it is given inside of its `enqueue`. The rest of its task then begins before the
/// worker goes on.
@safe
class TurnWait: TaskWait, TaskExecutor, @unchecked Sendable {
    /// It is written before the wait is registered. The party that resolves the wait owns it.
    private var job: UnownedJob?
    /// Why the wait could not be registered. Only the thread that enqueues uses it.
    private var refusal: Int32 = 0
    /// The name of the waiting task, if waits are observed. Only the task writes it, before it waits.
    @safe private var taskName: UnsafePointer<CChar>?
    /// Whether a task waits, as in ``run(isCancellable:_:)``. It is written together with the name.
    private var isAwaited = false
    /// The wait as reported to the kernel. It is written before the task is parked, and then belongs to the task.
    private var told: ToldWait?
    let deadline: Int64
    /// Only the task uses the timer, except that the thread that enqueues starts it.
    private let timer: TaskWaitTimer?

    /// - Parameter deadline: when the wait is given up with `ETIMEDOUT`, for kernel objects that know no deadlines.
    init(deadline: Int64 = Deadline.never) {
        self.deadline = deadline
        timer = deadline == Deadline.never ? nil : TaskWaitTimer()
        super.init()
    }

    /// Makes the wait known to the party that resolves it. Returns zero, or the errno value that is the outcome.
    func register() -> Int32 { fatalError("\(Self.self) does not say what it waits for") }

    /// Leaves the section after the body, on the body's thread. Where a worker leaves the section by returning, no
    /// override is needed.
    func leave() {}

    /// Waits for the turn, and runs `body` in it. Returns zero, or the errno value for which `body` was not run.
    ///
    /// The method is isolated to nothing, whatever the caller's isolation is, so only this task's jobs come to this
    /// executor.
    @concurrent
    final func run(isCancellable: Bool, _ body: () -> Void) async -> Int32 {
        defer { timer?.stop() }
        // Here, since the task runs: while it is being suspended it is not the current one.
        if csk_task_waits_are_told() {
            taskName = unsafe RuntimeFacts.nameOfTask()
            isAwaited = true
        }
        if !isCancellable { return await runInTurn(body) }
        return await withTaskCancellationHandler {
            await runInTurn(body)
        } onCancel: {
            giveUp(ECANCELED)
        }
    }

    @concurrent
    private func runInTurn(_ body: () -> Void) async -> Int32 {
        await withTaskExecutorPreference(self) { await bodyInTurn(body) }
    }

    /// Runs the task's part of the wait once the task has this executor.
    @concurrent
    final func bodyInTurn(_ body: () -> Void) async -> Int32 {
        // The loop is for a runtime that does not switch to the other executor.
        while outcome == nil { await Task.yield() }
        let status = unsafe Deadline.outcome(outcome.unsafelyUnwrapped)
        told.take()?.end(status)
        if status == 0 {
            body()
            leave()
        }
        return status
    }

    /// Makes a task that runs `body` in its turn, with the caller's task-local values and priority. Returns zero, or
    /// the errno value for which it could not be queued.
    ///
    /// The task is enqueued, and so the wait is registered, before this returns. If `body` will not run, `dropped` is
    /// called with the status.
    final func start(
        _ body: @escaping @Sendable () -> Void, dropped: @escaping @Sendable (Int32) -> Void = { _ in }
    ) -> Int32 {
        Task(executorPreference: self) {
            let status = await self.bodyInTurn(body)
            if status != 0 { dropped(status) }
        }
        return refusal
    }

    // MARK: - The executor

    /// Parks the task. The Swift runtime calls this.
    final func enqueue(_ job: consuming ExecutorJob) {
        // The runtime may enqueue a task again when it escalates its priority. Either job would do, and the first one
        // already waits.
        if self.job != nil { return }
        self.job = UnownedJob(job)
        // The job's task keeps the object alive, but the task may end meanwhile.
        let reference = unsafe Unmanaged.passRetained(self)
        let isTold = csk_task_waits_are_told()
        if isTold {
            let task = UInt64(RuntimeFacts.addressOfTask(of: self.job))
            if isAwaited { told = unsafe ToldWait(self, of: task, named: taskName) }
            csk_deadlock_suspend(task)
        }
        defer { if isTold { csk_deadlock_suspend(0) } }
        park {
            // A wait that has to be given up is not registered first: if it were first in order, it could be granted.
            refusal = cause ?? timer?.start(for: self, deadline) ?? 0
            testStep("TurnWait: queues", self)
            if refusal == 0 { refusal = register() }
            return refusal
        }
        unsafe reference.release()
    }

    /// Runs the task on this thread until it leaves, through the body. The caller keeps the object alive.
    ///
    /// If the turn was not given, the task goes on in the cooperative pool. A thread that cancels the task holds the
    /// runtime's lock of the task's records while it walks them. If the task ran on that thread, it would remove some
    /// of these records during the walk.
    final override func resume(with outcome: Int32) {
        let job = unsafe job.unsafelyUnwrapped
        if outcome == 0 {
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        } else {
            globalConcurrentExecutor.enqueue(ExecutorJob(job))
        }
    }
}
