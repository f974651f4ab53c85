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
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full; `work` is then released without
    ///   having run.
    /// - Complexity: O(1).
    @discardableResult
    public func enqueue(_ work: @escaping @MainActor () async -> Void) -> Bool {
        enqueue { _ in await work() }
    }

    /// Runs `work` in the calling task, on the main actor, after everything that was submitted before has begun; returns what it returns.
    ///
    /// What holds for cancellation and shutdown is what ``ActorQueue`` says for the form with a parameter.
    public func enqueueAndWait<T: Sendable>(_ work: @MainActor () async -> T) async -> T {
        await enqueueAndWait { _ in await work() }
    }

    /// The same for work that may throw, which is rethrown.
    ///
    /// - Throws: ``OrderedQueueError/cancelled`` if the task is cancelled before its turn, which it then gives up,
    ///   ``OrderedQueueError/shutDown``, and what `work` throws.
    public func enqueueAndWait<T: Sendable>(_ work: @MainActor () async throws -> T) async throws -> T {
        try await enqueueAndWait { _ in try await work() }
    }
}
