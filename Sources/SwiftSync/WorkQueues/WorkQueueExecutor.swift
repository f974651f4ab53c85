import CSyncKernel

/// A job of an actor or a task on a queue. Jobs are never refused and never dropped, since their task would wait for
/// ever.
///
/// The job runs as what it came as: an actor's job isolated to the queue and nothing else, a task's job on the executor
/// that the task prefers and isolated to nothing. Where the runtime is told anything else, code that is where it
/// belongs goes into the queue a second time, behind what came meanwhile.
struct QueuedJob {
    enum Kind { case ofActor, ofTask }

    private let job: UnownedJob
    private let kind: Kind
    /// Kept by the actor whose job it is, or by the task, until the job has run.
    private let queue: Unmanaged<WorkQueueBase>

    static func enqueue(_ job: UnownedJob, _ kind: Kind, _ priority: JobPriority, on queue: WorkQueueBase) {
        // Once the job is queued it may run, and what kept the queue may end with it. The kernel needs the queue until
        // it returns.
        let kept = Unmanaged.passRetained(queue)
        defer { kept.release() }
        let core = queue.core
        let queued = QueuedJob(job: job, kind: kind, queue: .passUnretained(queue))
        guard let work = WorkItem.make(queued) else { fatalError("\(core.type) \(core.label): no memory for a job") }
        let status = csk_workqueue_enqueue_always(core.queue, work, core.rank(of: priority), run)
        testStep("QueuedJob: is queued", queue)
        if status != 0 { core.stop(status, "enqueue(_: job)") }
    }

    private static let run: csk_work_function_t = { work, _ in
        let item = WorkItem.take(work!, as: QueuedJob.self)
        item.queue.takeUnretainedValue().run(item.job, item.kind)
    }
}

extension WorkQueueCore {
    /// The priority of a task that names none is the queue's own.
    fileprivate func rank(of priority: JobPriority) -> Int64 {
        let distance = (Int64(priority.rawValue) - Int64(TaskPriority.medium.rawValue)) * 256
        return rank(of: CommandPriority(rawValue: Int32(clamping: Int64(csk_workqueue_priority(queue)) + distance)))
    }
}

extension WorkQueue: SerialExecutor {
    /// Runs an actor's `job` in its turn, by its task's priority; on a suspended queue after
    /// ``WorkQueueBase/resume()``. Called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let priority = job.priority
        QueuedJob.enqueue(UnownedJob(job), .ofActor, priority, on: self)
    }

    /// This queue, as what an actor returns for its `unownedExecutor`.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    /// True inside the queue's own work, jobs and closures alike.
    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Stops the program outside of the queue's own work: what `assumeIsolated` asks.
    public func checkIsolated() {
        if !isCurrent { fatalError("WorkQueue \(label): the current code does not run on this queue") }
    }
}

extension WorkQueue: TaskExecutor {
    /// Runs the `job` of a task that prefers this queue, in its turn and by its priority. Called by the Swift runtime.
    ///
    /// The two protocols ask for the same method; this says for which of them it was called. An executor of your own
    /// that passes jobs on calls `enqueue(_:)` with those of actors, and this with those of tasks that prefer it.
    @_implements(TaskExecutor, enqueue(_:))
    @_disfavoredOverload
    public func enqueueJobOfTask(_ job: consuming ExecutorJob) {
        let priority = job.priority
        QueuedJob.enqueue(UnownedJob(job), .ofTask, priority, on: self)
    }
}

extension ConcurrentWorkQueue: TaskExecutor {
    /// Runs `job` together with other work, by its task's priority. Called by the Swift runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let priority = job.priority
        QueuedJob.enqueue(UnownedJob(job), .ofTask, priority, on: self)
    }
}
