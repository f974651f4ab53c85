/// Runs async work on one actor. Work begins in the order of submission, from whatever context.
///
/// ```swift
/// actor Counter {
///     private var count = 0
///     private let queue = ActorQueue<Counter>()
///
///     init() { queue.adoptExecutionContext(of: self) }
///
///     nonisolated func increment() {
///         queue.enqueue { counter in counter.count += 1 }     // from synchronous code; in order
///     }
///     func value() async -> Int {
///         await queue.enqueueAndWait { counter in counter.count }
///     }
/// }
/// ```
///
/// The order holds up to the first suspension of each piece of work: while one piece is suspended, the next begins. So
/// work may wait for the queue that it runs on. Where work must end before the next begins, use ``FIFOQueue``. Work
/// that no call waits for runs in tasks of the queue; the work of `enqueueAndWait` runs in the calling task, and keeps
/// that task's cancellation and task-local values.
///
/// Priorities of tasks change neither the order in which work begins, nor the order in which it reaches another actor
/// that it calls. Actors serve their waiters by priority, so the queue bounds the priority of work: it is that of the
/// work's task, but no less than the queue's `priority` (`.medium` if that is nil), and no more than that of work that
/// began before and has not ended. Where that differs from the task's priority, a part of the task runs the work, which
/// costs about as much as a `Task`. Give the queue a priority if its waiters are urgent. The bound does not apply to a
/// task that is escalated while its work runs.
///
/// The queue refers to its actor weakly, so the actor can own the queue. Accepted work retains the actor, and outlives
/// the queue object.
///
/// A full queue, or one that was shut down, never stops the program. It refuses work that no call waits for. A call
/// that can throw throws. A call that can't throw is never refused, and always runs in order. Only misuse stops the
/// program: a call before an actor was adopted, a second actor, a capacity of zero or less, and after the actor's end
/// `enqueueAndWait` and `Task(on:)` in the forms that can't throw. From the actor's `deinit` on `enqueue` returns
/// false, with a report to ``SyncDiagnostics``, calls that can throw throw ``OrderedQueueError/shutDown``, and `drain`
/// returns.
///
/// No member blocks a thread. All members may be called from anywhere except signal handlers.
public final class ActorQueue<ActorType: Actor>: OrderedTaskQueue {
    let storage: ActorQueueStorage

    public var _order: _OrderedTaskOrder<ActorType> { _OrderedTaskOrder(storage) }

    /// Makes an empty open queue. It must adopt an actor before it is used; an `ActorQueue<MainActor>` has already
    /// adopted the main actor.
    ///
    /// `priority` is that of the tasks that run the work that `enqueue` accepts, and the least that other work runs at.
    /// With nil it is `.medium`. The other parameters are those of
    /// ``FIFOQueue/init(name:priority:capacity:whenFull:recorder:fileID:line:)``.
    public init(
        name: String? = nil, priority: TaskPriority? = nil, capacity: Int? = nil, whenFull: OverflowPolicy = .wait,
        recorder: EventRecorder? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        storage = unsafe ActorQueueStorage(
            .named(name, fileID, line), priority: priority, capacity: capacity, overflow: whenFull, recorder: recorder)
        adoptMainActor()
    }

    /// Makes a queue without a name or a recorded place, for references to the initializer.
    @_disfavoredOverload
    public init() {
        storage = unsafe ActorQueueStorage(.unknown)
        adoptMainActor()
    }

    /// A queue of this type could adopt only this actor.
    private func adoptMainActor() {
        if let main = MainActor.shared as? ActorType { storage.adopt(main) }
    }

    /// Adopts `actor`, which this queue's work runs on. Call it once for each queue, best in the actor's `init`. A call
    /// with another actor stops the program with a message.
    public func adoptExecutionContext(of actor: ActorType) {
        storage.adopt(actor)
    }

    // MARK: - Work that no call waits for

    /// Submits `work`, and returns at once.
    ///
    /// A call before an actor was adopted stops the program with a message.
    ///
    /// - Parameters:
    ///   - inheritingTaskLocals: if true, `work` runs in a separate task, and sees the task-local values of the caller.
    ///   - work: the work to submit.
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full, and from the
    ///   actor's `deinit` on. `work` is then released without having run.
    /// - Complexity: O(1). Where `whenFull` is `dropOldest` and tasks wait before the oldest work, it is O(capacity).
    ///   The queue allocates once in 64 calls.
    @discardableResult
    public func enqueue(
        inheritingTaskLocals: Bool = false, _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) -> Bool {
        storage.accepts(inheriting: inheritingTaskLocals, Self.erased(work))
    }

    /// Submits `work`. If the queue is full and its `whenFull` is `wait`, the call first waits for room. It returns
    /// when `work` was accepted, not when it has run.
    ///
    /// The place of `work` in the order is that of the call. A call before an actor was adopted stops the program with
    /// a message.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for room; with `.never`, without a limit.
    ///   - work: the work to submit. If the call throws, it is released without having run.
    /// - Throws: ``OrderedQueueError/full`` if `whenFull` is `refuse`, ``OrderedQueueError/shutDown``, which the end of
    ///   the actor gives too, ``OrderedQueueError/timedOut``, ``OrderedQueueError/cancelled`` if the task is cancelled
    ///   before there is room.
    public func enqueueWaitingForRoom(
        timeout: TimeLimit = .never, _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) async throws(OrderedQueueError) {
        try await storage.submitWaitingForRoom(Self.erased(work), until: timeout.deadline())
    }

    // MARK: - Work that the caller waits for

    /// Runs `work` in the calling task, on the actor, after everything that was submitted before has begun. Returns
    /// what `work` returns.
    ///
    /// The call is never refused: no capacity keeps it out, nothing drops it, and after a shutdown it runs behind the
    /// accepted work. A cancelled task keeps its place, and `work` runs with `Task.isCancelled` true, since the call
    /// has nothing else to return; so it ignores `withDeadline`. A call before an actor was adopted, or after its end,
    /// stops the program with a message.
    public func enqueueAndWait<T: Sendable>(_ work: @Sendable (isolated ActorType) async -> T) async -> T {
        let actor = storage.actorOrStop(), piece = storage.recordedPiece(), place = storage.takeOwnPlace()
        if !place.isGranted { await place.waitForGrant(at: storage) }
        return await Self.run(in: storage, on: actor, piece, work)
    }

    /// Runs work that may throw in its turn on the actor, waits for it, and rethrows its error.
    ///
    /// If the task is cancelled before `work` begins, or `work` has not begun after `timeout`, the task gives its turn
    /// up, and `work` does not run. Work that has begun is not interrupted. With a timeout of zero or less, `work` runs
    /// only if nothing stands before it in the queue, and then waits for the actor however long that takes. Any other
    /// timeout is for both: a nanosecond is over before the task has come to a free actor. A task whose turn has come
    /// while the actor runs something else returns only once the actor is free. A call before an actor was adopted
    /// stops the program with a message.
    ///
    /// - Throws: ``OrderedQueueError/full`` if the queue is full and its `whenFull` is `refuse`,
    ///   ``OrderedQueueError/shutDown``, which the end of the actor gives too, ``OrderedQueueError/cancelled``,
    ///   ``OrderedQueueError/timedOut`` after `timeout` or at the deadline of `withDeadline`, and what `work` throws.
    public func enqueueAndWait<T: Sendable>(
        timeout: TimeLimit = .never, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        // Switching to the actor is a wait too, so the limit is always read.
        let deadline = timeout.deadline()
        let actor = try storage.actorOrThrow(), piece = storage.recordedPiece()
        try await storage.takeTurn(.refusable, until: deadline)
        return try await Self.run(in: storage, on: actor, piece) { actor in
            try Self.throwIfTooLate(deadline)
            return try await work(actor)
        }
    }

    /// The turn may have come while the actor was busy with something else: only now could the work begin.
    @inline(__always)
    private static func throwIfTooLate(_ deadline: Int64) throws(OrderedQueueError) {
        if Task.isCancelledByOthers { throw .cancelled }
        if Deadline.hasPassedMeanwhile(deadline) { throw .timedOut }
    }

    /// Runs `work` in the calling task, whose place was granted, or in a part of it. (It has no reference to the queue:
    /// work outlives the queue, and does not keep it.)
    static func run<T: Sendable, Failure: Error>(
        in storage: ActorQueueStorage, on actor: any Actor, _ piece: RecordedPiece?,
        _ work: @Sendable (isolated ActorType) async throws(Failure) -> T
    ) async throws(Failure) -> T {
        nonisolated(unsafe) var result: Result<T, Failure>?
        await storage.runInPlace(on: actor, piece) { actor in
            do throws(Failure) {
                unsafe result = .success(try await work(typed(actor)))
            } catch {
                unsafe result = .failure(error)
            }
        }
        return try unsafe result!.get()
    }

    private static func erased(_ work: @escaping @Sendable (isolated ActorType) async -> Void) -> ActorWork {
        ActorWork { await work(typed($0)) }
    }

    /// The cast is sound: the queue has adopted no actor of another type.
    private static func typed(_ actor: any Actor) -> ActorType {
        unsafe unsafeDowncast(actor, to: ActorType.self)
    }
}
