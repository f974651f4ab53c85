import CSyncKernel

/// Runs closures concurrently, up to a fixed number at once, and runs barriers alone.
///
/// Closures begin by priority, and within one priority by arrival.
///
/// ```swift
/// let requests = ConcurrentWorkQueue(name: "requests", width: 8)
/// requests.async { handle(request) }
/// requests.async(barrier: true) { reload() }                  // after all before it, before all after it, alone
/// ```
///
/// It is also a task executor: `Task(executorPreference: requests) { … }`.
public final class ConcurrentWorkQueue: WorkQueueBase, @unchecked Sendable {
    /// The largest number of closures that run at once.
    public let width: Int

    /// Makes an empty queue. Never blocks.
    ///
    /// - Parameters:
    ///   - name: a name that messages and reports show. Nil stands for the place where the queue is made.
    ///   - width: the largest number of closures that run at once, 1 to 4096.
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
        name: String? = nil, width: Int = 64, priority: CommandPriority = .normal, capacity: Int? = nil,
        whenFull: OverflowPolicy = .wait, bypassLimit: UInt32? = nil, recorder: EventRecorder? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let label = CreationPlace.label(name, fileID, line)
        self.width = Self.checked(width, label)
        super.init(
            core: WorkQueueCore(
                type: "ConcurrentWorkQueue", label: label, width: width, priority: priority, capacity: capacity,
                whenFull: whenFull, bypassLimit: bypassLimit, recorder: recorder))
    }

    private static func checked(_ width: Int, _ label: String) -> Int {
        guard width >= 1, width <= Int(CSK_WORKQUEUE_WIDTH_MAX) else {
            fatalError("ConcurrentWorkQueue \(label): a width of \(width) is not within 1 to 4096")
        }
        return width
    }

    override func run(_ job: UnownedJob, _ kind: QueuedJob.Kind) {
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
    }
}
