/// Cancels all tasks of an ordered queue at once: those that run, and those that wait for their turn.
///
/// ```swift
/// let searches = CancellableQueue(underlyingQueue: FIFOQueue())
/// let search = Task(on: searches) { try await find("cat") }
/// searches.cancelTasks()                                      // the user has typed on
/// Task(on: searches) { try await find("cats") }               // not cancelled
/// ```
///
/// Work that needs no handle is cheaper by ``enqueue(inheritingTaskLocals:_:)``, over a ``FIFOQueue``: it starts no
/// task.
///
/// The underlying queue, a ``FIFOQueue`` or an ``ActorQueue``, gives the order. Work that is submitted to the
/// underlying queue directly is in the same order, and is not cancelled.
///
/// No member blocks a thread. All members may be called from anywhere except signal handlers.
public final class CancellableQueue<UnderlyingQueue: Sendable>: Sendable {
    let underlyingQueue: UnderlyingQueue
    let tasks = TrackedTasks()

    /// Makes an object that cancels the tasks that `Task(on:)` starts with it, and the work that it enqueues.
    public init(underlyingQueue: UnderlyingQueue) {
        self.underlyingQueue = underlyingQueue
    }

    /// Cancels all tasks that were started before this call and have not ended. Tasks that have not begun keep their
    /// places, and begin with `Task.isCancelled` true. Later tasks are not cancelled. The same holds for work that was
    /// submitted by ``enqueue(inheritingTaskLocals:_:)``.
    ///
    /// The tasks' cancellation handlers run inside this call.
    /// - Complexity: O(tasks).
    public func cancelTasks() {
        tasks.cancelAll()
    }

    /// The number of tasks that have not ended, for tests.
    var trackedCount: Int { tasks.count }
}

extension CancellableQueue where UnderlyingQueue == FIFOQueue {
    /// Submits `work`, which ``cancelTasks()`` cancels, and returns at once. Otherwise it is
    /// ``FIFOQueue/enqueue(inheritingTaskLocals:_:)`` of the underlying queue.
    ///
    /// The queue's own task runs the work. Once that task is cancelled, another takes its place.
    ///
    /// - Parameters:
    ///   - inheritingTaskLocals: if true, `work` runs in a separate task, and sees the task-local values of the caller.
    ///   - work: the work to submit.
    /// - Returns: false, with a report to ``SyncDiagnostics``, if the queue was shut down or is full. `work` is then
    ///   released without having run.
    /// - Complexity: that of ``FIFOQueue/enqueue(inheritingTaskLocals:_:)``, plus one allocation.
    @discardableResult
    public func enqueue(inheritingTaskLocals: Bool = false, _ work: @escaping @Sendable () async -> Void) -> Bool {
        underlyingQueue.storage.accepts(
            inheriting: inheritingTaskLocals, .cancellable(CancellableWork(work, of: tasks)))
    }
}

extension CancellableQueue: OrderedTaskQueue where UnderlyingQueue: OrderedTaskQueue {
    public var _order: _OrderedTaskOrder<UnderlyingQueue.TaskActor> {
        var order = underlyingQueue._order
        order.tasks = tasks
        return order
    }
}
