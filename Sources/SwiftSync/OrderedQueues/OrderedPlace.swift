import CSyncKernel
import Synchronization

/// A task's place in an ordered queue. The task waits until the place is granted, or gives the place up before. This
/// object's state word decides which of the two happens.
class OrderedPlace: TaskWait, @unchecked Sendable {
    /// The kind of owner of the place. It determines what the queue may do with the place.
    enum Kind {
        /// The place belongs to work that no call waits for. It may be refused, and dropped.
        case work
        /// The place belongs to a call that can throw. It may be refused, and the call may give it up.
        case refusable
        /// The place belongs to a call that can't throw. It is never refused, dropped or given up.
        case own
        /// The place belongs to a task that waits for the end of everything before it. It is not work, takes no room,
        /// and is not refused.
        case end

        var endsWithShutdown: Bool { self == .work || self == .refusable }
    }

    final let kind: Kind
    /// True if the place takes room in a queue with a capacity. The queue's lock protects it.
    final var takesRoom = false
    /// The address of the waiting task, if it may have to be raised before it goes on; 0 once it has stopped waiting.
    /// It is written before the place is known, and protected by the queue's lock after that.
    final var task: UInt = 0
    /// The waiting task, if no other task waits for it. The queue's lock protects this.
    final var handle: Task<Void, Never>?
    /// The priority of that task when it came.
    final var priority = TaskPriority.medium
    /// True once the call that starts the place's task has returned, if the wait is ``waitElsewhere()``.
    private let hasStarted = Atomic(false)

    init(_ kind: Kind) {
        self.kind = kind
    }

    final var isGranted: Bool { outcome == 0 }
    final var isGivenUp: Bool { outcome ?? 0 != 0 }

    /// Waits for the grant by `object`. Cancellation does not end the wait.
    final func waitForGrant(at object: (any WaitedObject)?) async {
        if outcome == nil { _ = await wait(isCancellable: false, at: object) }
    }

    /// Waits for the grant in a task that is being started on the calling thread, and never goes on inside of the call
    /// that starts it.
    ///
    /// A continuation that is resumed before its task is suspended only sets a flag, and the task goes on where it is.
    /// So the task can't tell by its wait whether it has left its caller. The call reports its return
    /// (``startReturns()``). Until then the task yields. To yield is a continuation too, which another thread may
    /// resume before the task is suspended: then the call still has not returned, and the task yields again.
    final func waitElsewhere(at object: (any WaitedObject)?) async {
        await waitForGrant(at: object)
        while !hasStarted.load(ordering: .relaxed) { await Task.yield() }
    }

    /// The call that starts the task is about to return on its thread.
    final func startReturns() { hasStarted.store(true, ordering: .relaxed) }

    /// Waits for the grant by `object`. The task's cancellation and `deadline` give the place up.
    ///
    /// - Returns: nil, or why the place was given up.
    final func waitForGrant(
        until deadline: Int64, at object: any WaitedObject
    ) async -> OrderedQueueError? {
        if isGranted { return nil }
        if deadline == Deadline.passed { resolve(ETIMEDOUT) }
        return OrderedQueueError(status: await wait(until: deadline, at: object))
    }

    final override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.waits_for = UInt32(kind == .end ? CSK_WAITS_FOR_DRAINED : purpose)
    }

    /// The reason of the wait (`CSK_WAITS_FOR_…`), unless the place is of the kind `end`.
    var purpose: Int { Int(CSK_WAITS_FOR_TURN) }

    /// Grants the place. Returns false if the place was given up before.
    final func grant() -> Bool { resolve(0) }
}
