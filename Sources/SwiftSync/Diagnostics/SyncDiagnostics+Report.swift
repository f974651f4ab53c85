extension SyncDiagnostics {
    /// One case of misuse. It is a plain value: nothing here blocks.
    public struct Report: Sendable, Hashable, CustomStringConvertible {
        /// The kind of the misuse.
        public let kind: Kind
        /// The object: its type, and its label if it has one.
        public let subject: String
        /// A sentence for people: what happened, and what the library did.
        public let message: String

        package init(kind: Kind, subject: String, message: String) {
            self.kind = kind
            self.subject = subject
            self.message = message
        }

        /// `kind: subject: message`, on one line whatever the parts contain.
        public var description: String {
            let text = "\(kind.rawValue): \(subject): \(message)"
            return text.contains(where: \.isNewline) ? String(text.map { $0.isNewline ? " " : $0 }) : text
        }
    }
}

extension SyncDiagnostics.Report {
    /// A kind of misuse. Later versions may report more kinds than those named here.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The name of the kind, for logs and metrics.
        public let rawValue: String

        /// Makes a kind of that name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A manual completion was called again after it had counted.
        public static let completionCalledTwice = Kind(rawValue: "completion called twice")
        /// The last copy of a manual completion was released without a call. The section was completed.
        public static let completionDropped = Kind(rawValue: "completion dropped")
        /// A lock was released again after it had been released; or a scope could not return its permits, since others
        /// had signalled permits that they had not taken.
        public static let releasedTwice = Kind(rawValue: "released twice")
        /// The last copy of a lock was released without a release of the lock. Its section or task was ended.
        public static let lockDropped = Kind(rawValue: "lock dropped")
        /// A timeout was not a number.
        public static let invalidTimeout = Kind(rawValue: "invalid timeout")
        /// Work came after a close or a shutdown, and was refused.
        public static let refusedAfterShutdown = Kind(rawValue: "refused after shutdown")
        /// Work came to a full queue and was refused. The queue's policy is to refuse; or to wait, and the call can't
        /// wait (`enqueue` of an ordered queue); or to drop the oldest, and no waiting work can be dropped.
        public static let refusedWhenFull = Kind(rawValue: "refused when full")
        /// A write has waited for a second or more for a read that has not ended.
        public static let longRead = Kind(rawValue: "long read")
        /// The factory of a ``ResourcePool`` failed, or took too long, and no waiter could get the error.
        public static let resourceNotMade = Kind(rawValue: "resource not made")
        /// The system gave no memory or no thread for a request. The request was refused.
        public static let outOfResources = Kind(rawValue: "out of resources")
        /// An operation would have waited for its own thread.
        public static let wouldDeadlock = Kind(rawValue: "would deadlock")
        /// A lock was released by a thread that does not hold it.
        public static let notOwner = Kind(rawValue: "not the owner")
        /// A thread ended inside a lock's section, and the lock stays taken for good. The first waiting thread in order
        /// detects this, once it has waited for a second. It is reported once for the lock. A wait with a shorter
        /// timeout does not check.
        public static let holderEnded = Kind(rawValue: "holder ended")
        /// Work waits, no worker takes any, and no further worker can be started: the limit is reached, or the system
        /// refuses. It is reported for up to four queues, after a second, and then after two, four, up to 64 more.
        public static let workersExhausted = Kind(rawValue: "workers exhausted")
        /// The library's threads could not be given the niceness that was set when the library was loaded. The thread
        /// that used the library first was nicer, and lowering the niceness needs a privilege. It is reported once.
        public static let nicenessNotRestored = Kind(rawValue: "niceness not restored")
        /// Work ended the thread on which it ran, by `pthread_exit`. Its section was ended, and the thread is replaced.
        /// The subject is the work's queue, or the worker if the work belonged to no queue or the queue has no label.
        public static let workEndedThread = Kind(rawValue: "work ended its thread")
        /// Locks were taken in an order that, with the orders seen before, is a circle: see ``LockOrder``.
        public static let lockOrder = Kind(rawValue: "lock order")
        /// Threads or tasks wait for each other for good: see ``DeadlockWatch``.
        public static let deadlock = Kind(rawValue: "deadlock")
        /// Work or callers wait for a serial queue whose work itself waits for long: see ``DeadlockWatch``.
        public static let queueStalled = Kind(rawValue: "queue stalled")
        /// A thread that must not block has waited for 100 ms: a task's, or one that was declared so. See
        /// ``SyncDiagnostics/watchesTasks(_:)``.
        public static let longWait = Kind(rawValue: "long wait")
        /// Versions and entries that `Snapshot` and `SnapshotDictionary` have replaced wait for a read that has lasted
        /// for a second, so memory grows. The message names the thread that reads. It is reported once more when those
        /// reads have ended.
        public static let memoryWaits = Kind(rawValue: "memory waits")
        /// An existing object was asked for with another configuration.
        public static let configurationMismatch = Kind(rawValue: "configuration mismatch")
    }
}
