/// A queue whose work runs on the main actor: an ``ActorQueue`` that needs no adoption.
///
/// ```swift
/// MainActorQueue.shared.enqueue { screen.title = "ready" }            // from any context, in order
/// let task = Task(on: MainActor.queue) { screen.title.count }         // the same queue
/// ```
///
/// Members, order and faults are those of ``ActorQueue``; the closures have no parameter.
public typealias MainActorQueue = ActorQueue<MainActor>

private let sharedMainActorQueue = MainActorQueue(name: "main")

extension MainActor {
    /// The queue that the whole program shares, the same as ``ActorQueue/shared``. Never blocks.
    public static var queue: MainActorQueue { sharedMainActorQueue }
}

extension ActorQueue where ActorType == MainActor {
    /// The queue that the whole program shares. Never blocks.
    public static var shared: MainActorQueue { sharedMainActorQueue }

    /// Submits `work`, and returns at once.
    ///
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full; `work` is then
    ///   released without having run.
    /// - Complexity: O(1).
    @discardableResult
    public func enqueue(_ work: @escaping @MainActor () async -> Void) -> Bool {
        enqueue { _ in await work() }
    }

    /// The same for work that sees the task-local values of the caller, if `inheritingTaskLocals` is true. It then runs
    /// in a task of its own.
    @discardableResult
    public func enqueue(inheritingTaskLocals: Bool, _ work: @escaping @MainActor () async -> Void) -> Bool {
        enqueue(inheritingTaskLocals: inheritingTaskLocals) { _ in await work() }
    }

    /// Submits `work`, after waiting for room if the queue is full and its `whenFull` is `wait`.
    ///
    /// What it throws is what ``ActorQueue`` says for the form with a parameter.
    public func enqueueWaitingForRoom(
        timeout: Duration? = nil, _ work: @escaping @MainActor () async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(timeout: timeout) { _ in await work() }
    }

    /// Runs `work` in the calling task, on the main actor, after everything that was submitted before has begun;
    /// returns what it returns.
    ///
    /// What holds for cancellation, capacity and shutdown is what ``ActorQueue`` says for the form with a parameter.
    public func enqueueAndWait<T: Sendable>(_ work: @MainActor () async -> T) async -> T {
        await enqueueAndWait { _ in await work() }
    }

    /// The same for work that may throw, which is rethrown.
    ///
    /// - Throws: ``OrderedQueueError/full``, ``OrderedQueueError/shutDown``, ``OrderedQueueError/cancelled`` if the
    ///   task is cancelled before its turn, which it then gives up, and what `work` throws.
    public func enqueueAndWait<T: Sendable>(_ work: @MainActor () async throws -> T) async throws -> T {
        try await enqueueAndWait { _ in try await work() }
    }

    /// The same for a task that gives its turn up if it has not come after `timeout`, with
    /// ``OrderedQueueError/timedOut``.
    public func enqueueAndWait<T: Sendable>(timeout: Duration, _ work: @MainActor () async throws -> T) async throws -> T {
        try await enqueueAndWait(timeout: timeout) { _ in try await work() }
    }
}
