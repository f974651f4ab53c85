extension EventRecorder {
    /// Something that happened to an item of a queue. A plain value.
    public struct Event: Sendable, Hashable {
        /// The item's tag, or the label of what was queued.
        public let tag: String
        /// Which item of its recorder it is about.
        public let id: UInt64
        /// `CLOCK_MONOTONIC`, in nanoseconds: when the call was made that led to it. Never less than that of the event
        /// before.
        public let nanoseconds: Int64
        /// The system's number of the thread that it happened on.
        public let thread: Int32
        private let storedDepth: UInt32
        /// What happened.
        public let kind: Kind

        /// How many items were in the queue right after, those that run included.
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
    /// What happened to an item.
    public enum Kind: UInt8, Sendable, Hashable, CaseIterable {
        /// It came into the queue.
        case pushed
        /// Its turn came.
        case started
        /// It ended.
        case finished
        /// It was cancelled.
        case cancelled
        /// It was given up: a ``QueueLock`` that nobody has any more, an item that a full queue threw out.
        case dropped
    }

    /// `Task TAG started - accuired lock`: the words that ``EventRecorder/reply()`` has used since they were first
    /// spelt.
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
