/// A queue whose work runs on the main actor: an ``ActorQueue`` that needs no adoption.
///
/// ```swift
/// MainActorQueue.shared.enqueue { screen.title = "ready" }            // from any context, in order
/// let task = Task(on: MainActor.queue) { screen.title.count }         // the same queue
/// ```
///
/// Members, order and errors are those of ``ActorQueue``. The closures have no parameter.
public typealias MainActorQueue = ActorQueue<MainActor>

private let sharedMainActorQueue = MainActorQueue(name: "main")

extension MainActor {
    /// The queue that the whole program shares, identical to ``ActorQueue/shared``. Never blocks.
    public static var queue: MainActorQueue { sharedMainActorQueue }
}

extension ActorQueue where ActorType == MainActor {
    /// The queue that the whole program shares. Never blocks.
    public static var shared: MainActorQueue { sharedMainActorQueue }

    /// Submits `work`, and returns at once.
    ///
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full. `work` is then
    ///   released without having run.
    /// - Complexity: O(1).
    @discardableResult
    public func enqueue(_ work: @escaping @MainActor () async -> Void) -> Bool {
        enqueue { _ in await work() }
    }

    /// Submits `work` as the form without `inheritingTaskLocals` does. If `inheritingTaskLocals` is true, `work` sees
    /// the task-local values of the caller, and runs in a separate task.
    @discardableResult
    public func enqueue(inheritingTaskLocals: Bool, _ work: @escaping @MainActor () async -> Void) -> Bool {
        enqueue(inheritingTaskLocals: inheritingTaskLocals) { _ in await work() }
    }

    /// Submits `work`. If the queue is full and its `whenFull` is `wait`, the call first waits for room.
    ///
    /// It throws the errors of the form of ``ActorQueue`` with a parameter.
    public func enqueueWaitingForRoom(
        timeout: TimeLimit = .never, _ work: @escaping @MainActor () async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(timeout: timeout) { _ in await work() }
    }

    /// Runs `work` in the calling task, on the main actor, after everything that was submitted before has begun.
    /// Returns what `work` returns.
    ///
    /// Cancellation, capacity and shutdown affect it as they affect the form of ``ActorQueue`` with a parameter.
    public func enqueueAndWait<T: Sendable>(_ work: @MainActor () async -> T) async -> T {
        await enqueueAndWait { _ in await work() }
    }

    /// Runs work that may throw in its turn on the main actor, waits for it, and rethrows its error.
    ///
    /// - Throws: ``OrderedQueueError/full``, ``OrderedQueueError/shutDown``, ``OrderedQueueError/cancelled`` if the
    ///   task is cancelled before its turn, which it then gives up, and what `work` throws.
    public func enqueueAndWait<T: Sendable>(_ work: @MainActor () async throws -> T) async throws -> T {
        try await enqueueAndWait { _ in try await work() }
    }

    /// Runs work in its turn on the main actor, and waits for it, with a limit of time: if `work` has not begun after
    /// `timeout`, the task gives its turn up and the call throws ``OrderedQueueError/timedOut``. A task whose turn has
    /// come while the main actor runs something else gets the error once the main actor is free.
    public func enqueueAndWait<T: Sendable>(
        timeout: TimeLimit, _ work: @MainActor () async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(timeout: timeout) { _ in try await work() }
    }
}
