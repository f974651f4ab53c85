import CSyncKernel

/// A job of an actor or a task on a queue. Jobs are never refused and never dropped: their task would otherwise wait
/// for ever.
///
/// A job runs as the kind that it was enqueued as. An actor's job runs isolated to the queue and nothing else. A task's
/// job runs on the executor that the task prefers, and isolated to nothing. With any other declaration to the runtime,
/// code that already runs on its executor would enter the queue a second time, behind the work that came meanwhile.
@safe
struct QueuedJob {
    enum Kind { case ofActor, ofTask }

    private let job: UnownedJob
    private let kind: Kind
    /// The job's actor or task retains the queue until the job has run.
    private let queue: Unmanaged<WorkQueueBase>

    static func enqueue(_ job: UnownedJob, _ kind: Kind, _ priority: JobPriority, on queue: WorkQueueBase) {
        // Once the job is queued it may run, and the last other reference to the queue may end with it. The kernel
        // needs the queue until the call returns.
        let kept = unsafe Unmanaged.passRetained(queue)
        defer { unsafe kept.release() }
        let core = queue.core
        let queued = unsafe QueuedJob(job: job, kind: kind, queue: .passUnretained(queue))
        guard let work = unsafe WorkItem.make(queued) else {
            fatalError("\(core.type) \(core.label): no memory for a job")
        }
        let rank = core.rank(of: priority)
        let status = unsafe core.submit(work, rank: rank, flags: CSK_WORK_OWN_TURN, run)
        testStep("QueuedJob: is queued", queue)
        if status != 0 { core.stop(status, "enqueue(_: job)") }
    }

    private static let run: csk_work_function_t = { work, _ in
        let item = unsafe WorkItem.take(work!, as: QueuedJob.self)
        unsafe item.queue.takeUnretainedValue().run(item.job, item.kind)
    }
}

extension WorkQueueCore {
    /// The rank of a job's priority. A task that names no priority has the queue's own.
    fileprivate func rank(of priority: JobPriority) -> Int64 {
        let distance = (Int64(priority.rawValue) - Int64(TaskPriority.medium.rawValue)) * 256
        return unsafe rank(
            of: CommandPriority(rawValue: Int32(clamping: Int64(csk_workqueue_priority(queue)) + distance)))
    }
}

extension WorkQueue: SerialExecutor {
    /// Queues an actor's `job`, which runs in its turn, with its task's priority. On a suspended queue it runs after
    /// ``WorkQueueBase/resume()``. The Swift runtime calls this.
    public func enqueue(_ job: consuming ExecutorJob) {
        let priority = job.priority
        QueuedJob.enqueue(UnownedJob(job), .ofActor, priority, on: self)
    }

    /// Returns this queue in the form that an actor returns for its `unownedExecutor`.
    ///
    /// The result keeps nothing alive, so its user keeps the queue. Under strict memory safety the call is therefore
    /// marked `unsafe`, as it is for every executor.
    @unsafe
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    /// Returns true inside the queue's own work, for jobs and closures alike.
    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Stops the program if it is called outside of the queue's own work. `assumeIsolated` calls it.
    public func checkIsolated() {
        if !isCurrent { fatalError("WorkQueue \(name): the current code does not run on this queue") }
    }
}

extension WorkQueue: TaskExecutor {
    /// Queues the `job` of a task that prefers this queue. The job runs in its turn, with its priority. The Swift
    /// runtime calls this.
    ///
    /// The two executor protocols require the same method. The two names distinguish for which of them it was called.
    /// An executor of your own that passes jobs on calls `enqueue(_:)` with the jobs of actors, and this method with
    /// the jobs of tasks that prefer it.
    @_implements(TaskExecutor,enqueue(_:))
    @_disfavoredOverload
    public func enqueueJobOfTask(_ job: consuming ExecutorJob) {
        let priority = job.priority
        QueuedJob.enqueue(UnownedJob(job), .ofTask, priority, on: self)
    }
}

extension ConcurrentWorkQueue: TaskExecutor {
    /// Queues `job`, which runs concurrently with other work, with its task's priority. The Swift runtime calls this.
    public func enqueue(_ job: consuming ExecutorJob) {
        let priority = job.priority
        QueuedJob.enqueue(UnownedJob(job), .ofTask, priority, on: self)
    }
}
