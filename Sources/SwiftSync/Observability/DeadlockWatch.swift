import CSyncKernel

/// Finds threads and tasks that wait for each other, and names them.
///
/// While it is on, a thread of the library's own looks whether somebody has waited for a second. If so it follows who
/// waits for whom. A circle of waits that lasts is reported once to ``SyncDiagnostics`` (`deadlock`), by those that are
/// in it alone. It needs no thread of the program, so it works while all of them are stuck:
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
/// What it reports is one: three views in a row have shown the circle, in which each party was in the same wait all the
/// time, and none of these has a deadline. It can end only from outside: by the cancellation of a task, by a change of
/// a semaphore's size, or by a signal of another than the holder to a `PrioritySemaphore(value: 1)` that is used as an
/// event. Until such a signal has come once that semaphore is taken for a lock, so make one that is an event with 0
/// permits.
///
/// It follows `PriorityMutex`, `CriticalSection`, `QueueSafeValue` and `ReadWriteLock` to the thread that holds them;
/// callers of `sync` and of drains of a serial `WorkQueue` to the thread that runs the queue's work; `AsyncMutex` to
/// the task that holds it; and a `PrioritySemaphore` that was made with one permit to whoever took it, unless somebody
/// else has ever signalled it, or took it before the watch was on. Other permits have no owner, and a value of a task
/// (`Task.value`) tells nobody who waits for it; tasks that await a `WorkQueue`, a `ResourcePool` or an ordered queue,
/// and waits for room, are not followed: circles by these are not seen. So queues that stand still are reported as
/// stalled (`queueStalled`), once for the work that holds them up: a serial `WorkQueue` whose work waits in this
/// library for the limit, with work or callers behind it; a `FIFOQueue` whose work has run or been suspended for the
/// limit, and a `TaskQueue` whose task has not released its lock, with work behind it that came while the watch was on.
/// That is no deadlock: the work may end.
///
/// Operations that don't wait cost nothing for it, but those of a semaphore of one permit do; and a wait some 50 ns.
public enum DeadlockWatch {
    /// Begins to watch, or goes on with another limit. The first call maps 4 MiB of address space for the rest of the
    /// process. It never blocks.
    ///
    /// - Parameter limit: how long somebody must have waited before it looks.
    /// - Throws: ``DeadlockWatchError``.
    public static func start(limit: Duration = .seconds(1)) throws(DeadlockWatchError) {
        guard limit > .zero else { throw .limitNotPositive }
        KernelReports.arePassedOn
        let status = csk_deadlock_watch(max(Deadline.nanoseconds(in: limit) ?? Int64.max, 1))
        if status != 0 { throw .outOfResources }
    }

    /// Ends the watching. What was found stays. It never blocks.
    public static func stop() {
        csk_deadlock_end_watching()
    }

    /// Says whether it is on.
    public static var isOn: Bool { csk_deadlock_is_watching() }

    /// How many deadlocks were found so far.
    public static var deadlockCount: Int { Int(csk_deadlock_count()) }

    /// The deadlocks that were found, the last 32 of them, the first one first.
    public static var deadlocks: [Deadlock] {
        let count = csk_deadlock_count(), most = UInt64(CSK_DEADLOCKS_KEPT)
        return ((count > most ? count - most : 0)..<count).compactMap { Deadlock(number: $0) }
    }

    /// The deadlocks that were found, with the call stacks of their parties. It reads the files of the program for the
    /// names of functions, so call it where that may take its time.
    public static func text() -> String {
        unsafe printedText { unsafe csk_deadlock_print($0, $1) }
    }
}

extension DeadlockWatch {
    /// Parties that wait for each other: each for the next, and the last for the first.
    public struct Deadlock: Sendable, Hashable {
        /// The parties; the first 32, if there are more.
        public let parties: [Party]
        /// How many there are.
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
        /// What it waits for.
        public let purpose: InspectionReport.Purpose
        /// What the object is at which it waits.
        public let objectKind: SyncObjectKind
        /// The object's name, or the file and line where it was made; nil where it has neither.
        public let objectName: String?
        /// Where the object is in memory.
        public let objectAddress: UInt

        /// Who waits, and for what, as in `csk-worker (4711) waits for mutex "users"`.
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

/// Why the watch was not begun.
public enum DeadlockWatchError: Error, Sendable, Hashable {
    /// The limit is not more than zero.
    case limitNotPositive
    /// There is no memory, or no thread.
    case outOfResources
}
