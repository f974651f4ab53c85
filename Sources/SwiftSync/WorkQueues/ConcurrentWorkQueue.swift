public import Dispatch
import CSyncKernel

/// Runs closures concurrently, up to a fixed number at once, and runs barriers alone.
///
/// Closures begin in the order of their priorities; closures of equal priority begin in the order of arrival.
///
/// ```swift
/// let requests = ConcurrentWorkQueue(name: "requests", width: 8)
/// requests.async { handle(request) }
/// requests.async(flags: .barrier) { reload() }               // after all before it, before all after it, alone
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
    ///   - bypassLimit: work that waits and was overtaken by this many later arrivals goes next. 0 means strict
    ///     priority. Nil means strict priority for what names a priority and for what is queued without a wait, and 64
    ///     for `run` and `sync` without one: at the queue's own priority, or that of `withPriority`, they don't wait
    ///     for ever behind a stream of others. A barrier keeps the place of its arrival. The order of `dropOldest` is
    ///     that of arrival anyway.
    ///   - recorder: an object that keeps the queue's last events. Nil costs nothing. One recorder may serve several
    ///     queues.
    ///   - fileID: where the queue is made, which is its ``WorkQueueBase/name`` where it has no other.
    ///   - line: the line there.
    public convenience init(
        name: String? = nil, width: Int = 64, priority: CommandPriority = .normal, bypassLimit: UInt32? = nil,
        recorder: EventRecorder? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(
            CreationPlace.label(name, fileID, line), width, priority, bypassLimit: bypassLimit, recorder: recorder)
    }

    /// Makes an empty queue in which at most `capacity` work items may wait to begin. Never blocks. A nil `name` stands
    /// for the place where the queue is made. The rest is as in the form with a `label`.
    public convenience init(
        name: String? = nil, width: Int = 64, priority: CommandPriority = .normal, capacity: Int?,
        whenFull: OverflowPolicy, bypassLimit: UInt32? = nil, recorder: EventRecorder? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(
            CreationPlace.label(name, fileID, line), width, priority, capacity, whenFull, bypassLimit: bypassLimit,
            recorder: recorder)
    }

    /// Makes an empty queue whose priority comes from a quality of service, as the form with a `label` does. Never
    /// blocks. A nil `name` stands for the place where the queue is made.
    public convenience init(
        name: String? = nil, width: Int = 64, qos: DispatchQoS.QoSClass, bypassLimit: UInt32? = nil,
        recorder: EventRecorder? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(
            CreationPlace.label(name, fileID, line), width, CommandPriority(qos), bypassLimit: bypassLimit,
            recorder: recorder)
    }

    /// Makes an empty queue. Never blocks.
    ///
    /// - Parameters:
    ///   - label: the earlier word for a name.
    ///   - width: the largest number of closures that run at once, 1 to 4096.
    ///   - priority: the priority of work that names none, and the priority of the queue itself. Workers serve queues
    ///     of priority ``CommandPriority/high`` and above first, and queues of ``CommandPriority/low`` and below last.
    ///   - recorder: an object that keeps the queue's last events. Nil costs nothing. One recorder may serve several
    ///     queues.
    public convenience init(
        label: String, width: Int = 64, priority: CommandPriority = .normal, recorder: EventRecorder? = nil
    ) {
        self.init(label, width, priority, bypassLimit: nil, recorder: recorder)
    }

    private init(
        _ label: String, _ width: Int, _ priority: CommandPriority, _ capacity: Int? = nil,
        _ whenFull: OverflowPolicy = .wait, bypassLimit: UInt32?, recorder: EventRecorder?
    ) {
        self.width = Self.checked(width, label)
        super.init(
            core: WorkQueueCore(
                type: "ConcurrentWorkQueue", label: label, width: width, priority: priority, capacity: capacity,
                whenFull: whenFull, bypassLimit: bypassLimit, recorder: recorder))
    }

    /// Makes an empty queue in which at most `capacity` work items may wait to begin. Never blocks.
    ///
    /// - Parameters:
    ///   - label: a name that messages show.
    ///   - width: the largest number of closures that run at once, 1 to 4096.
    ///   - priority: as in the form without a capacity. With a capacity and `dropOldest`, all work has it.
    ///   - capacity: the largest number of work items that wait to begin, 1 to 4 294 967 295. Nil: any number.
    ///   - whenFull: what the queue does with work that comes while it is full. Without a capacity it does not matter.
    ///   - recorder: an object that keeps the queue's last events. Nil costs nothing.
    public convenience init(
        label: String, width: Int = 64, priority: CommandPriority = .normal, capacity: Int?, whenFull: OverflowPolicy,
        recorder: EventRecorder? = nil
    ) {
        self.init(label, width, priority, capacity, whenFull, bypassLimit: nil, recorder: recorder)
    }

    private static func checked(_ width: Int, _ label: String) -> Int {
        guard width >= 1, width <= Int(CSK_WORKQUEUE_WIDTH_MAX) else {
            fatalError("ConcurrentWorkQueue \(label): a width of \(width) is not within 1 to 4096")
        }
        return width
    }

    /// Makes an empty queue whose priority comes from a quality of service. User-interactive and user-initiated are
    /// ``CommandPriority/high``; utility and background are ``CommandPriority/low``. Never blocks.
    public convenience init(label: String, width: Int = 64, qos: DispatchQoS.QoSClass, recorder: EventRecorder? = nil) {
        self.init(label: label, width: width, priority: CommandPriority(qos), recorder: recorder)
    }

    /// Makes an empty queue with a capacity, whose priority comes from a quality of service. Never blocks.
    public convenience init(
        label: String, width: Int = 64, qos: DispatchQoS.QoSClass, capacity: Int?, whenFull: OverflowPolicy,
        recorder: EventRecorder? = nil
    ) {
        self.init(
            label: label, width: width, priority: CommandPriority(qos), capacity: capacity, whenFull: whenFull,
            recorder: recorder)
    }

    /// Queues `body` as `flags` say. With `.barrier` it runs alone, once all work accepted before has ended; work
    /// accepted later waits for it, whatever its priority.
    ///
    /// Other flags change nothing. Otherwise it is ``WorkQueueBase/async(_:)``.
    @discardableResult
    public func async(flags: DispatchWorkItemFlags, _ body: @escaping @Sendable () -> Void) -> Bool {
        flags.contains(.barrier) ? core.asyncBarrier(body) : core.async(body)
    }

    /// Runs `body` as `flags` say, in a task of its own if `inheritingTaskLocals` is true. The task is the one that
    /// ``WorkQueueBase/async(inheritingTaskLocals:priority:_:)`` makes.
    @discardableResult
    public func async(
        flags: DispatchWorkItemFlags, inheritingTaskLocals: Bool, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        inheritingTaskLocals
            ? core.asyncInheriting(rank: core.ownRank, barrier: flags.contains(.barrier), body)
            : async(flags: flags, body)
    }

    /// Queues `body` as `flags` say, once there is room for it. Otherwise it is
    /// ``WorkQueueBase/asyncWaitingForRoom(priority:timeout:_:)``.
    public func asyncWaitingForRoom(
        flags: DispatchWorkItemFlags, timeout: TimeLimit = .never, _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(
            rank: core.ownRank, barrier: flags.contains(.barrier), timeout, body)
    }

    /// Waits for its turn and runs `body` on the calling thread; with `.barrier`, `body` runs alone. Otherwise it is
    /// ``WorkQueueBase/sync(_:)``.
    @available(*, noasync, message: "use await run(flags:)")
    @discardableResult
    public func sync<R, E: Error>(flags: DispatchWorkItemFlags, _ body: () throws(E) -> R) throws(E) -> R {
        let isBarrier = flags.contains(.barrier)
        return try core.sync(rank: core.rankOfWait(barrier: isBarrier), barrier: isBarrier, body)
    }

    /// Does what ``sync(flags:_:)`` does, but can be refused, as ``WorkQueueBase/sync(priority:timeout:_:)`` can.
    @discardableResult
    public func sync<R>(flags: DispatchWorkItemFlags, timeout: TimeLimit, _ body: () throws -> R) throws -> R {
        let isBarrier = flags.contains(.barrier)
        return try core.sync(rank: core.rankOfWait(barrier: isBarrier), barrier: isBarrier, timeout, body)
    }

    /// Suspends the task until its turn, and runs `body` as a part of the task; with `.barrier`, `body` runs alone.
    /// Otherwise it is ``WorkQueueBase/run(_:)``.
    @discardableResult
    public func run<T: Sendable, E: Error>(
        flags: DispatchWorkItemFlags, _ body: @escaping @Sendable () throws(E) -> T
    ) async throws(E) -> T {
        let isBarrier = flags.contains(.barrier)
        return try await core.run(rank: core.rankOfWait(barrier: isBarrier), barrier: isBarrier, body)
    }

    /// Does what ``run(flags:_:)`` does, but can be refused, as ``WorkQueueBase/run(priority:timeout:_:)`` can.
    @discardableResult
    public func run<T: Sendable>(
        flags: DispatchWorkItemFlags, timeout: TimeLimit, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        let isBarrier = flags.contains(.barrier)
        return try await core.run(rank: core.rankOfWait(barrier: isBarrier), barrier: isBarrier, timeout, body)
    }

    override func run(_ job: UnownedJob, _ kind: QueuedJob.Kind) {
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
