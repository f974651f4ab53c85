// `Task(on:)` with a FIFO queue. Each form is documented at the queue itself; a cancellable queue has the same forms.

extension Task where Failure == Never {
    /// Starts a task that runs `operation` after everything that was submitted to `queue` before has ended.
    ///
    /// The task's place in the order is that of this call, whatever the task's priority. The task is never refused or
    /// dropped: it may exceed the capacity (see ``FIFOQueue/beyondBoundCount``), and after a shutdown it runs behind
    /// the accepted work. A task that is cancelled before its turn keeps its place, and `operation` runs with
    /// `Task.isCancelled` true. Never blocks.
    ///
    /// - Parameters:
    ///   - name: the task's name.
    ///   - priority: the task's priority; with nil, that of the caller.
    ///   - queue: the queue that gives the order.
    ///   - operation: the work. It is isolated as the caller is, like the operation of `Task.init`.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: FIFOQueue,
        @_inheritActorContext @_implicitSelfCapture operation: sending @escaping @isolated(any) () async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: operation)
    }

    /// Starts a task that runs `operation` on `actor` after everything that was submitted to `queue` before has ended.
    /// Otherwise it is `Task(on:)` without an actor. Never blocks.
    ///
    /// - Parameters:
    ///   - name: the task's name.
    ///   - priority: the task's priority; with nil, that of the caller.
    ///   - queue: the queue that gives the order.
    ///   - actor: the actor that `operation` runs on. It is retained until `operation` has ended.
    ///   - operation: the work, which runs on `actor`.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: FIFOQueue, isolatedTo actor: ActorType,
        operation: @escaping @Sendable (isolated ActorType) async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: { @Sendable in await operation(actor) })
    }

    /// Starts a task on the ``FIFOQueue`` under `queue`, as `Task(on:)` with that queue does.
    /// ``CancellableQueue/cancelTasks()`` cancels the task. Never blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: CancellableQueue<FIFOQueue>,
        @_inheritActorContext @_implicitSelfCapture operation: sending @escaping @isolated(any) () async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: operation)
    }

    /// Starts a task on the ``FIFOQueue`` under `queue`, as `Task(on:isolatedTo:)` with that queue does.
    /// ``CancellableQueue/cancelTasks()`` cancels the task. Never blocks.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: CancellableQueue<FIFOQueue>,
        isolatedTo actor: ActorType,
        operation: @escaping @Sendable (isolated ActorType) async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: { @Sendable in await operation(actor) })
    }
}

extension Task where Failure == any Error {
    /// Starts a task that runs `operation` after everything that was submitted to `queue` before has ended.
    ///
    /// The task's place in the order is that of this call, whatever the task's priority. A task that is cancelled
    /// before its turn keeps its place, and `operation` runs with `Task.isCancelled` true. After a shutdown the task
    /// fails with ``OrderedQueueError/shutDown``; if the queue is full and its `whenFull` is `refuse`, it fails with
    /// ``OrderedQueueError/full``. `operation` is not run then. Never blocks.
    ///
    /// - Parameters:
    ///   - name: the task's name.
    ///   - priority: the task's priority; with nil, that of the caller.
    ///   - queue: the queue that gives the order.
    ///   - operation: the work. It is isolated as the caller is, like the operation of `Task.init`.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: FIFOQueue,
        @_inheritActorContext @_implicitSelfCapture operation:
            sending @escaping @isolated(any) () async throws -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: operation)
    }

    /// Starts a task that runs `operation` on `actor` after everything that was submitted to `queue` before has ended.
    /// Otherwise it is `Task(on:)` without an actor, for work that may throw. Never blocks.
    ///
    /// - Parameters:
    ///   - name: the task's name.
    ///   - priority: the task's priority; with nil, that of the caller.
    ///   - queue: the queue that gives the order.
    ///   - actor: the actor that `operation` runs on. It is retained until `operation` has ended.
    ///   - operation: the work, which runs on `actor`.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: FIFOQueue, isolatedTo actor: ActorType,
        operation: @escaping @Sendable (isolated ActorType) async throws -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: { @Sendable in try await operation(actor) })
    }

    /// Starts a task on the ``FIFOQueue`` under `queue`, as `Task(on:)` with that queue does for work that may throw.
    /// ``CancellableQueue/cancelTasks()`` cancels the task. Never blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: CancellableQueue<FIFOQueue>,
        @_inheritActorContext @_implicitSelfCapture operation:
            sending @escaping @isolated(any) () async throws -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: operation)
    }

    /// Starts a task on the ``FIFOQueue`` under `queue`, as `Task(on:isolatedTo:)` with that queue does for work that
    /// may throw. ``CancellableQueue/cancelTasks()`` cancels the task. Never blocks.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: CancellableQueue<FIFOQueue>,
        isolatedTo actor: ActorType,
        operation: @escaping @Sendable (isolated ActorType) async throws -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: { @Sendable in try await operation(actor) })
    }
}
