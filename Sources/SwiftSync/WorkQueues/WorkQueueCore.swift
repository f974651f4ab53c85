import CSyncKernel

/// The kernel's queue, and the operations on it that both kinds of queue share.
@safe
struct WorkQueueCore: @unchecked Sendable {
    @safe let queue: UnsafeMutablePointer<csk_workqueue_t>
    let label: String
    let type: StaticString
    /// Whether the bypass limit applies to all work, not only to waits without a named priority.
    let isLimited: Bool
    private let slot: RecorderSlot

    /// Without a capacity, any number of work items may wait, and the policy has no effect.
    init(
        type: StaticString, label: String, width: Int, priority: CommandPriority, capacity: Int? = nil,
        whenFull: OverflowPolicy = .wait, bypassLimit: UInt32? = nil, recorder: EventRecorder?
    ) {
        let places = UInt32(exactly: capacity ?? 0) ?? 0
        if let capacity, places == 0 {
            fatalError("\(type) \(label): a capacity of \(capacity) is not within 1 to 4 294 967 295")
        }
        // The kernel rejects the dropping policy without a bound.
        let whenFull = capacity == nil ? .wait : whenFull
        KernelReports.arePassedOn
        isLimited = (bypassLimit ?? 0) != 0
        slot = RecorderSlot(recorder, staysFilled: isLimited)
        self.type = type
        self.label = label
        var attributes = unsafe csk_workqueue_attr_t(
            size: 0, width: UInt32(clamping: max(1, min(width, Int(CSK_WORKQUEUE_WIDTH_MAX)))), capacity: places,
            when_full: whenFull.ofKernel, priority: priority.rawValue,
            bypass_limit: BypassLimit.ofKernel(bypassLimit), name: nil)
        var made: UnsafeMutablePointer<csk_workqueue_t>?
        let status = unsafe label.withCString { name in
            unsafe attributes.name = name.pointee == 0 ? nil : name
            return unsafe csk_workqueue_create(&made, &attributes)
        }
        guard let made = unsafe made else { fatalError("\(type) \(label): \(statusText(status))") }
        queue = unsafe made
    }

    var recorder: EventRecorder? {
        @inline(__always) get { slot.recorder }
        nonmutating set { slot.recorder = newValue }
    }

    /// The rank of a priority; for nil, the queue's own rank. All work of a queue that drops its oldest work has one
    /// priority.
    func rank(of priority: CommandPriority?) -> Int64 {
        guard let priority, !dropsOldest else { return ownRank }
        return CommandRank.of(priority)
    }

    /// The rank of a caller that waits for its turn. A caller that names no priority has that of its request, or the
    /// queue's own; the rank records that, since its bypass limit may differ. A barrier's place is that of its arrival.
    func rankOfWait(_ priority: CommandPriority? = nil, barrier: Bool = false) -> Int64 {
        if barrier { return ownRank }
        if let priority { return rank(of: priority) }
        return rank(of: RequestPriority.ofRequest) + Int64(CSK_PLACE_UNNAMED - CSK_PLACE_BACK)
    }

    var ownRank: Int64 { unsafe CommandRank.of(CommandPriority(rawValue: csk_workqueue_priority(queue))) }

    // MARK: - Queueing

    @inline(__always)
    private func enqueue(
        _ body: @escaping @Sendable () -> Void, _ enqueue: (UnsafeMutablePointer<csk_work_t>) -> Int32
    ) -> Bool {
        var status = ENOMEM
        if let work = unsafe WorkItem.make(WorkItem.Body(call: body)) {
            status = unsafe enqueue(work)
            if status == 0 { return true }
            _ = unsafe WorkItem.take(work, as: WorkItem.Body.self)
        }
        reportRefusal(status)
        return false
    }

    @inline(__always)
    func async(_ body: @escaping @Sendable () -> Void) -> Bool {
        if !slot.isEmpty { return asyncAside(tag: nil, rank: ownRank, body) }
        return unsafe enqueue(body) { unsafe csk_workqueue_enqueue(queue, $0, WorkItem.runBody) }
    }

    func async(rank: Int64, tag: String? = nil, _ body: @escaping @Sendable () -> Void) -> Bool {
        if !slot.isEmpty { return asyncAside(tag: tag, rank: rank, body) }
        return unsafe enqueue(body) {
            unsafe csk_workqueue_submit(queue, rank, $0, 0, Deadline.never, WorkItem.runBody)
        }
    }

    /// Submits work if there is a recorder, or if the bypass limit applies to all work. Returns true if the queue has
    /// accepted it.
    @inline(never)
    private func asyncAside(tag: String?, rank: Int64, _ body: @escaping @Sendable () -> Void) -> Bool {
        unsafe enqueue(recorded(tag: tag, body)) { unsafe submit($0, rank: rank, WorkItem.runBody) }
    }

    func asyncBarrier(tag: String? = nil, _ body: @escaping @Sendable () -> Void) -> Bool {
        unsafe enqueue(recorded(tag: tag, body)) {
            unsafe csk_workqueue_submit(queue, ownRank, $0, CSK_WORK_BARRIER, Deadline.never, WorkItem.runBody)
        }
    }

    /// Makes a closure that runs `body`, and records its beginning and end, or that it was dropped. Without a recorder
    /// it is `body`.
    func recorded(tag: String? = nil, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        guard let piece = RecordedPiece.make(recorder, tag ?? label) else { return body }
        return {
            piece.begin()
            body()
            piece.end()
        }
    }

    func reportRefusal(_ status: Int32) {
        let kind: SyncDiagnostics.Report.Kind =
            switch error(status) {
            case .shutDown: .refusedAfterShutdown
            case .full: .refusedWhenFull
            case .wouldDeadlock: .wouldDeadlock
            case .timedOut, .cancelled, .outOfResources: .outOfResources
            }
        let reason =
            switch kind {
            case .refusedWhenFull: "the queue is full"
            case .refusedAfterShutdown: "the queue was shut down"
            case .wouldDeadlock: "the queue is full, and the caller is inside its work, which room waits for"
            default: statusText(status)
            }
        SyncDiagnostics.report(
            kind, subject: "\(type) \(label)", message: "work was refused: \(reason)",
            bound: unsafe kind == .refusedWhenFull ? Int(csk_workqueue_capacity(queue)) : nil)
    }

    // MARK: - Waiting

    /// Waits for its turn, and runs `body` on this thread. `flags` are `CSK_WORK_BARRIER` and `CSK_WORK_OWN_TURN`.
    /// Returns 0, or the status for which `body` did not run.
    private func sync(rank: Int64, flags: UInt32, deadline: Int64, _ body: () -> Void) -> Int32 {
        withoutActuallyEscaping(body) { body in
            recordingCaller(body) { body in
                var body = body
                return unsafe withUnsafeMutablePointer(to: &body) {
                    unsafe csk_workqueue_sync(
                        queue, rank, flags, deadline,
                        { unsafe $0!.assumingMemoryBound(to: (() -> Void).self).pointee() }, $0
                    )
                }
            }
        }
    }

    /// Waits for a caller's turn, and records the caller. Without a recorder it only waits.
    private func recordingCaller(_ body: @escaping () -> Void, _ wait: (@escaping () -> Void) -> Int32) -> Int32 {
        guard let piece = RecordedPiece.make(recorder, label) else { return wait(body) }
        let status = wait {
            piece.begin()
            body()
            piece.end()
        }
        if status != 0 { piece.cancel() }
        return status
    }

    /// Performs ``WorkQueueBase/sync(barrier:priority:_:)``. The call is never refused and never dropped.
    func sync<R, E: Error>(rank: Int64, barrier: Bool, _ body: () throws(E) -> R) throws(E) -> R {
        var result: Result<R, E>?
        let flags = (barrier ? CSK_WORK_BARRIER : 0) | CSK_WORK_OWN_TURN
        let status = sync(rank: rank, flags: flags, deadline: Deadline.never) {
            do throws(E) { result = .success(try body()) } catch { result = .failure(error) }
        }
        guard status == 0, let result else { stop(status, "sync") }
        return try result.get()
    }

    /// A nil limit tries once. The wait begins with the call: after a separate try, later callers could go first.
    func sync<R>(rank: Int64, barrier: Bool, _ limit: TimeLimit?, _ body: () throws -> R) throws -> R {
        var result: Result<R, any Error>?
        let deadline = limit?.deadline() ?? Deadline.passed
        let status = sync(rank: rank, flags: barrier ? CSK_WORK_BARRIER : 0, deadline: deadline) {
            result = Result(catching: body)
        }
        guard status == 0, let result else { throw error(status) }
        return try result.get()
    }

    func drain(_ limit: TimeLimit) throws(WorkQueueError) {
        let status = drain(deadline: limit.deadline())
        if status != 0 { throw error(status) }
    }

    func drain(deadline: Int64) -> Int32 { unsafe csk_workqueue_drain(queue, deadline) }

    /// The error that a status of the kernel means for this queue.
    func error(_ status: Int32) -> WorkQueueError { WorkQueueError(status: status) }

    func stop(_ status: Int32, _ call: StaticString) -> Never {
        if status == EDEADLK {
            fatalError("\(type) \(label): \(call) was called inside the queue's own work, which it would wait for")
        }
        fatalError("\(type) \(label): \(call): \(statusText(status))")
    }
}
