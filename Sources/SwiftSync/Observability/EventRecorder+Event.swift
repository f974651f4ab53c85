extension EventRecorder {
    /// Something that happened to an item of a queue. It is a plain value.
    public struct Event: Sendable, Hashable {
        /// The item's tag, or the label of what was queued.
        public let tag: String
        /// The number of the item, which no other item of its recorder has.
        public let id: UInt64
        /// The time of the call that caused the event, by `CLOCK_MONOTONIC`, in nanoseconds. It never decreases from
        /// one event to the next.
        public let nanoseconds: Int64
        /// The system's number of the thread on which it happened.
        public let thread: Int32
        private let storedDepth: UInt32
        /// The kind of the event.
        public let kind: Kind

        /// The number of items in the queue right after the event, including those that run.
        public var depth: Int { Int(storedDepth) }

        package init(_ kind: Kind, id: UInt64, tag: String, nanoseconds: Int64, thread: Int32, depth: UInt32) {
            self.kind = kind
            self.id = id
            self.tag = tag
            self.nanoseconds = nanoseconds
            self.thread = thread
            storedDepth = depth
        }
    }
}

extension EventRecorder.Event {
    /// A kind of event of an item.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// The item entered the queue.
        case pushed
        /// The item's turn came.
        case started
        /// The item ended.
        case finished
        /// The item was cancelled.
        case cancelled
        /// The item was given up: the last reference to its ``QueueLock`` is gone, or a full queue dropped the item.
        case dropped
    }

    /// The words of ``EventRecorder/reply()``, with their original spelling, for example `Task TAG started - accuired
    /// lock`.
    var text: String {
        switch kind {
        case .pushed: "Task \(tag) pushed to queue"
        case .started: "Task \(tag) started - accuired lock"
        case .finished: "Task \(tag) finished - released lock"
        case .cancelled: "Task \(tag) cancelled"
        case .dropped: "Task \(tag) dropped"
        }
    }
}
