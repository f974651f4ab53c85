/// Runs async work one at a time: it begins, and ends, in the order in which it was submitted, from whatever context.
///
/// ```swift
/// let queue = FIFOQueue(name: "uploads")
/// queue.enqueue { await upload("a") }             // returns at once; from synchronous code too
/// queue.enqueue { await upload("b") }             // begins when the first has ended
/// let size = await queue.enqueueAndWait { await store.size }
/// let task = Task(on: queue) { await upload("c") }    // in the same order, with a handle
/// ```
///
/// Suspended work has not ended: nothing else begins meanwhile. Where later work may begin then, use ``ActorQueue``.
/// Priorities of tasks don't change the order. Work that nobody waits for runs in a task of the queue; the work of
/// `enqueueAndWait` runs in the calling task, of which it keeps priority, cancellation and task locals. Queued work
/// outlives the queue object.
///
/// A task of the queue that waits for the queue would wait for itself. `enqueueAndWait` of work that can't throw then
/// stops with a message; of work that can, it throws ``OrderedQueueError/wouldDeadlock``. So do its child tasks. What
/// can't be seen is work that waits for the *value* of a `Task(on:)` behind it, or for a `Task { }` that waits for the
/// queue.
///
/// A full queue, and one that was shut down, never stops the program. Work that nobody waits for is refused; a call
/// that can throw throws; a call that can't is never refused, and comes in order in any case. Only misuse stops the
/// program: a call that can't throw and waits for the work that it is made from, and a capacity of zero or less.
///
/// No member blocks a thread; all may be called from anywhere but signal handlers.
public final class FIFOQueue: Sendable {
    let storage: FIFOQueueStorage

    /// An empty open queue.
    ///
    /// - Parameters:
    ///   - name: for messages and reports.
    ///   - priority: of the task that runs what ``enqueue(_:)`` accepts.
    ///   - recorder: keeps the queue's last events; nil costs nothing.
    public convenience init(name: String? = nil, priority: TaskPriority? = nil, recorder: EventRecorder? = nil) {
        self.init(name: name, priority: priority, bound: nil, whenFull: .refuse, recorder: recorder)
    }

    /// An empty open queue in which at most `capacity` accepted pieces of work may wait to begin.
    ///
    /// - Parameters:
    ///   - name: for messages and reports.
    ///   - priority: of the task that runs what ``enqueue(_:)`` accepts.
    ///   - capacity: must be positive.
    ///   - whenFull: what is done with work that comes while the queue is full.
    ///   - recorder: keeps the queue's last events; nil costs nothing.
    public convenience init(
        name: String? = nil, priority: TaskPriority? = nil, capacity: Int, whenFull: OrderedQueueOverflow, recorder: EventRecorder? = nil
    ) {
        self.init(name: name, priority: priority, bound: capacity, whenFull: whenFull, recorder: recorder)
    }

    private init(name: String?, priority: TaskPriority?, bound: Int?, whenFull: OrderedQueueOverflow, recorder: EventRecorder?) {
        storage = FIFOQueueStorage(name: name, priority: priority, capacity: bound, overflow: whenFull, recorder: recorder)
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
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full; `work` is then
    ///   released without having run.
    /// - Complexity: O(1); where `whenFull` is `dropOldest` and tasks wait before the oldest work, O(capacity).
    ///   Allocates once in 64 calls.
    @discardableResult
    public func enqueue(_ work: @escaping @Sendable () async -> Void) -> Bool {
        accepts(storage.submit(work))
    }

    /// The same for work that sees the task-local values of the caller, if `inheritingTaskLocals` is true. It then runs
    /// in a task of its own.
    @discardableResult
    public func enqueue(inheritingTaskLocals: Bool, _ work: @escaping @Sendable () async -> Void) -> Bool {
        accepts(inheritingTaskLocals ? storage.submitInheriting(work) : storage.submit(work))
    }

    /// The same for work that runs on `actor`, which is retained until it has ended.
    @discardableResult
    public func enqueue<ActorType: Actor>(
        on actor: ActorType, inheritingTaskLocals: Bool = false, _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) -> Bool {
        enqueue(inheritingTaskLocals: inheritingTaskLocals) { await work(actor) }
    }

    private func accepts(_ refusal: OrderedQueueError?) -> Bool {
        OrderedRefusal.report(refusal, storage.subject, capacity: storage.capacity)
    }

    /// Submits `work`, after waiting for room if the queue is full and its `whenFull` is `wait`. Returns when it was
    /// accepted, not when it has run.
    ///
    /// Its place in the order is that of the call.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for room; nil for as long as it takes.
    ///   - work: released without having run where the call throws.
    /// - Throws: ``OrderedQueueError/full`` if `whenFull` is `refuse`, ``OrderedQueueError/shutDown``,
    ///   ``OrderedQueueError/timedOut``, ``OrderedQueueError/cancelled`` if the task is cancelled before there is room;
    ///   and ``OrderedQueueError/wouldDeadlock`` in work of this queue that would wait.
    public func enqueueWaitingForRoom(
        timeout: Duration? = nil, _ work: @escaping @Sendable () async -> Void
    ) async throws(OrderedQueueError) {
        if Task.isCancelled { throw .cancelled }
        try await storage.submitWaitingForRoom(work, until: Deadline.after(timeout: timeout))
    }

    // MARK: - Work that the caller waits for

    /// Runs `work` in the calling task after everything that was submitted before, and returns what it returns.
    ///
    /// It is never refused: no capacity keeps it out, nothing drops it, and after a shutdown it comes behind what was
    /// accepted. A cancelled task keeps its place, and `work` runs with `Task.isCancelled` true: nothing else could be
    /// returned. Stops with a message if it is called in work of the same queue.
    ///
    /// Where nothing is before it, it neither suspends nor changes the task.
    public func enqueueAndWait<T: Sendable>(_ work: @Sendable () async -> T) async -> T {
        if OrderedActivation.isInside(storage) { OrderedRefusal.stopWaitingForItself(storage.subject, "enqueueAndWait") }
        let piece = storage.recordedPiece()
        if !storage.takeTurnIfFree() { await storage.waitForOwnTurn() }
        nonisolated(unsafe) var result: T?
        await storage.runInTurn(piece) { result = await work() }
        return result!
    }

    /// The same for work that may throw, which is rethrown. The task gives its turn up if it is cancelled before.
    ///
    /// - Throws: ``OrderedQueueError/full`` if the queue is full and its `whenFull` is `refuse`,
    ///   ``OrderedQueueError/shutDown``, ``OrderedQueueError/cancelled``, ``OrderedQueueError/wouldDeadlock``, and what
    ///   `work` throws.
    public func enqueueAndWait<T: Sendable>(_ work: @Sendable () async throws -> T) async throws -> T {
        try await runInTurn(until: Deadline.never, work)
    }

    /// The same for a task that gives its turn up if it has not come after `timeout`. What has begun is not
    /// interrupted.
    ///
    /// - Throws: ``OrderedQueueError/timedOut``, and what the form without a timeout throws.
    public func enqueueAndWait<T: Sendable>(timeout: Duration, _ work: @Sendable () async throws -> T) async throws -> T {
        try await runInTurn(until: Deadline.after(timeout), work)
    }

    @inline(__always)
    private func runInTurn<T: Sendable>(until deadline: Int64, _ work: @Sendable () async throws -> T) async throws -> T {
        let piece = storage.recordedPiece()
        try await storage.takeTurn(.refusable, until: deadline)
        nonisolated(unsafe) var result: T?
        try await storage.runInTurn(piece) { result = try await work() }
        return result!
    }

    /// The same as the form without an actor, for work that runs on `actor`.
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, _ work: @Sendable (isolated ActorType) async -> T
    ) async -> T {
        await enqueueAndWait { await work(actor) }
    }

    /// The same for work on `actor` that may throw.
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await enqueueAndWait { try await work(actor) }
    }

    /// The same for work on `actor`, by a task that gives its turn up if it has not come after `timeout`.
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, timeout: Duration, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(timeout: timeout) { try await work(actor) }
    }

    // MARK: - The end

    /// Waits until everything that was submitted before has ended. Works after ``shutdown()`` too, and takes no room.
    ///
    /// - Parameter timeout: how long to wait; nil for as long as it takes.
    /// - Throws: ``OrderedQueueError/wouldDeadlock`` in work of this queue, ``OrderedQueueError/cancelled``,
    ///   ``OrderedQueueError/timedOut``.
    public func drain(timeout: Duration? = nil) async throws(OrderedQueueError) {
        try await storage.takeTurn(.end, until: Deadline.after(timeout: timeout))
        storage.passTurnOn()
    }

    /// Refuses work that nobody waits for, and calls that can throw, from now on. What was accepted runs; tasks that
    /// wait for room get ``OrderedQueueError/shutDown``. Never blocks.
    public func shutdown() {
        storage.shutDown()
    }
}
