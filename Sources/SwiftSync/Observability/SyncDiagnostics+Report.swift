extension SyncDiagnostics {
    /// One case of misuse. A plain value: nothing here blocks.
    public struct Report: Sendable, Hashable, CustomStringConvertible {
        /// What went wrong.
        public let kind: Kind
        /// Where: the type, and the label of the object when it has one.
        public let subject: String
        /// What happened and what the library did about it, in a sentence for people.
        public let message: String

        package init(kind: Kind, subject: String, message: String) {
            self.kind = kind
            self.subject = subject
            self.message = message
        }

        /// `kind: subject: message`, on one line whatever the parts hold.
        public var description: String {
            let text = "\(kind.rawValue): \(subject): \(message)"
            return text.contains(where: \.isNewline) ? String(text.map { $0.isNewline ? " " : $0 }) : text
        }
    }
}

extension SyncDiagnostics.Report {
    /// What went wrong. Later versions may report more kinds than those named here.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The name of the kind, for logs and metrics.
        public let rawValue: String

        /// A kind of that name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A manual completion was called again after it had counted.
        public static let completionCalledTwice = Kind(rawValue: "completion called twice")
        /// The last copy of a manual completion went away without a call; the section was completed.
        public static let completionDropped = Kind(rawValue: "completion dropped")
        /// A lock was released again after it had been released.
        public static let releasedTwice = Kind(rawValue: "released twice")
        /// The last copy of a lock went away without a release; its section or task was ended.
        public static let lockDropped = Kind(rawValue: "lock dropped")
        /// A timeout was not a number.
        public static let invalidTimeout = Kind(rawValue: "invalid timeout")
        /// Work came after a close or a shutdown, and was refused.
        public static let refusedAfterClose = Kind(rawValue: "refused after close")
        /// Work came to a full queue and was refused: its policy is to refuse, or to wait where the call can't
        /// (`enqueue` of an ordered queue), or to drop the oldest where nothing that waits can be dropped.
        public static let refusedWhenFull = Kind(rawValue: "refused when full")
        /// A write has waited for a second, and more, for a read that goes on.
        public static let longRead = Kind(rawValue: "long read")
        /// The system gave no memory or no thread for something that was asked for; it was refused.
        public static let outOfResources = Kind(rawValue: "out of resources")
        /// An operation would have waited for its own thread.
        public static let wouldDeadlock = Kind(rawValue: "would deadlock")
        /// A lock was released by a thread that does not hold it.
        public static let notOwner = Kind(rawValue: "not the owner")
        /// A thread ended inside a lock's section, which stays taken for good. Found by the first in order of the
        /// threads that wait, once it has waited for a second, and reported once for the lock; a wait with a shorter
        /// timeout does not look.
        public static let holderEnded = Kind(rawValue: "holder ended")
        /// Work waits, no worker takes any, and no further worker can be started: there are as many as may be, or the
        /// system refuses. Reported for up to four queues, after a second, and then after two, four, up to 64 more.
        public static let workersExhausted = Kind(rawValue: "workers exhausted")
        /// The library's threads could not be given the niceness that stood when it was loaded: the thread that used it
        /// first was nicer, and less may only be asked for with a privilege. Reported once.
        public static let nicenessNotRestored = Kind(rawValue: "niceness not restored")
        /// Work ended the thread on which it ran, by `pthread_exit`; its section was ended, and the thread is replaced. The
        /// subject is the work's queue, or the worker where it was none's or the queue has no label.
        public static let workEndedThread = Kind(rawValue: "work ended its thread")
        /// An object that exists was asked for with another configuration.
        public static let configurationMismatch = Kind(rawValue: "configuration mismatch")
    }
}
