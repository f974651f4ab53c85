extension Task where Failure == Never {
    /// Starts a task that runs `operation` after everything that was submitted to `queue` before has ended.
    ///
    /// Its place in the order is that of this call, whatever the task's priority. It is never refused: no capacity
    /// keeps it out (it may stand beyond it, see ``FIFOQueue/beyondBoundCount``), nothing drops it, and after a
    /// shutdown it comes behind what was accepted. A task that is cancelled before its turn keeps its place, and
    /// `operation` runs with `Task.isCancelled` true. Never blocks.
    ///
    /// - Parameters:
    ///   - name: of the task, from Swift 6.2 on.
    ///   - priority: of the task; nil for that of the caller.
    ///   - queue: what gives the order.
    ///   - operation: isolated as the caller is, like that of `Task.init`.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: FIFOQueue,
        @_inheritActorContext @_implicitSelfCapture operation: sending @escaping @isolated(any) () async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue.storage, operation: operation)
    }

    /// Starts a task that runs `operation` on `actor` after everything that was submitted to `queue` before has ended.
    ///
    /// Its place in the order is that of this call, whatever the task's priority. It is never refused: no capacity
    /// keeps it out (it may stand beyond it, see ``FIFOQueue/beyondBoundCount``), nothing drops it, and after a
    /// shutdown it comes behind what was accepted. A task that is cancelled before its turn keeps its place, and
    /// `operation` runs with `Task.isCancelled` true. Never blocks.
    ///
    /// - Parameters:
    ///   - name: of the task, from Swift 6.2 on.
    ///   - priority: of the task; nil for that of the caller.
    ///   - queue: what gives the order.
    ///   - actor: retained until `operation` has ended.
    ///   - operation: runs on `actor`.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: FIFOQueue, isolatedTo actor: ActorType,
        operation: @escaping @Sendable (isolated ActorType) async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue.storage, operation: { @Sendable in await operation(actor) })
    }
}

extension Task where Failure == any Error {
    /// Starts a task that runs `operation` after everything that was submitted to `queue` before has ended.
    ///
    /// Its place in the order is that of this call, whatever the task's priority. A task that is cancelled before its
    /// turn keeps its place, and `operation` runs with `Task.isCancelled` true. After a shutdown the task fails with
    /// ``OrderedQueueError/shutDown``, and where the queue is full and its `whenFull` is `refuse` with
    /// ``OrderedQueueError/full``; `operation` is not run then. Never blocks.
    ///
    /// - Parameters:
    ///   - name: of the task, from Swift 6.2 on.
    ///   - priority: of the task; nil for that of the caller.
    ///   - queue: what gives the order.
    ///   - operation: isolated as the caller is, like that of `Task.init`.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: FIFOQueue,
        @_inheritActorContext @_implicitSelfCapture operation: sending @escaping @isolated(any) () async throws -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue.storage, operation: operation)
    }

    /// Starts a task that runs `operation` on `actor` after everything that was submitted to `queue` before has ended.
    ///
    /// Its place in the order is that of this call, whatever the task's priority. A task that is cancelled before its
    /// turn keeps its place, and `operation` runs with `Task.isCancelled` true. After a shutdown the task fails with
    /// ``OrderedQueueError/shutDown``, and where the queue is full and its `whenFull` is `refuse` with
    /// ``OrderedQueueError/full``; `operation` is not run then. Never blocks.
    ///
    /// - Parameters:
    ///   - name: of the task, from Swift 6.2 on.
    ///   - priority: of the task; nil for that of the caller.
    ///   - queue: what gives the order.
    ///   - actor: retained until `operation` has ended.
    ///   - operation: runs on `actor`.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: FIFOQueue, isolatedTo actor: ActorType,
        operation: @escaping @Sendable (isolated ActorType) async throws -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue.storage, operation: { @Sendable in try await operation(actor) })
    }
}
