/// Cancels all tasks of an ordered queue at once: those that run, and those that wait for their turn.
///
/// ```swift
/// let searches = CancellableQueue(underlyingQueue: FIFOQueue())
/// let search = Task(on: searches) { try await find("cat") }
/// searches.cancelTasks()                                      // the user has typed on
/// Task(on: searches) { try await find("cats") }               // not cancelled
/// ```
///
/// The underlying queue is a ``FIFOQueue`` or an ``ActorQueue``, and gives the order, also with work that is submitted
/// to it directly, which is not cancelled. No member blocks a thread; all may be called from anywhere but signal
/// handlers.
public final class CancellableQueue<UnderlyingQueue: Sendable>: Sendable {
    let underlyingQueue: UnderlyingQueue
    private let tasks = TrackedTasks()

    /// Cancels what is started by `Task(on:)` with this object.
    public init(underlyingQueue: UnderlyingQueue) {
        self.underlyingQueue = underlyingQueue
    }

    /// Cancels all tasks that were started before this call and have not ended. Those that have not begun keep their
    /// places, and begin with `Task.isCancelled` true. Later ones run.
    ///
    /// The tasks' cancellation handlers run in this call.
    /// - Complexity: O(tasks).
    public func cancelTasks() {
        tasks.cancelAll()
    }

    /// Tasks that have not ended, for tests.
    var trackedCount: Int { tasks.count }

    func track() -> TrackedTasks.Entry {
        TrackedTasks.Entry(of: tasks)
    }
}
