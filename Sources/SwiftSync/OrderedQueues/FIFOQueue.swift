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
public final class FIFOQueue: OrderedTaskQueue {
    let storage: FIFOQueueStorage

    public var _order: _OrderedTaskOrder<Never> { _OrderedTaskOrder(storage) }

    /// Makes an empty open queue.
    ///
    /// - Parameters:
    ///   - name: a name that messages and reports show. Nil stands for the place.
    ///   - priority: the priority of the task that runs the work that ``enqueue(inheritingTaskLocals:_:)`` accepts.
    ///   - capacity: the largest number of accepted pieces of work that wait to begin. It must be positive. Nil: any
    ///     number.
    ///   - whenFull: what the queue does with work that comes while it is full. Without a capacity it has no effect.
    ///   - recorder: a recorder of the queue's last events. Nil costs nothing.
    ///   - fileID: where the queue is made.
    ///   - line: the line there.
    public init(
        name: String? = nil, priority: TaskPriority? = nil, capacity: Int? = nil, whenFull: OverflowPolicy = .wait,
        recorder: EventRecorder? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        storage = unsafe FIFOQueueStorage(
            .named(name, fileID, line), priority: priority, capacity: capacity, overflow: whenFull, recorder: recorder)
    }

    /// Makes a queue without a name or a recorded place, for references to the initializer.
    @_disfavoredOverload
    public init() {
        storage = unsafe FIFOQueueStorage(.unknown)
    }

    // MARK: - Work that no call waits for

    /// Submits `work`, and returns at once.
    ///
    /// - Parameters:
    ///   - inheritingTaskLocals: if true, `work` runs in a separate task, and sees the task-local values of the caller.
    ///   - work: the work to submit.
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full. `work` is then
    ///   released without having run.
    /// - Complexity: O(1). Where `whenFull` is `dropOldest` and tasks wait before the oldest work, it is O(capacity).
    ///   The queue allocates once in 64 calls.
    @discardableResult
    public func enqueue(inheritingTaskLocals: Bool = false, _ work: @escaping @Sendable () async -> Void) -> Bool {
        storage.accepts(inheriting: inheritingTaskLocals, .plain(work))
    }

    /// Submits `work` that runs on `actor`, which is retained until `work` has ended. Otherwise it is
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
        try await storage.submitWaitingForRoom(.plain(work), until: timeout.deadline())
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
        if storage.wouldWaitForItself {
            fatalError(
                """
                \(storage.subject): enqueueAndWait was called in work of the same queue, for whose end it would wait
                """)
        }
        let piece = storage.recordedPiece()
        if !storage.takeTurnIfFree() { await storage.waitForOwnTurn() }
        nonisolated(unsafe) var result: T?
        await storage.runInTurn(piece) { unsafe result = await work() }
        return unsafe result!
    }

    /// Runs work that may throw in its turn, waits for it, and rethrows its error.
    ///
    /// If the task is cancelled before its turn, or the turn has not come after `timeout`, it gives the turn up. A free
    /// turn is taken whatever the timeout is. Work that has begun is not interrupted.
    ///
    /// - Throws: ``OrderedQueueError/full`` if the queue is full and its `whenFull` is `refuse`,
    ///   ``OrderedQueueError/shutDown``, ``OrderedQueueError/cancelled``, ``OrderedQueueError/timedOut`` after
    ///   `timeout` or at the deadline of `withDeadline`, ``OrderedQueueError/wouldDeadlock``, and what `work` throws.
    public func enqueueAndWait<T>(timeout: TimeLimit = .never, _ work: () async throws -> T) async throws -> T {
        let piece = storage.recordedPiece()
        try await storage.takeTurn(.refusable, until: timeout.deadline())
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

    /// Runs work that may throw in its turn on `actor`, and waits for it, as the form without an actor does.
    public func enqueueAndWait<ActorType: Actor, T: Sendable>(
        on actor: ActorType, timeout: TimeLimit = .never, _ work: @Sendable (isolated ActorType) async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(timeout: timeout) { try await work(actor) }
    }
}
