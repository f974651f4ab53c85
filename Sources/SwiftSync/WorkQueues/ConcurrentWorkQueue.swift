public import Dispatch
import CSyncKernel

/// Runs closures together, up to a number, beginning by priority and in the order they came; and barriers alone.
///
/// ```swift
/// let requests = ConcurrentWorkQueue(label: "requests", width: 8)
/// requests.async { handle(request) }
/// requests.async(flags: .barrier) { reload() }               // after all before it, before all after it, alone
/// ```
///
/// It is a task's executor too: `Task(executorPreference: requests) { … }`.
public final class ConcurrentWorkQueue: WorkQueueBase, @unchecked Sendable {
    /// How many closures run at once at most.
    public let width: Int

    /// Makes a queue without work. Never blocks.
    ///
    /// - Parameters:
    ///   - label: a name for messages.
    ///   - width: how many closures run at once at most, 2 to 4096.
    ///   - priority: of work that names none; and of the queue: workers serve queues of priority
    ///     ``CommandPriority/high`` and above first, of ``CommandPriority/low`` and below last.
    ///   - bound: how many works may wait; nil: any number.
    ///   - recorder: keeps the queue's last events; nil costs nothing. One recorder may serve several queues.
    public init(label: String, width: Int = 64, priority: CommandPriority = .normal, bound: WorkQueueBound? = nil, recorder: EventRecorder? = nil) {
        guard width >= 2, width <= Int(CSK_WORKQUEUE_WIDTH_MAX) else { fatalError("ConcurrentWorkQueue \(label): a width of \(width) is not within 2 to 4096") }
        self.width = width
        super.init(core: WorkQueueCore(type: "ConcurrentWorkQueue", label: label, width: width, priority: priority, bound: bound, recorder: recorder))
    }

    /// The same with a quality of service: user-interactive and user-initiated are ``CommandPriority/high``, utility
    /// and background ``CommandPriority/low``.
    public convenience init(label: String, width: Int = 64, qos: DispatchQoS.QoSClass, bound: WorkQueueBound? = nil, recorder: EventRecorder? = nil) {
        self.init(label: label, width: width, priority: CommandPriority(qos), bound: bound, recorder: recorder)
    }

    /// Runs `body` as `flags` say: with `.barrier` once everything accepted before has ended, alone; what is accepted
    /// later waits for it, whatever its priority.
    ///
    /// Other flags change nothing. Otherwise as ``WorkQueueBase/async(_:)``.
    @preconcurrency
    @discardableResult
    public func async(flags: DispatchWorkItemFlags, _ body: @escaping @Sendable () -> Void) -> Bool {
        flags.contains(.barrier) ? core.asyncBarrier(body) : core.async(body)
    }

    /// The same as a task of its own, as ``WorkQueueBase/async(inheritingTaskLocals:priority:_:)`` makes it.
    @discardableResult
    public func async(flags: DispatchWorkItemFlags, inheritingTaskLocals: Bool, _ body: @escaping @Sendable () -> Void) -> Bool {
        inheritingTaskLocals ? core.asyncInheriting(rank: core.ownRank, barrier: flags.contains(.barrier), body) : async(flags: flags, body)
    }

    /// Queues `body` as `flags` say, once there is room for it. Otherwise as
    /// ``WorkQueueBase/asyncWaitingForRoom(priority:timeout:_:)``.
    public func asyncWaitingForRoom(
        flags: DispatchWorkItemFlags, timeout: Duration? = nil, _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(rank: core.ownRank, barrier: flags.contains(.barrier), timeout: timeout, body)
    }

    /// Runs `body` on the calling thread, with `.barrier` alone. Otherwise as ``WorkQueueBase/sync(_:)``.
    @available(*, noasync, message: "use await run(flags:)")
    @discardableResult
    public func sync<R, E: Error>(flags: DispatchWorkItemFlags, _ body: () throws(E) -> R) throws(E) -> R {
        try core.sync(rank: core.ownRank, barrier: flags.contains(.barrier), body)
    }

    /// The same for a call that can be refused. Otherwise as ``WorkQueueBase/sync(timeout:priority:_:)``.
    @discardableResult
    public func sync<R>(flags: DispatchWorkItemFlags, timeout: Duration?, _ body: () throws -> R) throws -> R {
        try core.sync(rank: core.ownRank, barrier: flags.contains(.barrier), timeout: timeout, body)
    }

    /// Suspends the task until it is its turn, with `.barrier` alone, and runs `body` as a part of the task. Otherwise
    /// as ``WorkQueueBase/run(_:)``.
    @discardableResult
    public func run<T: Sendable, E: Error>(flags: DispatchWorkItemFlags, _ body: @escaping @Sendable () throws(E) -> T) async throws(E) -> T {
        try await core.run(rank: core.ownRank, barrier: flags.contains(.barrier), body)
    }

    /// The same for a call that can be refused. Otherwise as ``WorkQueueBase/run(timeout:priority:_:)``.
    @discardableResult
    public func run<T: Sendable>(flags: DispatchWorkItemFlags, timeout: Duration?, _ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await core.run(rank: core.ownRank, barrier: flags.contains(.barrier), timeout: timeout, body)
    }

    override func run(_ job: UnownedJob, _ kind: QueuedJob.Kind) {
        job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
