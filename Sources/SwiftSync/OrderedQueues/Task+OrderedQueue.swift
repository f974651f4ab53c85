// `Task(on:)`: what runs where, each for work that can't throw and for work that may.
//
// A task begins on the calling thread, and does nothing there but wait for its place. It goes to its executor only
// once, when its turn has come. On a FIFO queue it may not even have to do that, since the task before it may have
// ended on that executor's thread.

extension Task where Failure == Never {
    /// Starts a task that runs `operation` after everything that was submitted to `queue` before has ended.
    ///
    /// The task's place in the order is that of this call, whatever the task's priority. The task is never refused or
    /// dropped: it may exceed the capacity (see ``OrderedTaskQueue/beyondBoundCount``), and after a shutdown it runs
    /// behind the accepted work. A task that is cancelled before its turn keeps its place, and `operation` runs with
    /// `Task.isCancelled` true. Never blocks.
    ///
    /// - Parameters:
    ///   - name: the task's name.
    ///   - priority: the task's priority; with nil, that of the caller.
    ///   - queue: a ``FIFOQueue``, or a ``CancellableQueue`` over one, whose ``CancellableQueue/cancelTasks()`` cancels
    ///     the task.
    ///   - operation: the work. It is isolated as the caller is, like the operation of `Task.init`.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: some OrderedTaskQueue<Never>,
        @_inheritActorContext @_implicitSelfCapture operation: sending @escaping @isolated(any) () async -> Success
    ) {
        let order = queue._order, tracked = order.track(), storage = order.fifo, piece = storage.recordedPiece()
        let place = OrderedQueueError.never { () throws(OrderedQueueError) in try storage.letIn(.own) }
        // The closure would capture a `sending` parameter in a box of its own.
        nonisolated(unsafe) let operation = operation
        self = Task.immediate(name: name, priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            await place.waitElsewhere()
            tracked?.catchUp()
            nonisolated(unsafe) var result: Success?
            await storage.runInTurn(piece) { unsafe result = await operation() }
            return unsafe result!
        }
    }

    /// Starts a task that runs `operation` on `actor` after everything that was submitted to `queue` before has ended.
    /// Otherwise it is `Task(on:)` without an actor. `actor` is retained until `operation` has ended. Never blocks.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: some OrderedTaskQueue<Never>,
        isolatedTo actor: ActorType, operation: @escaping @Sendable (isolated ActorType) async -> Success
    ) {
        self.init(name: name, priority: priority, on: queue, operation: { @Sendable in await operation(actor) })
    }

    /// Starts a task that runs `operation` on the queue's actor after everything that was submitted to `queue` before
    /// has begun. `queue` is an ``ActorQueue``, or a ``CancellableQueue`` over one, whose
    /// ``CancellableQueue/cancelTasks()`` cancels the task.
    ///
    /// Order, cancellation, capacity and shutdown are those of `Task(on:)` with a ``FIFOQueue``. The queue bounds the
    /// priority of `operation`: see ``ActorQueue``. A call before an actor was adopted, or after its end, stops the
    /// program with a message. Never blocks.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: some OrderedTaskQueue<ActorType>,
        operation: @escaping @Sendable (isolated ActorType) async -> Success
    ) {
        let order = queue._order, tracked = order.track(), storage = order.actor, actor = storage.actorOrStop()
        let piece = storage.recordedPiece(), place = storage.takeOwnPlace()
        defer { place.startReturns() }
        self = Task.immediate(name: name, priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            await place.waitElsewhere(at: storage)
            tracked?.catchUp()
            return await ActorQueue<ActorType>.run(in: storage, on: actor, piece, operation)
        }
    }

    /// Starts a task that runs `operation` on the main actor, as `Task(on:)` with any other ``ActorQueue`` does. Never
    /// blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: some OrderedTaskQueue<MainActor>,
        operation: @escaping @MainActor () async -> Success
    ) {
        self.init(
            name: name, priority: priority, on: queue,
            operation: { (_: isolated MainActor) in await operation() })
    }
}

extension Task where Failure == any Error {
    /// Starts a task that runs `operation`, which may throw, after everything that was submitted to `queue` before has
    /// ended.
    ///
    /// The task's place in the order is that of this call, whatever the task's priority. A task that is cancelled
    /// before its turn keeps its place, and `operation` runs with `Task.isCancelled` true. After a shutdown the task
    /// fails with ``OrderedQueueError/shutDown``; if the queue is full and its `whenFull` is `refuse`, it fails with
    /// ``OrderedQueueError/full``. `operation` is not run then. Never blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: some OrderedTaskQueue<Never>,
        @_inheritActorContext @_implicitSelfCapture operation:
            sending @escaping @isolated(any) () async throws -> Success
    ) {
        let order = queue._order, tracked = order.track(), storage = order.fifo, piece = storage.recordedPiece()
        let place = Result { () throws(OrderedQueueError) in try storage.letIn(.refusable) }
        nonisolated(unsafe) let operation = operation
        self = Task.immediate(name: name, priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            try await place.get().waitElsewhere()
            tracked?.catchUp()
            nonisolated(unsafe) var result: Success?
            try await storage.runInTurn(piece) { unsafe result = try await operation() }
            return unsafe result!
        }
    }

    /// Starts a task that runs `operation`, which may throw, on `actor` after everything that was submitted to `queue`
    /// before has ended. Otherwise it is `Task(on:)` without an actor. `actor` is retained until `operation` has ended.
    /// Never blocks.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: some OrderedTaskQueue<Never>,
        isolatedTo actor: ActorType, operation: @escaping @Sendable (isolated ActorType) async throws -> Success
    ) {
        self.init(name: name, priority: priority, on: queue, operation: { @Sendable in try await operation(actor) })
    }

    /// Starts a task that runs `operation`, which may throw, on the queue's actor after everything that was submitted
    /// to `queue` before has begun.
    ///
    /// Order, cancellation and errors are those of `Task(on:)` with a ``FIFOQueue`` for work that may throw; the end of
    /// the actor counts as a shutdown. A call before an actor was adopted stops the program with a message. Never
    /// blocks.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: some OrderedTaskQueue<ActorType>,
        operation: @escaping @Sendable (isolated ActorType) async throws -> Success
    ) {
        let order = queue._order, tracked = order.track(), storage = order.actor
        let entry = Result { () throws(OrderedQueueError) in
            (
                actor: try storage.actorOrThrow(), piece: storage.recordedPiece(),
                place: try storage.letIn(.refusable)
            )
        }
        defer { try? entry.get().place.startReturns() }
        self = Task.immediate(name: name, priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            let (actor, piece, place) = try entry.get()
            await place.waitElsewhere(at: storage)
            tracked?.catchUp()
            return try await ActorQueue<ActorType>.run(in: storage, on: actor, piece, operation)
        }
    }

    /// Starts a task that runs `operation`, which may throw, on the main actor, as `Task(on:)` with any other
    /// ``ActorQueue`` does. Never blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: some OrderedTaskQueue<MainActor>,
        operation: @escaping @MainActor () async throws -> Success
    ) {
        self.init(
            name: name, priority: priority, on: queue,
            operation: { (_: isolated MainActor) in try await operation() })
    }
}
