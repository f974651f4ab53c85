/// A task's hold on its ``TaskQueue``: the queue's next task starts when it is released.
///
/// ```swift
/// struct Refresh: TaskQueue.Task {
///     let tag = "refresh"
///     func execute(queueLock: QueueLock) {
///         DispatchQueue.global().async { queueLock.release() }    // the task lasts until here
///     }
/// }
/// ```
///
/// Any holder of a reference may release it, on any thread. If the last reference to an unreleased lock goes away, the
/// lock's task ends at that moment, and this is reported to ``SyncDiagnostics``: a queue never hangs on a lock that is
/// lost. A lock that is kept but never released keeps its queue busy for good; other queues are not affected.
@safe
public final class QueueLock: @unchecked Sendable {
    let queue: TaskQueue
    let tag: String
    // The queue's lock guards the following fields. A waiting task is owned by the thread that starts it, from its
    // start on. A task that starts at once is never stored.
    /// The lock of the next waiting task, retained.
    @safe @exclusivity(unchecked) var next: Unmanaged<QueueLock>?
    @safe @exclusivity(unchecked) var id: UInt64 = 0
    @safe @exclusivity(unchecked) var isReleased = false
    /// The task's wait as reported to the kernel, while waits are observed.
    @safe @exclusivity(unchecked) var told: ToldTurn?
    @safe @exclusivity(unchecked) private var task: any TaskQueue.Task = NoTask()

    init(of queue: TaskQueue, tag: String) {
        self.queue = queue
        self.tag = tag
    }

    func store(_ task: consuming any TaskQueue.Task) {
        swap(&self.task, &task)
    }

    /// Takes the task out, once. The lock must not hold a task that holds the lock.
    func takeTask() -> any TaskQueue.Task {
        var task: any TaskQueue.Task = NoTask()
        swap(&self.task, &task)
        return task
    }

    /// The value of `task` when there is no task. It is cheaper to exchange than an optional.
    private struct NoTask: TaskQueue.Task {
        var tag: String { "" }
        func execute(queueLock: QueueLock) {}
    }

    deinit {
        if !isReleased { queue.end(self, .dropped) }
    }

    /// Ends the task. The queue's next task starts on this thread before the call returns. If this thread is inside an
    /// `execute` of the same queue, the next task starts as soon as that `execute` returns; so any number of tasks
    /// needs no stack.
    ///
    /// It may be called from any thread, and from inside `execute`. It never waits for a task that another thread runs.
    /// A second call does nothing and is reported to ``SyncDiagnostics``.
    public func release() {
        queue.end(self, .finished)
    }
}
