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

    // Each of these is the form of ``ActorQueue`` with a parameter, whose promises it keeps.

    /// Submits `work`, which runs on the main actor, and returns at once, as `enqueue` of ``ActorQueue`` does.
    @discardableResult
    public func enqueue(inheritingTaskLocals: Bool = false, _ work: @escaping @MainActor () async -> Void) -> Bool {
        enqueue(inheritingTaskLocals: inheritingTaskLocals) { _ in await work() }
    }

    /// Submits `work`, which runs on the main actor, as `enqueueWaitingForRoom` of ``ActorQueue`` does.
    public func enqueueWaitingForRoom(
        timeout: TimeLimit = .never, _ work: @escaping @MainActor () async -> Void
    ) async throws(OrderedQueueError) {
        try await enqueueWaitingForRoom(timeout: timeout) { _ in await work() }
    }

    /// Runs `work` in its turn on the main actor, and waits for it, as `enqueueAndWait` of ``ActorQueue`` does.
    public func enqueueAndWait<T: Sendable>(_ work: @MainActor () async -> T) async -> T {
        await enqueueAndWait { _ in await work() }
    }

    /// Runs work that may throw in its turn on the main actor, and waits for it, as `enqueueAndWait` of ``ActorQueue``
    /// does.
    public func enqueueAndWait<T: Sendable>(
        timeout: TimeLimit = .never, _ work: @MainActor () async throws -> T
    ) async throws -> T {
        try await enqueueAndWait(timeout: timeout) { _ in try await work() }
    }
}
