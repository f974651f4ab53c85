import Synchronization

extension TaskQueue {
    /// A change of a queue, which ``observe(_:)`` reports. `id` tells tasks with the same tag apart; it is the `id` of
    /// the recorder's events.
    public enum Change: Sendable, Hashable {
        /// A task was pushed to the queue.
        case pushed(tag: String, id: UInt64)
        /// The queue was idle and has a task now.
        case running
        /// A task has the queue's lock; its `execute` runs right after.
        case started(tag: String, id: UInt64)
        /// A task has released the lock.
        case finished(tag: String, id: UInt64)
        /// The last reference to a task's lock went away without a release, which ended the task.
        case dropped(tag: String, id: UInt64)
        /// No task is left.
        case idle

        init(_ kind: EventRecorder.Event.Kind, _ lock: QueueLock) {
            switch kind {
            case .pushed: self = .pushed(tag: lock.tag, id: lock.id)
            case .started: self = .started(tag: lock.tag, id: lock.id)
            case .dropped: self = .dropped(tag: lock.tag, id: lock.id)
            case .finished, .cancelled: self = .finished(tag: lock.tag, id: lock.id)
            }
        }
    }

    /// Calls `handler` for each change from now on, until the observation ends.
    ///
    /// ```swift
    /// let observation = queue.observe { change in
    ///     if change == .idle { print("nothing left to do") }
    /// }
    /// observation.end()
    /// ```
    ///
    /// The calls come in the order of the changes, one at a time, so the last call gives the queue's present state.
    /// Threads that push to the queue or end its tasks make the calls. They hold no lock meanwhile, and make the calls
    /// right after the change, before they execute a task. But while one thread is in a handler, other threads leave
    /// their calls to it and go on. A handler may use the queue.
    ///
    /// If handlers are slower than the changes, pushes wait: once 1024 pushes and ends of tasks are undelivered, a
    /// thread that pushes waits until half of them are delivered. It waits for 100 ms at most, so a handler that waits
    /// for such a thread, or never returns, slows pushes down and hangs nothing. Ends of tasks never wait.
    ///
    /// Releasing the observation does not end it. O(handlers). While the queue is observed, each push and each end of a
    /// task makes two more allocations; otherwise it makes none.
    public func observe(_ handler: @escaping @Sendable (Change) -> Void) -> Observation {
        let observer = TaskQueueObserver(handler)
        changes.replaceObservers { $0 + [observer] }
        return Observation(of: self, observer)
    }

    /// The registration of a handler at a queue. It may be used from any thread.
    public final class Observation: Sendable {
        private let queue: TaskQueue
        /// Nil once the observation was ended.
        private let observer: Mutex<TaskQueueObserver?>

        init(of queue: TaskQueue, _ observer: TaskQueueObserver) {
            self.queue = queue
            self.observer = Mutex(observer)
        }

        /// Ends the observation: the handler is not called for changes from now on. Calls for earlier changes may still
        /// be made, on other threads. Never blocks. A second call does nothing.
        ///
        /// The handler is released before this returns, or after the calls for earlier changes. So an object that the
        /// handler captures may keep the observation.
        public func end() {
            // The reference is released at the end of the call, under no lock.
            guard let observer = observer.withLock({ $0.take() }) else { return }
            queue.changes.replaceObservers { $0.filter { $0 !== observer } }
        }
    }
}

/// A handler. The queue's list of observers, the batches that are not delivered yet and, until its end, the observation
/// keep it; the last of them releases it, outside of the queue's lock.
final class TaskQueueObserver: Sendable {
    let handler: @Sendable (TaskQueue.Change) -> Void

    init(_ handler: @escaping @Sendable (TaskQueue.Change) -> Void) {
        self.handler = handler
    }
}
