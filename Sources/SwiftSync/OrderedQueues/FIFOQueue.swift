import CSyncKernel

/// Runs async work one piece at a time. Work begins, and ends, in the order of submission, from whatever context.
///
/// ```swift
/// let queue = FIFOQueue(name: "uploads")
/// queue.enqueue { await upload("a") }             // returns at once; from synchronous code too
/// queue.enqueue { await upload("b") }             // begins when the first has ended
/// let size = await queue.enqueueAndWait { await store.size }
/// let task = Task(on: queue) { await upload("c") }    // in the same order, with a handle
/// ```
///
/// Suspended work has not ended, so nothing else begins meanwhile. Where later work may begin while earlier work is
/// suspended, use ``ActorQueue``. Priorities of tasks don't change the order. Work that no call waits for runs in a
/// task of the queue; the work of `enqueueAndWait` runs in the calling task, and keeps that task's priority,
/// cancellation and task-local values. Queued work outlives the queue object.
///
/// While a task waits in `enqueueAndWait` or `drain`, the holder of the turn runs at no less than that task's priority,
/// even if the task is escalated meanwhile.
///
/// A task of the queue that waits for the queue would wait for itself. `enqueueAndWait` of work that can't throw then
/// stops the program with a message; `enqueueAndWait` of work that can throw throws
/// ``OrderedQueueError/wouldDeadlock``. The same holds in child tasks of that task. Two cases can't be detected: work
/// that waits for the *value* of a `Task(on:)` behind it, and work that waits for a `Task { }` that waits for the
/// queue.
///
/// A full queue, or one that was shut down, never stops the program. It refuses work that no call waits for. A call
/// that can throw throws. A call that can't throw is never refused, and always runs in order. Only misuse stops the
/// program: a call that can't throw and would wait for the work that makes it, and a capacity of zero or less.
///
/// No member blocks a thread. All members may be called from anywhere except signal handlers.
public final class FIFOQueue: Sendable {
    let storage: FIFOQueueStorage

    /// Makes an empty open queue.
    ///
    /// - Parameters:
    ///   - name: a name that messages and reports show. Nil stands for the place.
    ///   - priority: the priority of the task that runs the work that ``enqueue(_:)`` accepts.
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
        storage = unsafe FIFOQueueStorage(
            place, priority: priority, capacity: bound, overflow: whenFull, recorder: recorder)
    }

    /// The recorder that keeps the queue's last events, if there is one.
    ///
    /// It may be set at any time and from anywhere. A new recorder records work that is submitted from then on; earlier
    /// work stays with its recorder.
    public var recorder: EventRecorder? {
        get { storage.recorder }
        set { storage.recorder = newValue }
    }

    /// The number of accepted pieces of work and waiting tasks that have not begun, at some instant during the call.
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
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full. `work` is then
    ///   released without having run.
    /// - Complexity: O(1). Where `whenFull` is `dropOldest` and tasks wait before the oldest work, it is O(capacity).
    ///   The queue allocates once in 64 calls.
    @discardableResult
    public func enqueue(_ work: @escaping @Sendable () async -> Void) -> Bool {
        storage.accepts(work)
    }

    /// Submits `work` as ``enqueue(_:)`` does. If `inheritingTaskLocals` is true, `work` sees the task-local values of
    /// the caller, and runs in a separate task.
    @discardableResult
    public func enqueue(inheritingTaskLocals: Bool, _ work: @escaping @Sendable () async -> Void) -> Bool {
        inheritingTaskLocals ? storage.acceptsInheriting(work) : storage.accepts(work)
    }

    /// Submits `work` that runs on `actor`. The actor is retained until `work` has ended. Otherwise it is
    /// ``enqueue(inheritingTaskLocals:_:)``.
    @discardableResult
    public func enqueue<ActorType: Actor>(
        on actor: ActorType, inheritingTaskLocals: Bool = false,
        _ work: @escaping @Sendable (isolated ActorType) async -> Void
    ) -> Bool {
        enqueue(inheritingTaskLocals: inheritingTaskLocals) { await work(actor) }
    }

    /// Submits `work`. If the queue is full and its `whenFull` is `wait`, the call first waits for room. It returns
    /// when `work` was accepted, not when it has run.
    ///
    /// The place of `work` in the order is that of the call.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for room; with `.never`, without a limit.
    ///   - work: the work to submit. If the call throws, it is released without having run.
    /// - Throws: ``OrderedQueueError/full`` if `whenFull` is `refuse`, ``OrderedQueueError/shutDown``,
    ///   ``OrderedQueueError/timedOut``, ``OrderedQueueError/cancelled`` if the task is cancelled before there is room;
    ///   and ``OrderedQueueError/wouldDeadlock`` if it is called in work of this queue and would have to wait.
    public func enqueueWaitingForRoom(
        timeout: TimeLimit = .never, _ work: @escaping @Sendable () async -> Void
    ) async throws(OrderedQueueError) {
        if Task.isCancelledByOthers { throw .cancelled }
        try await storage.submitWaitingForRoom(work, until: timeout.deadline())
    }

    // MARK: - Work that the caller waits for

    /// Runs `work` in the calling task, after everything that was submitted before has ended. Returns what `work`
    /// returns.
    ///
    /// The call is never refused: no capacity keeps it out, nothing drops it, and after a shutdown it runs behind the
    /// accepted work. A cancelled task keeps its place, and `work` runs with `Task.isCancelled` true, since the call
    /// has nothing else to return; so it ignores `withDeadline`. A call in work of the same queue stops the program
    /// with a message.
    ///
    /// If nothing is before it, the call neither suspends nor switches tasks.
    public func enqueueAndWait<T>(_ work: () async -> T) async -> T {
        if OrderedActivation.isInside(storage) {
            OrderedRefusal.stopWaitingForItself(storage.subject, "enqueueAndWait")
        }
        let piece = storage.recordedPiece()
        if !storage.takeTurnIfFree() { await storage.waitForOwnTurn() }
        nonisolated(unsafe) var result: T?
        await storage.runInTurn(piece) { unsafe result = await work() }
        return unsafe result!
    }

    /// Runs work that may throw in its turn, waits for it, and rethrows its error. If the task is cancelled before its
    /// turn, it gives the turn up.
    ///
    /// - Throws: ``OrderedQueueError/full`` if the queue is full and its `whenFull` is `refuse`,
    ///   ``OrderedQueueError/shutDown``, ``OrderedQueueError/cancelled``, ``OrderedQueueError/timedOut`` at the
    ///   deadline of `withDeadline`, ``OrderedQueueError/wouldDeadlock``, and what `work` throws.
    public func enqueueAndWait<T>(_ work: () async throws -> T) async throws -> T {
        try await runInTurn(.never, work)
    }

    /// Runs work in its turn, and waits for it, with a limit of time: the task gives its turn up if the turn has not
    /// come after `timeout`. Work that has begun is not interrupted.
    ///
    /// - Throws: ``OrderedQueueError/timedOut``, and whatever the form without a timeout throws.
    public func enqueueAndWait<T>(timeout: TimeLimit, _ work: () async throws -> T) async throws -> T {
        try await runInTurn(timeout, work)
    }

    @inline(__always)
    func runInTurn<T>(_ limit: TimeLimit, _ work: () async throws -> T) async throws -> T {
        let piece = storage.recordedPiece()
        try await storage.takeTurn(.refusable, until: limit.deadline())
        nonisolated(unsafe) var result: T?
        try await storage.runInTurn(piece) { unsafe result = try await work() }
        return unsafe result!
    }

    /// Runs work in its turn on `actor`, and waits for it, as the form without an actor does.
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, _ work: @Sendable (isolated ActorType) async -> T
    ) async -> T {
        await enqueueAndWait { await work(actor) }
    }

    /// Runs work that may throw in its turn on `actor`, waits for it, and rethrows its error.
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await enqueueAndWait { try await work(actor) }
    }

    /// Runs work in its turn on `actor`, and waits for it, with a limit of time: the task gives its turn up if the turn
    /// has not come after `timeout`.
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, timeout: TimeLimit, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(timeout: timeout) { try await work(actor) }
    }

    // MARK: - The end

    /// Waits until everything that was submitted before has ended. The call also works after ``shutdown()``, and takes
    /// no room.
    ///
    /// - Parameter timeout: how long to wait; with `.never`, without a limit.
    /// - Throws: ``OrderedQueueError/wouldDeadlock`` when it is called in work of this queue,
    ///   ``OrderedQueueError/cancelled``, ``OrderedQueueError/timedOut``.
    public func drain(timeout: TimeLimit = .never) async throws(OrderedQueueError) {
        try await storage.takeTurn(.end, until: timeout.deadline())
        storage.passTurnOn()
    }

    /// Shuts the queue down: from now on it refuses work that no call waits for, and calls that can throw. Accepted
    /// work still runs. Tasks that wait for room get ``OrderedQueueError/shutDown``. Never blocks.
    public func shutdown() {
        storage.shutDown()
    }
}
