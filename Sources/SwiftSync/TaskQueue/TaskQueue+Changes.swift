extension TaskQueue {
    /// What happens to a queue, for ``observe(_:)``. `id` tells tasks with the same tag apart, and is that of the
    /// recorder's events.
    public enum Change: Sendable, Hashable {
        /// A task came into the queue.
        case pushed(tag: String, id: UInt64)
        /// The queue was idle and has a task now.
        case running
        /// A task has the queue's lock; its `execute` runs right after.
        case started(tag: String, id: UInt64)
        /// A task has released the lock.
        case finished(tag: String, id: UInt64)
        /// The last copy of a task's lock went away, which ended the task.
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
    /// The calls come in the order of the changes, one at a time, so the last one tells what is the case. They are made
    /// by threads that push to the queue or end its tasks, without a lock, right after the change and before that
    /// thread executes a task; but while one thread is in a handler, others leave the calls for their changes to it and
    /// go on. A handler may use the queue. Where handlers are slower than what happens, a thread that pushes waits once
    /// 1024 pushes and ends of tasks are yet to be told, until half of them are: for 100 ms at most, so that a handler
    /// that waits for such a thread, or never comes back, slows pushes down and hangs nothing. Ends of tasks never
    /// wait. Dropping the observation does not end it. O(handlers); two allocations more for each push and each end of
    /// a task while somebody observes, and none otherwise.
    public func observe(_ handler: @escaping @Sendable (Change) -> Void) -> Observation {
        let observation = Observation(of: self, handler)
        changes.replaceObservers { $0 + [observation] }
        return observation
    }

    /// A handler's place at a queue. Safe from any thread.
    public final class Observation: Sendable {
        private let queue: TaskQueue
        let handler: @Sendable (Change) -> Void

        init(of queue: TaskQueue, _ handler: @escaping @Sendable (Change) -> Void) {
            self.queue = queue
            self.handler = handler
        }

        /// No change from now on is handed to the handler. Calls for earlier ones may still be made, on other threads.
        /// Never blocks; a second call does nothing.
        public func end() {
            queue.changes.replaceObservers { $0.filter { $0 !== self } }
        }
    }
}
