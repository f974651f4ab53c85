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
/// Whoever has it may release it, on any thread. If nobody has it any more and it was not released, its task ends at
/// that moment, which is reported to ``SyncDiagnostics``: a queue never hangs on a lock that is lost. One that is kept
/// but never released keeps its queue busy for good; other queues are not affected.
public final class QueueLock: @unchecked Sendable {
    let queue: TaskQueue
    let tag: String
    // What follows is guarded by the queue's lock. The task that waits belongs to the thread that starts it from then
    // on; one that starts at once is never stored.
    /// Retained.
    @exclusivity(unchecked) var next: Unmanaged<QueueLock>?
    @exclusivity(unchecked) var id: UInt64 = 0
    @exclusivity(unchecked) var isReleased = false
    @exclusivity(unchecked) private var task: any TaskQueue.Task = NoTask()

    init(of queue: TaskQueue, tag: String) {
        self.queue = queue
        self.tag = tag
    }

    func store(_ task: consuming any TaskQueue.Task) {
        swap(&self.task, &task)
    }

    /// Once: a task that holds its own lock must not be held by it.
    func takeTask() -> any TaskQueue.Task {
        var task: any TaskQueue.Task = NoTask()
        swap(&self.task, &task)
        return task
    }

    /// Stands where no task is: cheaper to exchange than an optional.
    private struct NoTask: TaskQueue.Task {
        var tag: String { "" }
        func execute(queueLock: QueueLock) {}
    }

    deinit {
        if !isReleased { queue.end(self, .dropped) }
    }

    /// Ends the task. The queue's next task starts before this returns, on this thread; if this thread is just inside
    /// an `execute` of the same queue, the next starts as soon as that returns, so that any number of tasks needs no
    /// stack.
    ///
    /// May be called from any thread, and from inside `execute`. Never waits for a task that another thread runs. A
    /// second call does nothing and is reported to ``SyncDiagnostics``.
    public func release() {
        queue.end(self, .finished)
    }
}
