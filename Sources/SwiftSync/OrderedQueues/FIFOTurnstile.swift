/// The actor at which tasks of `Task(on: FIFOQueue)` wait for their turn. Its executor queues a task's job as an entry
/// in the order of the queue. A task comes to the actor by calling ``waitElsewhere()``, and leaves only its job:
/// nothing is allocated for its place.
///
/// The holder of the turn runs the job as a job of no actor. So when the task returns from this actor, it already runs
/// where it belongs, and goes on at once, on that thread.
actor FIFOTurnstile {
    /// The storage outlives the tasks that wait here, since they hold it.
    private unowned let storage: FIFOQueueStorage
    private var passed: UInt64 = 0

    init(_ storage: FIFOQueueStorage) {
        self.storage = storage
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe asUnownedSerialExecutor() }

    /// Waits: the calling task goes on in its turn.
    func waitElsewhere() {
        // The method must do something: the compiler removes a call of an actor's method that does nothing.
        passed &+= 1
    }

    /// Runs `job` on this thread, up to its task's next suspension, as the default executor would.
    static func run(_ job: UnownedJob) { unsafe job.runSynchronously(on: RuntimeFacts.noActor) }
}

extension FIFOTurnstile: SerialExecutor {
    nonisolated func enqueue(_ job: consuming ExecutorJob) { storage.submit(UnownedJob(job)) }
}
