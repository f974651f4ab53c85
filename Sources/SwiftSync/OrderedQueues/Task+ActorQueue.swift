// `Task(on:)` with an actor queue. Each form is documented at the queue itself; a cancellable queue has the same forms.

extension Task where Failure == Never {
    /// Starts a task that runs `operation` on the queue's actor after everything that was submitted to `queue` before
    /// has begun.
    ///
    /// The task's place in the order is that of this call, whatever the task's priority. The task is never refused or
    /// dropped: it may exceed the capacity (see ``ActorQueue/beyondBoundCount``), and after a shutdown it runs behind
    /// the accepted work. A task that is cancelled before its turn keeps its place, and `operation` runs with
    /// `Task.isCancelled` true. A call before an actor was adopted, or after its end, stops the program with a message.
    /// Never blocks.
    ///
    /// - Parameters:
    ///   - name: the task's name.
    ///   - priority: the task's priority; with nil, that of the caller. The queue bounds the priority of `operation`:
    ///     see ``ActorQueue``.
    ///   - queue: the queue that gives the order.
    ///   - operation: the work, which runs on the queue's actor.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: ActorQueue<ActorType>,
        operation: @escaping @Sendable (isolated ActorType) async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: operation)
    }

    /// Starts a task that runs `operation` on the main actor, as `Task(on:)` with any other ``ActorQueue`` does. Never
    /// blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: MainActorQueue,
        operation: @escaping @MainActor () async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: { (_: isolated MainActor) in await operation() })
    }

    /// Starts a task on the ``ActorQueue`` under `queue`, as `Task(on:)` with that queue does.
    /// ``CancellableQueue/cancelTasks()`` cancels the task. Never blocks.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: CancellableQueue<ActorQueue<ActorType>>,
        operation: @escaping @Sendable (isolated ActorType) async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: operation)
    }

    /// Starts a task that runs `operation` on the main actor, as `Task(on:)` with the ``MainActorQueue`` under `queue`
    /// does. ``CancellableQueue/cancelTasks()`` cancels the task. Never blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: CancellableQueue<MainActorQueue>,
        operation: @escaping @MainActor () async -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: { (_: isolated MainActor) in await operation() })
    }
}

extension Task where Failure == any Error {
    /// Starts a task that runs `operation` on the queue's actor after everything that was submitted to `queue` before
    /// has begun.
    ///
    /// The task's place in the order is that of this call, whatever the task's priority. A task that is cancelled
    /// before its turn keeps its place, and `operation` runs with `Task.isCancelled` true. After a shutdown the task
    /// fails with ``OrderedQueueError/shutDown``; if the queue is full and its `whenFull` is `refuse`, it fails with
    /// ``OrderedQueueError/full``. `operation` is not run then. A call before an actor was adopted, or after its end,
    /// stops the program with a message. Never blocks.
    ///
    /// - Parameters:
    ///   - name: the task's name.
    ///   - priority: the task's priority; with nil, that of the caller. The queue bounds the priority of `operation`:
    ///     see ``ActorQueue``.
    ///   - queue: the queue that gives the order.
    ///   - operation: the work, which runs on the queue's actor.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: ActorQueue<ActorType>,
        operation: @escaping @Sendable (isolated ActorType) async throws -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: operation)
    }

    /// Starts a task that runs `operation` on the main actor, as `Task(on:)` with any other ``ActorQueue`` does for
    /// work that may throw. Never blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: MainActorQueue,
        operation: @escaping @MainActor () async throws -> Success
    ) {
        self = OrderedTask.start(
            name, priority, on: queue, operation: { (_: isolated MainActor) in try await operation() })
    }

    /// Starts a task on the ``ActorQueue`` under `queue`, as `Task(on:)` with that queue does for work that may throw.
    /// ``CancellableQueue/cancelTasks()`` cancels the task. Never blocks.
    @discardableResult
    public init<ActorType: Actor>(
        name: String? = nil, priority: TaskPriority? = nil, on queue: CancellableQueue<ActorQueue<ActorType>>,
        operation: @escaping @Sendable (isolated ActorType) async throws -> Success
    ) {
        self = OrderedTask.start(name, priority, on: queue, operation: operation)
    }

    /// Starts a task that runs `operation` on the main actor, as `Task(on:)` with the ``MainActorQueue`` under `queue`
    /// does for work that may throw. ``CancellableQueue/cancelTasks()`` cancels the task. Never blocks.
    @discardableResult
    public init(
        name: String? = nil, priority: TaskPriority? = nil, on queue: CancellableQueue<MainActorQueue>,
        operation: @escaping @MainActor () async throws -> Success
    ) {
        self = OrderedTask.start(
            name, priority, on: queue, operation: { (_: isolated MainActor) in try await operation() })
    }
}
