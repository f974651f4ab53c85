public import Dispatch

/// Runs closures one at a time, by priority and in the order they came.
///
/// ```swift
/// let log = WorkQueue(label: "log")
/// log.async { write(line) }                                  // returns at once
/// log.async(priority: .high) { write(alarm) }                // before what waits
/// let size = try await log.run { try flush() }               // a task waits, no thread does
/// ```
///
/// It is an actor's executor too, and a task's: their jobs stand in the same order, by the priority of their task.
///
/// ```swift
/// actor Journal {
///     private let queue = WorkQueue(label: "journal")
///     nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
/// }
/// ```
public final class WorkQueue: WorkQueueBase, @unchecked Sendable {
    /// Makes a queue without work. Never blocks.
    ///
    /// - Parameters:
    ///   - label: a name for messages.
    ///   - priority: of work that names none; and of the queue: workers serve queues of priority
    ///     ``CommandPriority/high`` and above first, of ``CommandPriority/low`` and below last.
    ///   - bound: how many works may wait; nil: any number.
    ///   - recorder: keeps the queue's last events; nil costs nothing. One recorder may serve several queues.
    public init(label: String, priority: CommandPriority = .normal, bound: WorkQueueBound? = nil, recorder: EventRecorder? = nil) {
        super.init(core: WorkQueueCore(type: "WorkQueue", label: label, width: 1, priority: priority, bound: bound, recorder: recorder))
    }

    /// The same with a quality of service: user-interactive and user-initiated are ``CommandPriority/high``, utility
    /// and background ``CommandPriority/low``.
    public convenience init(label: String, qos: DispatchQoS.QoSClass, bound: WorkQueueBound? = nil, recorder: EventRecorder? = nil) {
        self.init(label: label, priority: CommandPriority(qos), bound: bound, recorder: recorder)
    }

    override func run(_ job: UnownedJob, _ kind: QueuedJob.Kind) {
        switch kind {
        case .ofActor:
            job.runSynchronously(on: asUnownedSerialExecutor())
        case .ofTask:
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

extension CommandPriority {
    /// The priority of work with that quality of service.
    public init(_ qos: DispatchQoS.QoSClass) {
        switch qos {
        case .userInteractive, .userInitiated: self = .high
        case .utility, .background: self = .low
        default: self = .normal
        }
    }
}
