public import Dispatch

/// Runs closures one at a time, by priority, and within one priority by arrival.
///
/// ```swift
/// let log = WorkQueue(name: "log")
/// log.async { write(line) }                                  // returns at once
/// log.async(priority: .high) { write(alarm) }                // before what waits
/// let size = try await log.run { try flush() }               // a task waits, no thread does
/// ```
///
/// It is also an executor for actors and for tasks. Their jobs and the closures share one order; a job's priority is
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
    ///   - capacity: the largest number of work items that wait to begin, 1 to 4 294 967 295. Nil: any number.
    ///   - whenFull: what the queue does with work that comes while it is full. Without a capacity it has no effect.
    ///     With ``OverflowPolicy/dropOldest`` all work has the queue's priority.
    ///   - bypassLimit: waiting work that this many later arrivals have overtaken goes next. 0 means strict priority.
    ///     Nil means 64 for `run` and `sync` that name no priority (`withPriority` names none), so that they don't wait
    ///     for ever behind a stream of others, and strict priority for all other work. A barrier keeps the place of its
    ///     arrival. The order of `dropOldest` is always that of arrival.
    ///   - recorder: a recorder of the queue's last events. Nil costs nothing. One recorder may serve several queues.
    ///   - fileID: where the queue is made.
    ///   - line: the line there.
    public init(
        name: String? = nil, priority: CommandPriority = .normal, capacity: Int? = nil,
        whenFull: OverflowPolicy = .wait, bypassLimit: UInt32? = nil, recorder: EventRecorder? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        super.init(
            core: WorkQueueCore(
                type: "WorkQueue", label: CreationPlace.label(name, fileID, line), width: 1, priority: priority,
                capacity: capacity, whenFull: whenFull, bypassLimit: bypassLimit, recorder: recorder))
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
    /// Returns the priority of work of that quality of service.
    public init(_ qos: DispatchQoS.QoSClass) {
        switch qos {
        case .userInteractive, .userInitiated: self = .high
        case .utility, .background: self = .low
        default: self = .normal
        }
    }
}
