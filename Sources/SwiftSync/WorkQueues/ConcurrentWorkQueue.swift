import CSyncKernel

/// Runs closures concurrently, up to a fixed number at once, and runs barriers alone.
///
/// Closures begin by priority, and within one priority by arrival.
///
/// ```swift
/// let requests = ConcurrentWorkQueue(name: "requests", width: 8)
/// requests.async { handle(request) }
/// requests.async(barrier: true) { reload() }                  // after all before it, before all after it, alone
/// ```
///
/// It is also a task executor: `Task(executorPreference: requests) { … }`.
public final class ConcurrentWorkQueue: WorkQueueBase, @unchecked Sendable {
    /// The largest number of closures that run at once.
    public let width: Int

    /// Makes an empty queue. Never blocks.
    ///
    /// - Parameters:
    ///   - name: a name that messages and reports show. Nil stands for the place where the queue is made.
    ///   - width: the largest number of closures that run at once, 1 to 4096.
    ///   - priority: the priority of work that names none, and the priority of the queue itself. Workers serve queues
    ///     of priority ``CommandPriority/high`` and above first, and queues of ``CommandPriority/low`` and below last.
    ///   - capacity: the largest number of work items that wait to begin, 1 to 4 294 967 295. Nil: any number.
    ///   - whenFull: what the queue does with work that comes while it is full. Without a capacity it has no effect.
    ///     With ``OverflowPolicy/dropOldest`` all work has the queue's priority.
    ///   - bypassLimit: waiting work that this many later arrivals have overtaken goes next. 0 means strict priority.
    ///     Nil means 64 for `run` and `sync` that name no priority (`withPriority` names none), so that they don't wait
    ///     for ever behind a stream of others, and strict priority for all other work. A barrier keeps the place of its
    ///     arrival. The order of `dropOldest` is always that of arrival.
    ///   - recorder: a recorder of the queue's last events. Nil costs nothing. One recorder may serve several queues.
    ///   - fileID: where the queue is made.
    ///   - line: the line there.
    public init(
        name: String? = nil, width: Int = 64, priority: CommandPriority = .normal, capacity: Int? = nil,
        whenFull: OverflowPolicy = .wait, bypassLimit: UInt32? = nil, recorder: EventRecorder? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let label = CreationPlace.label(name, fileID, line)
        self.width = Self.checked(width, label)
        super.init(
            core: WorkQueueCore(
                type: "ConcurrentWorkQueue", label: label, width: width, priority: priority, capacity: capacity,
                whenFull: whenFull, bypassLimit: bypassLimit, recorder: recorder))
    }

    private static func checked(_ width: Int, _ label: String) -> Int {
        guard width >= 1, width <= Int(CSK_WORKQUEUE_WIDTH_MAX) else {
            fatalError("ConcurrentWorkQueue \(label): a width of \(width) is not within 1 to 4096")
        }
        return width
    }

    /// Queues `body`, alone if `barrier` is true, and returns at once.
    ///
    /// A barrier begins once all work accepted before has ended; work accepted later waits for it, whatever its
    /// priority. It never blocks, unless the queue is full and its policy is ``OverflowPolicy/wait``.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone.
    ///   - inheritingTaskLocals: true runs `body` in a separate task, as
    ///     ``WorkQueueBase/async(inheritingTaskLocals:priority:_:)`` does.
    ///   - body: what runs, on a thread of the library's.
    /// - Returns: false, with a report to ``SyncDiagnostics``, when the queue refuses. `body` will not run then.
    @discardableResult
    public func async(
        barrier: Bool, inheritingTaskLocals: Bool = false, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        if inheritingTaskLocals { return core.asyncInheriting(rank: core.ownRank, barrier: barrier, body) }
        return barrier ? core.asyncBarrier(body) : core.async(body)
    }

    /// Waits for room, and then queues `body`, alone if `barrier` is true.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - timeout: how long the task waits for room.
    ///   - body: what runs, on a thread of the library's.
    /// - Throws: what ``WorkQueueBase/asyncWaitingForRoom(priority:timeout:_:)`` throws. `body` will not run then.
    public func asyncWaitingForRoom(
        barrier: Bool, timeout: TimeLimit = .never, _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(rank: core.ownRank, barrier: barrier, timeout, body)
    }

    /// Waits for its turn, and runs `body` on the calling thread, alone if `barrier` is true. It blocks the thread, and
    /// is never refused, as ``WorkQueueBase/sync(_:)``.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - body: what runs.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    @available(*, noasync, message: "use await run(barrier:)")
    @discardableResult
    public func sync<R, E: Error>(barrier: Bool, _ body: () throws(E) -> R) throws(E) -> R {
        try core.sync(rank: core.rankOfWait(barrier: barrier), barrier: barrier, body)
    }

    /// Waits for its turn for at most `timeout`, and runs `body` on the calling thread, alone if `barrier` is true.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - timeout: how long the thread waits.
    ///   - body: what runs.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, and what ``WorkQueueBase/sync(priority:timeout:_:)`` throws where it does not run.
    @discardableResult
    public func sync<R>(barrier: Bool, timeout: TimeLimit, _ body: () throws -> R) throws -> R {
        try core.sync(rank: core.rankOfWait(barrier: barrier), barrier: barrier, timeout, body)
    }

    /// Suspends the task until its turn, and runs `body` as a part of the task, alone if `barrier` is true. It is never
    /// refused, as ``WorkQueueBase/run(_:)``.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - body: what runs, on a thread of the library's.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    @discardableResult
    public func run<T: Sendable, E: Error>(
        barrier: Bool, _ body: @escaping @Sendable () throws(E) -> T
    ) async throws(E) -> T {
        try await core.run(rank: core.rankOfWait(barrier: barrier), barrier: barrier, body)
    }

    /// Suspends the task until its turn, for at most `timeout`, and runs `body` as a part of the task, alone if
    /// `barrier` is true.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - timeout: how long the task waits.
    ///   - body: what runs, on a thread of the library's.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws, and what ``WorkQueueBase/run(priority:timeout:_:)`` throws where it does not run.
    @discardableResult
    public func run<T: Sendable>(
        barrier: Bool, timeout: TimeLimit, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await core.run(rank: core.rankOfWait(barrier: barrier), barrier: barrier, timeout, body)
    }

    override func run(_ job: UnownedJob, _ kind: QueuedJob.Kind) {
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
