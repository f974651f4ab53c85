import CSyncKernel

/// A task's place in an ordered queue. The task waits until the place is granted, or gives the place up before. This
/// object's state word decides which of the two happens.
class OrderedPlace: TaskWait, @unchecked Sendable {
    /// Whose place it is. This determines what the queue may do with it.
    enum Kind {
        /// The place belongs to work that nobody waits for. It may be refused, and dropped.
        case work
        /// The place belongs to a call that can throw. It may be refused, and the call may give it up.
        case refusable
        /// The place belongs to a call that can't throw. Nothing keeps it from its turn.
        case own
        /// The place belongs to a task that waits for the end of everything before it. It is not work, takes no room,
        /// and is not refused.
        case end

        var endsWithShutdown: Bool { self == .work || self == .refusable }
    }

    final let kind: Kind
    /// True if the place takes room in a queue with a capacity. The queue's lock protects it.
    final var takesRoom = false

    init(_ kind: Kind) {
        self.kind = kind
    }

    final var isGranted: Bool { outcome == 0 }
    final var isGivenUp: Bool { outcome ?? 0 != 0 }

    /// Waits for the grant. Cancellation does not end the wait.
    final func waitForGrant(isolation: isolated (any Actor)? = #isolation) async {
        if outcome == nil { _ = await wait(isCancellable: false) }
    }

    /// Waits for the grant, and never continues on the calling thread: the task may have been started there on another
    /// caller's behalf.
    final func waitElsewhere() async {
        var isSuspended = false
        _ = await wait(isCancellable: false) {
            isSuspended = true
            return 0
        }
        if !isSuspended { await Task.yield() }
    }

    /// Waits for the grant. The task's cancellation and `deadline` give the place up.
    ///
    /// - Returns: nil, or why the place was given up.
    final func waitForGrant(
        until deadline: Int64, isolation: isolated (any Actor)? = #isolation
    ) async -> OrderedQueueError? {
        if isGranted { return nil }
        if deadline == Deadline.passed { resolve(ETIMEDOUT) }
        return OrderedQueueError(status: await wait(until: deadline))
    }

    /// Grants the place. Returns false if the place was given up before.
    final func grant() -> Bool { resolve(0) }
}
