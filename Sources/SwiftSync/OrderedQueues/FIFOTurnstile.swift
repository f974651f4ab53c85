/// Where tasks of `Task(on: FIFOQueue)` wait for their turn: an actor whose executor queues a task's job as an entry in
/// the order of the queue. A task comes to the actor by calling ``waitElsewhere()``, and its job is all that it leaves:
/// nothing is allocated for its place.
///
/// Whoever has the turn runs the job as one of no actor. So on its way back from here the task finds itself where it
/// belongs, and goes on at once, on that thread.
actor FIFOTurnstile {
    /// Outlives its tasks, which hold it.
    private unowned let storage: FIFOQueueStorage
    private var passed: UInt64 = 0

    init(_ storage: FIFOQueueStorage) {
        self.storage = storage
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    /// The calling task goes on in its turn.
    func waitElsewhere() {
        // Going to an actor for nothing is what the compiler leaves out.
        passed &+= 1
    }

    /// Runs `job` on this thread, up to its task's next suspension, as the default executor would.
    static func run(_ job: UnownedJob) { job.runSynchronously(on: RuntimeFacts.noActor) }
}

extension FIFOTurnstile: SerialExecutor {
    nonisolated func enqueue(_ job: consuming ExecutorJob) { storage.submit(UnownedJob(job)) }
}
