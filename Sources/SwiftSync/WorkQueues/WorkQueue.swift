public import Dispatch

/// Runs closures one at a time, in the order of their priorities; closures of equal priority run in the order of
/// arrival.
///
/// ```swift
/// let log = WorkQueue(name: "log")
/// log.async { write(line) }                                  // returns at once
/// log.async(priority: .high) { write(alarm) }                // before what waits
/// let size = try await log.run { try flush() }               // a task waits, no thread does
/// ```
///
/// It is also an executor for actors and for tasks. Their jobs stand in the same order as closures; a job's priority is
/// that of its task.
///
/// ```swift
/// actor Journal {
///     private let queue = WorkQueue(name: "journal")
///     nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
/// }
/// ```
public final class WorkQueue: WorkQueueBase, @unchecked Sendable {
    /// Makes an empty queue. Never blocks.
    ///
    /// - Parameters:
    ///   - name: a name that messages and reports show. Nil stands for the place where the queue is made.
    ///   - priority: the priority of work that names none, and the priority of the queue itself. Workers serve queues
    ///     of priority ``CommandPriority/high`` and above first, and queues of ``CommandPriority/low`` and below last.
    ///   - bypassLimit: work that waits and was overtaken by this many later arrivals goes next. 0 means strict
    ///     priority. Nil means strict priority for what names a priority and for what is queued without a wait, and 64
    ///     for `run` and `sync` without one: at the queue's own priority, or that of `withPriority`, they don't wait
    ///     for ever behind a stream of others. A barrier keeps the place of its arrival. The order of `dropOldest` is
    ///     that of arrival anyway.
    ///   - recorder: an object that keeps the queue's last events. Nil costs nothing. One recorder may serve several
    ///     queues.
    ///   - fileID: where the queue is made, which is its ``WorkQueueBase/name`` where it has no other.
    ///   - line: the line there.
    public convenience init(
        name: String? = nil, priority: CommandPriority = .normal, bypassLimit: UInt32? = nil,
        recorder: EventRecorder? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(CreationPlace.label(name, fileID, line), priority, bypassLimit: bypassLimit, recorder: recorder)
    }

    /// Makes an empty queue in which at most `capacity` work items may wait to begin. Never blocks. A nil `name` stands
    /// for the place where the queue is made. The rest is as in the form with a `label`.
    public convenience init(
        name: String? = nil, priority: CommandPriority = .normal, capacity: Int?, whenFull: OverflowPolicy,
        bypassLimit: UInt32? = nil, recorder: EventRecorder? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(
            CreationPlace.label(name, fileID, line), priority, capacity, whenFull, bypassLimit: bypassLimit,
            recorder: recorder)
    }

    /// Makes an empty queue whose priority comes from a quality of service, as the form with a `label` does. Never
    /// blocks. A nil `name` stands for the place where the queue is made.
    public convenience init(
        name: String? = nil, qos: DispatchQoS.QoSClass, bypassLimit: UInt32? = nil, recorder: EventRecorder? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(
            CreationPlace.label(name, fileID, line), CommandPriority(qos), bypassLimit: bypassLimit, recorder: recorder)
    }

    /// Makes an empty queue. Never blocks.
    ///
    /// - Parameters:
    ///   - label: the earlier word for a name.
    ///   - priority: the priority of work that names none, and the priority of the queue itself. Workers serve queues
    ///     of priority ``CommandPriority/high`` and above first, and queues of ``CommandPriority/low`` and below last.
    ///   - recorder: an object that keeps the queue's last events. Nil costs nothing. One recorder may serve several
    ///     queues.
    public convenience init(label: String, priority: CommandPriority = .normal, recorder: EventRecorder? = nil) {
        self.init(label, priority, bypassLimit: nil, recorder: recorder)
    }

    private init(
        _ label: String, _ priority: CommandPriority, _ capacity: Int? = nil, _ whenFull: OverflowPolicy = .wait,
        bypassLimit: UInt32?, recorder: EventRecorder?
    ) {
        super.init(
            core: WorkQueueCore(
                type: "WorkQueue", label: label, width: 1, priority: priority, capacity: capacity, whenFull: whenFull,
                bypassLimit: bypassLimit, recorder: recorder))
    }

    /// Makes an empty queue in which at most `capacity` work items may wait to begin. Never blocks.
    ///
    /// - Parameters:
    ///   - label: a name that messages show.
    ///   - priority: as in the form without a capacity. With a capacity and `dropOldest`, all work has it.
    ///   - capacity: the largest number of work items that wait to begin, 1 to 4 294 967 295. Nil: any number.
    ///   - whenFull: what the queue does with work that comes while it is full. Without a capacity it does not matter.
    ///   - recorder: an object that keeps the queue's last events. Nil costs nothing.
    public convenience init(
        label: String, priority: CommandPriority = .normal, capacity: Int?, whenFull: OverflowPolicy,
        recorder: EventRecorder? = nil
    ) {
        self.init(label, priority, capacity, whenFull, bypassLimit: nil, recorder: recorder)
    }

    /// Makes an empty queue whose priority comes from a quality of service. User-interactive and user-initiated are
    /// ``CommandPriority/high``; utility and background are ``CommandPriority/low``. Never blocks.
    public convenience init(label: String, qos: DispatchQoS.QoSClass, recorder: EventRecorder? = nil) {
        self.init(label: label, priority: CommandPriority(qos), recorder: recorder)
    }

    /// Makes an empty queue with a capacity, whose priority comes from a quality of service. Never blocks.
    public convenience init(
        label: String, qos: DispatchQoS.QoSClass, capacity: Int?, whenFull: OverflowPolicy,
        recorder: EventRecorder? = nil
    ) {
        self.init(
            label: label, priority: CommandPriority(qos), capacity: capacity, whenFull: whenFull, recorder: recorder)
    }

    override func run(_ job: UnownedJob, _ kind: QueuedJob.Kind) {
        switch kind {
        case .ofActor:
            unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        case .ofTask:
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

extension CommandPriority {
    /// The priority that work of that quality of service has.
    public init(_ qos: DispatchQoS.QoSClass) {
        switch qos {
        case .userInteractive, .userInitiated: self = .high
        case .utility, .background: self = .low
        default: self = .normal
        }
    }
}
