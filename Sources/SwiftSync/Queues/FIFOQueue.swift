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
/// Suspended work has not ended: nothing else begins meanwhile. Where later work may begin then, use ``ActorQueue``. Priorities of
/// tasks don't change the order. Work that nobody waits for runs in a task of the queue; the work of `enqueueAndWait` runs in the
/// calling task, of which it keeps priority, cancellation and task locals. Queued work outlives the queue object.
///
/// A task of the queue that waits for the queue would wait for itself. `enqueueAndWait` of work that can't throw then stops with a message;
/// of work that can, it throws ``OrderedQueueError/wouldDeadlock``. So do its child tasks. What can't be seen is work that waits for
/// the *value* of a `Task(on:)` behind it, or for a `Task { }` that waits for the queue.
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
    /// May be set at any time and from anywhere, for all that is submitted from then on; what was submitted before goes on with the one of its time.
    public var recorder: EventRecorder? {
        get { storage.recorder }
        set { storage.recorder = newValue }
    }

    // MARK: - Work that nobody waits for

    /// Submits `work`, and returns at once.
    ///
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full; `work` is then released without
    ///   having run.
    /// - Complexity: O(1); where `whenFull` is `dropOldest` and tasks wait before the oldest work, O(capacity). Allocates once in 64 calls.
    @discardableResult
    public func enqueue(_ work: @escaping @Sendable () async -> Void) -> Bool {
        OrderedRefusal.report(storage.submit(work), storage.subject)
    }

    /// The same for work that runs on `actor`, which is retained until it has ended.
    @discardableResult
    public func enqueue<ActorType: Actor>(
        on actor: ActorType, _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) -> Bool {
        enqueue { await work(actor) }
    }

    /// Submits `work`, after waiting for room if the queue is full and its `whenFull` is `wait`. Returns when it was accepted, not
    /// when it has run.
    ///
    /// Its place in the order is that of the call.
    ///
    /// - Throws: ``OrderedQueueError/full`` if `whenFull` is `refuse`, ``OrderedQueueError/shutDown``, ``OrderedQueueError/cancelled``
    ///   if the task is cancelled before there is room; and ``OrderedQueueError/wouldDeadlock`` in work of this queue that would wait.
    public func enqueueWaitingForRoom(_ work: @escaping @Sendable () async -> Void) async throws(OrderedQueueError) {
        if Task.isCancelled { throw .cancelled }
        let sender = storage.sender(work)
        if let error = storage.submit(sender) { throw error }
        if !sender.room.isGranted && OrderedActivation.isInside(storage) {
            sender.room.giveUp()
            throw .wouldDeadlock
        }
        if await sender.room.waitUnlessCancelled() { return }
        throw Task.isCancelled ? .cancelled : .shutDown
    }

    // MARK: - Work that the caller waits for

    /// Runs `work` in the calling task after everything that was submitted before, and returns what it returns.
    ///
    /// A cancelled task keeps its place, and `work` runs in its turn, with `Task.isCancelled` true: nothing else could be returned.
    /// Stops with a message if the queue was shut down, and if it is called in work of the same queue.
    ///
    /// Where nothing is before it, it neither suspends nor changes the task.
    public func enqueueAndWait<T: Sendable>(_ work: @Sendable () async -> T) async -> T {
        if OrderedActivation.isInside(storage) { OrderedRefusal.stop(.wouldDeadlock, storage.subject, "enqueueAndWait") }
        let piece = storage.recordedPiece()
        if !storage.takeTurnIfFree() { _ = await storage.takePlaceOrStop("enqueueAndWait").wait() }
        nonisolated(unsafe) var result: T?
        await storage.runInTurn(piece) { result = await work() }
        return result!
    }

    /// The same for work that may throw, which is rethrown.
    ///
    /// - Throws: ``OrderedQueueError/cancelled`` if the task is cancelled before its turn, which it then gives up,
    ///   ``OrderedQueueError/shutDown``, ``OrderedQueueError/wouldDeadlock``, and what `work` throws.
    public func enqueueAndWait<T: Sendable>(_ work: @Sendable () async throws -> T) async throws -> T {
        let piece = storage.recordedPiece()
        try await takeTurn()
        nonisolated(unsafe) var result: T?
        try await storage.runInTurn(piece) { result = try await work() }
        return result!
    }

    /// Waits for the turn of the calling task, which must run its work in turn, or pass it on.
    private func takeTurn(evenIfShut: Bool = false) async throws(OrderedQueueError) {
        if OrderedActivation.isInside(storage) { throw .wouldDeadlock }
        if Task.isCancelled { throw .cancelled }
        if storage.takeTurnIfFree() { return }
        let place = try storage.takePlace(evenIfShut: evenIfShut)
        if !place.isGranted, !(await place.waitUnlessCancelled()) { throw .cancelled }
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

    // MARK: - The end

    /// Waits until everything that was submitted before has ended. Works after ``shutdown()`` too.
    ///
    /// - Throws: ``OrderedQueueError/wouldDeadlock`` in work of this queue, ``OrderedQueueError/cancelled``.
    public func drain() async throws(OrderedQueueError) {
        try await takeTurn(evenIfShut: true)
        storage.passTurnOn()
    }

    /// Refuses what is submitted from now on. What was accepted runs; tasks that wait for room get ``OrderedQueueError/shutDown``.
    /// Never blocks.
    public func shutdown() {
        storage.shutDown()
    }
}
