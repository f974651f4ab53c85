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
    /// `width` is the largest number of closures that run at once, 1 to 4096. The other parameters are those of
    /// ``WorkQueue/init(name:priority:capacity:whenFull:bypassLimit:recorder:fileID:line:)``.
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
