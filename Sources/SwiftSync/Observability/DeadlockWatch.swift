import CSyncKernel

/// Detects threads and tasks that wait for each other, and reports their names.
///
/// While it is on, a thread of the library checks for waits that last a second. From such a wait it follows the chain
/// of waiters and holders. A circle that lasts is reported once to ``SyncDiagnostics`` (`deadlock`), with only the
/// parties in it. It needs no thread of the program, so it works while all of them are stuck:
///
/// ```swift
/// try DeadlockWatch.start()                   // or CSK_DEADLOCK=1 in the environment
/// // what the program does
/// for deadlock in DeadlockWatch.deadlocks {
///     for party in deadlock.parties { print(party) }
/// }
/// print(DeadlockWatch.text())                 // the same, with call stacks
/// ```
///
/// A reported circle is a deadlock: three consecutive views have shown it, each party was in the same wait all the
/// time, and none of the waits has a deadline. It can end only from outside: by the cancellation of a task, by a change
/// of a semaphore's size, or, at a `PrioritySemaphore(value: 1)` that is used as an event, by a signal that does not
/// come from the holder. Until the first such signal that semaphore is treated as a lock, so make an event with 0
/// permits.
///
/// It follows `PriorityMutex`, `CriticalSection`, `QueueSafeValue` and `ReadWriteLock` to the thread that holds them;
/// callers of `sync` and of drains of a serial `WorkQueue` to the thread that runs the queue's work; `AsyncMutex` to
/// the task that holds it; and a `PrioritySemaphore` that was made with one permit to the thread or task that took it,
/// unless another has ever signalled it, or the permit was taken before the watch was on. It does not detect circles
/// through other waits: other permits have no owner, the value of a task (`Task.value`) does not record its waiters,
/// and it does not follow waits for room, or tasks that await a `WorkQueue`, a `ResourcePool` or an ordered queue.
/// Instead, queues that make no progress are reported as stalled (`queueStalled`), once for the work that holds them
/// up: a serial `WorkQueue` whose work waits in this library for the limit, with work or callers behind it; a
/// `FIFOQueue` whose work has run or been suspended for the limit, and a `TaskQueue` whose task has not released its
/// lock, with work behind it that came while the watch was on. That is no deadlock: the work may end.
///
/// Operations that don't wait cost no more, except those of a semaphore of one permit. A wait costs some 50 ns more.
public enum DeadlockWatch {
    /// Starts the watch, or continues it with another limit. The first call maps 4 MiB of address space for the rest of
    /// the process. It never blocks.
    ///
    /// - Parameter limit: how long a wait must have lasted before it is checked.
    /// - Throws: ``ObservationError``.
    public static func start(limit: Duration = .seconds(1)) throws(ObservationError) {
        guard limit > .zero else { throw .limitNotPositive }
        KernelReports.arePassedOn
        let status = csk_deadlock_watch(max(Deadline.nanoseconds(in: limit) ?? Int64.max, 1))
        if status != 0 { throw .outOfResources }
    }

    /// Stops the watch. The deadlocks found stay. It never blocks.
    public static func stop() {
        csk_deadlock_end_watching()
    }

    /// True while it is on.
    public static var isOn: Bool { csk_deadlock_is_watching() }

    /// The number of deadlocks found so far.
    public static var deadlockCount: Int { Int(csk_deadlock_count()) }

    /// The last 32 deadlocks found, the oldest first.
    public static var deadlocks: [Deadlock] {
        let count = csk_deadlock_count(), most = UInt64(CSK_DEADLOCKS_KEPT)
        return ((count > most ? count - most : 0)..<count).compactMap { Deadlock(number: $0) }
    }

    /// Returns the deadlocks found, with the call stacks of their parties. It reads the files of the program for the
    /// names of functions, so call it where latency does not matter.
    public static func text() -> String {
        unsafe printedText { unsafe csk_deadlock_print($0, $1) }
    }
}

extension DeadlockWatch {
    /// A circle of parties: each waits for the next, and the last for the first.
    public struct Deadlock: Sendable, Hashable {
        /// The parties; the first 32, if there are more.
        public let parties: [Party]
        /// The number of parties.
        public let partyCount: Int
    }

    /// A thread or a task that waits.
    public struct Party: Sendable, Hashable, CustomStringConvertible {
        /// The thread; nil for a task that waits while it is suspended.
        public let thread: InspectionReport.Thread?
        /// The address of the task that waits, or that runs on the thread; nil if there is none, or it is not known.
        public let taskAddress: UInt?
        /// The name of a task that waits while it is suspended (`Task(name:)`); nil where it has none, where it is not
        /// known, and for a task that runs on the thread.
        public let taskName: String?
        /// The purpose of the wait.
        public let purpose: InspectionReport.Purpose
        /// The kind of the object at which it waits.
        public let objectKind: SyncObjectKind
        /// The object's name, or the file and line where it was made; nil where it has neither.
        public let objectName: String?
        /// The object's address.
        public let objectAddress: UInt

        /// The waiter and what it waits for, as in `csk-worker (4711) waits for mutex "users"`.
        public var description: String {
            let quoted = taskName.map { " \"\($0)\"" } ?? ""
            let task = taskAddress.map { "task 0x\(String($0, radix: 16))\(quoted)" }
            let who = [thread?.description, task].compactMap { $0 }.joined(separator: ", ")
            let object = objectName.map { "\"\($0)\"" } ?? "at 0x\(String(objectAddress, radix: 16))"
            return "\(who.isEmpty ? "a callback" : who) waits for \(objectKind.rawValue) \(object)"
        }
    }
}

extension DeadlockWatch.Deadlock {
    fileprivate init?(number: UInt64) {
        let room = Int(CSK_DEADLOCK_PARTIES)
        let parties = UnsafeMutableBufferPointer<csk_deadlock_party_t>.allocate(capacity: room)
        defer { unsafe parties.deallocate() }
        let count = unsafe Int(csk_deadlock_parties(number, parties.baseAddress, UInt32(room)))
        if count == 0 { return nil }
        unsafe self.init(
            parties: parties[..<min(count, room)].map { unsafe DeadlockWatch.Party($0) }, partyCount: count)
    }
}

extension DeadlockWatch.Party {
    fileprivate init(_ party: csk_deadlock_party_t) {
        unsafe self.init(
            thread: party.thread.id == 0 ? nil : InspectionReport.Thread(party.thread),
            taskAddress: party.task == 0 ? nil : UInt(party.task), taskName: fieldText(party.task_name),
            purpose: InspectionReport.Purpose(party.waits_for, permits: 1),
            objectKind: SyncObjectKind(party.object_kind),
            objectName: fieldText(party.name), objectAddress: UInt(bitPattern: party.object))
    }
}
