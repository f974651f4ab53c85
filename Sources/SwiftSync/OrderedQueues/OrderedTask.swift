/// A queue on which `Task(on:)` starts tasks: an ordered queue, or a queue that can also cancel its tasks.
protocol OrderedTaskQueue<Storage>: Sendable {
    /// The storage of the queue that gives the order: a ``FIFOQueueStorage`` or an ``ActorQueueStorage``.
    associatedtype Storage

    var storage: Storage { get }
    /// Makes the entry by which the queue can cancel a task that is about to be started; nil if it cancels no tasks.
    func track() -> TrackedTasks.Entry?
}

extension OrderedTaskQueue {
    func track() -> TrackedTasks.Entry? { nil }
}

extension FIFOQueue: OrderedTaskQueue {}
extension ActorQueue: OrderedTaskQueue {}
extension CancellableQueue: OrderedTaskQueue where UnderlyingQueue: OrderedTaskQueue {
    var storage: UnderlyingQueue.Storage { underlyingQueue.storage }
    func track() -> TrackedTasks.Entry? { TrackedTasks.Entry(of: tasks) }
}

/// Starts the tasks of `Task(on:)`.
///
/// A task begins on the calling thread, and does nothing there but wait for its place. It goes to its executor only
/// once, when its turn has come. On a FIFO queue it may not even have to do that, since the task before it may have
/// ended on that executor's thread.
enum OrderedTask {
    // MARK: - On a FIFO queue

    static func start<Success: Sendable>(
        _ name: String?, _ priority: TaskPriority?, on queue: some OrderedTaskQueue<FIFOQueueStorage>,
        operation: sending @escaping @isolated(any) () async -> Success
    ) -> Task<Success, Never> {
        let tracked = queue.track(), storage = queue.storage, piece = storage.recordedPiece()
        let place = OrderedRefusal.never { () throws(OrderedQueueError) in try storage.letIn(.own) }
        // The closure would capture a `sending` parameter in a box of its own.
        nonisolated(unsafe) let operation = operation
        return Task.immediate(name: name, priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            await place.waitElsewhere()
            nonisolated(unsafe) var result: Success?
            await storage.runInTurn(piece) { unsafe result = await operation() }
            return unsafe result!
        }
    }

    static func start<Success: Sendable>(
        _ name: String?, _ priority: TaskPriority?, on queue: some OrderedTaskQueue<FIFOQueueStorage>,
        operation: sending @escaping @isolated(any) () async throws -> Success
    ) -> Task<Success, any Error> {
        let tracked = queue.track(), storage = queue.storage, piece = storage.recordedPiece()
        let place = Result { () throws(OrderedQueueError) in try storage.letIn(.refusable) }
        nonisolated(unsafe) let operation = operation
        return Task.immediate(name: name, priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            try await place.get().waitElsewhere()
            nonisolated(unsafe) var result: Success?
            try await storage.runInTurn(piece) { unsafe result = try await operation() }
            return unsafe result!
        }
    }

    // MARK: - On an actor queue

    static func start<Success: Sendable, ActorType: Actor>(
        _ name: String?, _ priority: TaskPriority?, on queue: some OrderedTaskQueue<ActorQueueStorage>,
        operation: @escaping @Sendable (isolated ActorType) async -> Success
    ) -> Task<Success, Never> {
        let tracked = queue.track(), storage = queue.storage, actor = storage.actorOrStop()
        let piece = storage.recordedPiece(), place = storage.takeOwnPlace()
        defer { place.startReturns() }
        return Task.immediate(name: name, priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            await place.waitElsewhere(at: storage.box)
            return await ActorQueue<ActorType>.run(in: storage, on: actor, piece, operation)
        }
    }

    static func start<Success: Sendable, ActorType: Actor>(
        _ name: String?, _ priority: TaskPriority?, on queue: some OrderedTaskQueue<ActorQueueStorage>,
        operation: @escaping @Sendable (isolated ActorType) async throws -> Success
    ) -> Task<Success, any Error> {
        let tracked = queue.track(), storage = queue.storage
        let entry = Result { () throws(OrderedQueueError) in
            (
                actor: try storage.actorOrThrow(), piece: storage.recordedPiece(),
                place: try storage.letIn(.refusable)
            )
        }
        defer { try? entry.get().place.startReturns() }
        return Task.immediate(name: name, priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            let (actor, piece, place) = try entry.get()
            await place.waitElsewhere(at: storage.box)
            return try await ActorQueue<ActorType>.run(in: storage, on: actor, piece, operation)
        }
    }
}
