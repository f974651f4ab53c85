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
/// Whoever has it may release it, on any thread. If nobody has it any more and it was not released, its task ends at that moment, which is
/// reported to ``SyncDiagnostics``: a queue never hangs on a lock that is lost. One that is kept but never released keeps its queue busy
/// for good; other queues are not affected.
public final class QueueLock: @unchecked Sendable {
    let queue: TaskQueue
    let tag: String
    // What follows is guarded by the queue's lock, but `task`: it belongs to the thread that pushes until then, and to the one that starts it
    // from then on.
    @exclusivity(unchecked) var task: (any TaskQueue.Task)?
    @exclusivity(unchecked) var next: QueueLock?
    @exclusivity(unchecked) var id: UInt64 = 0
    @exclusivity(unchecked) var isReleased = false

    init(of queue: TaskQueue, for task: any TaskQueue.Task, tag: String) {
        self.queue = queue
        self.task = task
        self.tag = tag
    }

    deinit {
        if !isReleased { queue.end(self, .dropped) }
    }

    /// Ends the task. The queue's next task starts before this returns, on this thread; if this thread is just inside an `execute` of the
    /// same queue, the next starts as soon as that returns, so that any number of tasks needs no stack.
    ///
    /// May be called from any thread, and from inside `execute`. Never waits for a task that another thread runs. A second call does nothing and is
    /// reported to ``SyncDiagnostics``.
    public func release() {
        queue.end(self, .finished)
    }
}
