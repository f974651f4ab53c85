import CSyncKernel

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
public final class ActorQueue<ActorType: Actor>: Sendable {
    let storage: ActorQueueStorage

    /// Makes an empty open queue. It must adopt an actor before it is used; an `ActorQueue<MainActor>` has already
    /// adopted the main actor.
    ///
    /// - Parameters:
    ///   - name: a name that messages and reports show. Nil stands for the place.
    ///   - priority: the priority of the tasks that run the work that `enqueue` accepts, and the least that other work
    ///     runs at. With nil it is `.medium`.
    ///   - capacity: the largest number of accepted pieces of work that wait to begin. It must be positive. Nil: any
    ///     number.
    ///   - whenFull: what the queue does with work that comes while it is full. Without a capacity it has no effect.
    ///   - recorder: a recorder of the queue's last events. Nil costs nothing.
    ///   - fileID: where the queue is made.
    ///   - line: the line there.
    public convenience init(
        name: String? = nil, priority: TaskPriority? = nil, capacity: Int? = nil, whenFull: OverflowPolicy = .wait,
        recorder: EventRecorder? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        unsafe self.init(
            .named(name, fileID, line), priority: priority, bound: capacity, whenFull: whenFull, recorder: recorder)
    }

    /// Makes a queue without a name or a recorded place, for references to the initializer.
    @_disfavoredOverload
    public convenience init() {
        unsafe self.init(.unknown, priority: nil, bound: nil, whenFull: .refuse, recorder: nil)
    }

    /// The name in messages and reports: the one given at creation, else the file and line of creation, as in
    /// `Module/File.swift:12`, else the address in memory. Reading it never blocks.
    public var name: String { storage.name }

    private init(
        _ place: csk_place_t, priority: TaskPriority?, bound: Int?, whenFull: OverflowPolicy, recorder: EventRecorder?
    ) {
        storage = unsafe ActorQueueStorage(
            place, priority: priority, capacity: bound, overflow: whenFull, recorder: recorder)
        // A queue of this type could adopt only this actor.
        if let main = MainActor.shared as? ActorType { storage.adopt(main) }
    }

    /// Adopts `actor`, which this queue's work runs on. Call it once for each queue, best in the actor's `init`. A call
    /// with another actor stops the program with a message.
    public func adoptExecutionContext(of actor: ActorType) {
        storage.adopt(actor)
    }

    /// The recorder that keeps the queue's last events, if there is one.
    ///
    /// It may be set at any time and from anywhere. A new recorder records work that is submitted from then on; earlier
    /// work stays with its recorder.
    public var recorder: EventRecorder? {
        get { storage.recorder }
        set { storage.recorder = newValue }
    }

    /// The number of accepted pieces of work that have not begun and of waiting tasks whose turn has not come, at some
    /// instant during the call. A task whose turn has come may still wait for the actor.
    ///
    /// Reading it holds the queue's lock for some nanoseconds. In a queue without a capacity, tasks that have given up
    /// count until their turn.
    public var waitingCount: Int { storage.waitingCount }

    /// The excess of ``waitingCount`` over the capacity. It is 0 without a capacity.
    ///
    /// The excess consists of tasks of `enqueueAndWait` and `Task(on:)`. Tasks whose calls can't throw exceed the
    /// capacity of a full queue of any kind; tasks whose calls can throw exceed it only where `whenFull` is not
    /// ``OverflowPolicy/refuse``.
    public var beyondBoundCount: Int { storage.beyondBoundCount }

    // MARK: - Work that no call waits for

    /// Submits `work`, and returns at once.
    ///
    /// A call before an actor was adopted stops the program with a message.
    ///
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full, and from the
    ///   actor's `deinit` on. `work` is then released without having run.
    /// - Complexity: O(1). Where `whenFull` is `dropOldest` and tasks wait before the oldest work, it is O(capacity).
    ///   The queue allocates once in 64 calls.
    @discardableResult
    public func enqueue(_ work: @escaping @Sendable (isolated ActorType) async -> Void) -> Bool {
        storage.accepts(Self.erased(work))
    }

    /// Submits `work` as `enqueue(_:)` does. If `inheritingTaskLocals` is true, `work` sees the task-local values of
    /// the caller, and runs in a separate task.
    @discardableResult
    public func enqueue(
        inheritingTaskLocals: Bool, _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) -> Bool {
        inheritingTaskLocals ? storage.acceptsInheriting(Self.erased(work)) : storage.accepts(Self.erased(work))
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
        if Task.isCancelledByOthers { throw .cancelled }
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
        if !place.isGranted { await place.waitForGrant(at: storage.box) }
        return await Self.run(in: storage, on: actor, piece, work)
    }

    /// Runs work that may throw in its turn on the actor, waits for it, and rethrows its error. If the task is
    /// cancelled before `work` begins, it gives its turn up, and `work` does not run.
    ///
    /// A task whose turn has come while the actor runs something else returns only once the actor is free. A call
    /// before an actor was adopted stops the program with a message.
    ///
    /// - Throws: ``OrderedQueueError/full`` if the queue is full and its `whenFull` is `refuse`,
    ///   ``OrderedQueueError/shutDown``, which the end of the actor gives too, ``OrderedQueueError/cancelled``,
    ///   ``OrderedQueueError/timedOut`` at the deadline of `withDeadline`, and what `work` throws.
    public func enqueueAndWait<T: Sendable>(_ work: @Sendable (isolated ActorType) async throws -> T) async throws -> T
    {
        try await runInTurn(.never, work)
    }

    /// Runs work in its turn on the actor, and waits for it, with a limit of time: the task gives its turn up if `work`
    /// has not begun after `timeout`. Work that has begun is not interrupted. With a timeout of zero or less, `work`
    /// runs only if nothing stands before it in the queue.
    ///
    /// A task whose turn has come while the actor runs something else returns only once the actor is free, with the
    /// error if that is too late.
    ///
    /// - Throws: ``OrderedQueueError/timedOut``, and whatever the form without a timeout throws.
    public func enqueueAndWait<T: Sendable>(
        timeout: TimeLimit, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await runInTurn(timeout, work)
    }

    /// Switching to the actor is a wait too, so the limit is always read.
    @inline(__always)
    func runInTurn<T: Sendable>(
        _ limit: TimeLimit, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        let deadline = limit.deadline()
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

    private static func erased(_ work: @escaping @Sendable (isolated ActorType) async -> Void) -> ActorQueueStorage.Work
    {
        { await work(typed($0)) }
    }

    /// The cast is sound: the queue has adopted no actor of another type.
    private static func typed(_ actor: any Actor) -> ActorType {
        unsafe unsafeDowncast(actor, to: ActorType.self)
    }

    // MARK: - The end

    /// Waits until everything that was submitted before has ended. The call also works after ``shutdown()``, and takes
    /// no room. After the actor's end there is nothing to wait for, and it returns. Before an actor was adopted it
    /// stops the program with a message.
    ///
    /// - Parameter timeout: how long to wait; with `.never`, without a limit.
    /// - Throws: ``OrderedQueueError/wouldDeadlock`` when it is called in work of this queue,
    ///   ``OrderedQueueError/cancelled``, ``OrderedQueueError/timedOut``.
    public func drain(timeout: TimeLimit = .never) async throws(OrderedQueueError) {
        try await storage.drain(until: timeout.deadline())
    }

    /// Shuts the queue down: from now on it refuses work that no call waits for, and calls that can throw. Accepted
    /// work still runs. Tasks that wait for room get ``OrderedQueueError/shutDown``. Never blocks.
    public func shutdown() {
        storage.shutDown()
    }
}
