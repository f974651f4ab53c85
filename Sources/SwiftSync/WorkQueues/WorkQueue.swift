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
    ///   - capacity: the largest number of work items that wait to begin, 1 to 4 294 967 295. Nil: any number.
    ///   - whenFull: what the queue does with work that comes while it is full. Without a capacity it does not matter.
    ///     With ``OverflowPolicy/dropOldest`` all work has the queue's priority.
    ///   - bypassLimit: work that waits and was overtaken by this many later arrivals goes next. 0 means strict
    ///     priority. Nil means strict priority for what names a priority and for what is queued without a wait, and 64
    ///     for `run` and `sync` without one: at the queue's own priority, or that of `withPriority`, they don't wait
    ///     for ever behind a stream of others. A barrier keeps the place of its arrival. The order of `dropOldest` is
    ///     that of arrival anyway.
    ///   - recorder: an object that keeps the queue's last events. Nil costs nothing. One recorder may serve several
    ///     queues.
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
    /// The priority that work of that quality of service has.
    public init(_ qos: DispatchQoS.QoSClass) {
        switch qos {
        case .userInteractive, .userInitiated: self = .high
        case .utility, .background: self = .low
        default: self = .normal
        }
    }
}
