/// Runs async work on one actor, beginning in the order in which it was submitted, from whatever context.
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
/// The order holds up to the first suspension of each piece of work: while one is suspended the next begins, so work
/// may wait for the queue it is in. Where work must end before the next begins, use ``FIFOQueue``. Priorities of tasks
/// don't change the order. Work that nobody waits for runs in tasks of the queue; the work of `enqueueAndWait` runs in
/// the calling task, of which it keeps priority, cancellation and task locals.
///
/// The queue refers to its actor weakly, so the actor can own it; accepted work retains the actor, and outlives the
/// queue object.
///
/// A full queue, and one that was shut down, never stops the program. Work that nobody waits for is refused; a call
/// that can throw throws; a call that can't is never refused, and comes in order in any case. Only misuse stops the
/// program: submitting before the adoption or after the end of the actor, adopting a second one, and a capacity of zero
/// or less.
///
/// No member blocks a thread; all may be called from anywhere but signal handlers.
public final class ActorQueue<ActorType: Actor>: Sendable {
    let storage: ActorQueueStorage

    /// An empty open queue, which needs to adopt an actor before it is used; but an `ActorQueue<MainActor>` has adopted
    /// the main actor.
    ///
    /// - Parameters:
    ///   - name: for messages and reports.
    ///   - priority: of the tasks that run what `enqueue` accepts.
    ///   - recorder: keeps the queue's last events; nil costs nothing.
    public convenience init(name: String? = nil, priority: TaskPriority? = nil, recorder: EventRecorder? = nil) {
        self.init(name: name, priority: priority, bound: nil, whenFull: .refuse, recorder: recorder)
    }

    /// The same with a bound: at most `capacity` accepted pieces of work may wait to begin.
    ///
    /// - Parameters:
    ///   - name: for messages and reports.
    ///   - priority: of the tasks that run what `enqueue` accepts.
    ///   - capacity: must be positive.
    ///   - whenFull: what is done with work that comes while the queue is full.
    ///   - recorder: keeps the queue's last events; nil costs nothing.
    public convenience init(
        name: String? = nil, priority: TaskPriority? = nil, capacity: Int, whenFull: OrderedQueueOverflow, recorder: EventRecorder? = nil
    ) {
        self.init(name: name, priority: priority, bound: capacity, whenFull: whenFull, recorder: recorder)
    }

    private init(name: String?, priority: TaskPriority?, bound: Int?, whenFull: OrderedQueueOverflow, recorder: EventRecorder?) {
        storage = ActorQueueStorage(name: name, priority: priority, capacity: bound, overflow: whenFull, recorder: recorder)
        // There is only one actor that a queue of this type could adopt.
        if let main = MainActor.shared as? ActorType { storage.adopt(main) }
    }

    /// Makes `actor` the one that this queue's work runs on. Once for each queue, best in the actor's `init`; another
    /// actor stops with a message.
    public func adoptExecutionContext(of actor: ActorType) {
        storage.adopt(actor)
    }

    /// What keeps the queue's last events, if anything does.
    ///
    /// May be set at any time and from anywhere, for all that is submitted from then on; what was submitted before goes
    /// on with the one of its time.
    public var recorder: EventRecorder? {
        get { storage.recorder }
        set { storage.recorder = newValue }
    }

    /// How many pieces of work, and tasks that wait for their turn, were accepted and have not begun, at some instant
    /// during the call.
    ///
    /// Takes the queue's lock for some nanoseconds. Without a capacity, tasks that have given up count until their
    /// turn.
    public var waitingCount: Int { storage.waitingCount }

    /// How many of these are more than the capacity. 0 without a capacity.
    ///
    /// They are tasks of `enqueueAndWait` and `Task(on:)`: those whose calls can't throw, on a full queue of any kind,
    /// and those whose calls can, where `whenFull` is not ``OrderedQueueOverflow/refuse``.
    public var beyondBoundCount: Int { storage.capacity.map { max(0, storage.waitingCount - $0) } ?? 0 }

    // MARK: - Work that nobody waits for

    /// Submits `work`, and returns at once.
    ///
    /// Stops with a message before an actor was adopted, and after its end.
    ///
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full; `work` is then
    ///   released without having run.
    /// - Complexity: O(1); where `whenFull` is `dropOldest` and tasks wait before the oldest work, O(capacity).
    ///   Allocates once in 64 calls.
    @discardableResult
    public func enqueue(_ work: @escaping @Sendable (isolated ActorType) async -> Void) -> Bool {
        accepts(storage.submit(Self.erased(work)))
    }

    /// The same for work that sees the task-local values of the caller, if `inheritingTaskLocals` is true. It then runs
    /// in a task of its own.
    @discardableResult
    public func enqueue(inheritingTaskLocals: Bool, _ work: @escaping @Sendable (isolated ActorType) async -> Void) -> Bool {
        accepts(inheritingTaskLocals ? storage.submitInheriting(Self.erased(work)) : storage.submit(Self.erased(work)))
    }

    private func accepts(_ refusal: OrderedQueueError?) -> Bool {
        OrderedRefusal.report(refusal, storage.subject, capacity: storage.capacity)
    }

    /// Submits `work`, after waiting for room if the queue is full and its `whenFull` is `wait`. Returns when it was
    /// accepted, not when it has run.
    ///
    /// Its place in the order is that of the call. Stops with a message before an actor was adopted, and after its end.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for room; nil for as long as it takes.
    ///   - work: released without having run where the call throws.
    /// - Throws: ``OrderedQueueError/full`` if `whenFull` is `refuse`, ``OrderedQueueError/shutDown``,
    ///   ``OrderedQueueError/timedOut``, ``OrderedQueueError/cancelled`` if the task is cancelled before there is room.
    public func enqueueWaitingForRoom(
        timeout: Duration? = nil, _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) async throws(OrderedQueueError) {
        if Task.isCancelled { throw .cancelled }
        try await storage.submitWaitingForRoom(Self.erased(work), until: Deadline.after(timeout: timeout))
    }

    // MARK: - Work that the caller waits for

    /// Runs `work` in the calling task, on the actor, after everything that was submitted before has begun; returns
    /// what it returns.
    ///
    /// It is never refused: no capacity keeps it out, nothing drops it, and after a shutdown it comes behind what was
    /// accepted. A cancelled task keeps its place, and `work` runs with `Task.isCancelled` true: nothing else could be
    /// returned. Stops with a message before an actor was adopted, and after its end.
    public func enqueueAndWait<T: Sendable>(_ work: @Sendable (isolated ActorType) async -> T) async -> T {
        let actor = storage.actorOrStop(), piece = storage.recordedPiece(), place = storage.takeOwnPlace()
        if !place.isGranted { await place.waitForGrant() }
        return await Self.run(in: storage, on: actor, piece, work)
    }

    /// The same for work that may throw, which is rethrown. The task gives its turn up if it is cancelled before.
    ///
    /// - Throws: ``OrderedQueueError/full`` if the queue is full and its `whenFull` is `refuse`,
    ///   ``OrderedQueueError/shutDown``, ``OrderedQueueError/cancelled``, and what `work` throws.
    public func enqueueAndWait<T: Sendable>(_ work: @Sendable (isolated ActorType) async throws -> T) async throws -> T {
        try await runInTurn(until: Deadline.never, work)
    }

    /// The same for a task that gives its turn up if it has not come after `timeout`. What has begun is not
    /// interrupted.
    ///
    /// - Throws: ``OrderedQueueError/timedOut``, and what the form without a timeout throws.
    public func enqueueAndWait<T: Sendable>(
        timeout: Duration, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await runInTurn(until: Deadline.after(timeout), work)
    }

    @inline(__always)
    private func runInTurn<T: Sendable>(
        until deadline: Int64, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        let actor = storage.actorOrStop(), piece = storage.recordedPiece()
        try await storage.takeTurn(.refusable, until: deadline)
        return try await Self.run(in: storage, on: actor, piece, work)
    }

    /// Runs `work` in the calling task, whose place was granted. (It does not know the queue: work outlives that, and
    /// does not keep it.)
    static func run<T: Sendable>(
        in storage: ActorQueueStorage, on actor: any Actor, _ piece: RecordedPiece?,
        _ work: @Sendable (isolated ActorType) async throws -> T
    ) async rethrows -> T {
        nonisolated(unsafe) var result: T?
        try await storage.runInPlace(on: actor, piece) { result = try await work(typed($0)) }
        return result!
    }

    private static func erased(_ work: @escaping @Sendable (isolated ActorType) async -> Void) -> ActorQueueStorage.Work {
        { await work(typed($0)) }
    }

    /// The queue has adopted no other actor than one of its type.
    private static func typed(_ actor: any Actor) -> ActorType {
        unsafeDowncast(actor, to: ActorType.self)
    }

    // MARK: - The end

    /// Waits until everything that was submitted before has ended. Works after ``shutdown()`` too, and takes no room.
    ///
    /// - Parameter timeout: how long to wait; nil for as long as it takes.
    /// - Throws: ``OrderedQueueError/wouldDeadlock`` in work of this queue, ``OrderedQueueError/cancelled``,
    ///   ``OrderedQueueError/timedOut``.
    public func drain(timeout: Duration? = nil) async throws(OrderedQueueError) {
        try await storage.drain(until: Deadline.after(timeout: timeout))
    }

    /// Refuses work that nobody waits for, and calls that can throw, from now on. What was accepted runs; tasks that
    /// wait for room get ``OrderedQueueError/shutDown``. Never blocks.
    public func shutdown() {
        storage.shutDown()
    }
}
