import CSyncKernel

/// A task's place in an ordered queue: it waits until the place is granted, or until it gives up before, and this word
/// decides which.
class OrderedPlace: TaskWait, @unchecked Sendable {
    /// Whose place it is: what the queue may do with it.
    enum Kind {
        /// Of work that nobody waits for: it may be refused, and dropped.
        case work
        /// Of a call that can throw: it may be refused, and may give up.
        case refusable
        /// Of a call that can't throw: nothing keeps it from its turn.
        case own
        /// Of a task that waits for the end of what is before it. It is no work, takes no room, and is not refused.
        case end

        var endsWithShutdown: Bool { self == .work || self == .refusable }
    }

    final let kind: Kind
    /// Whether it takes room in a queue with a capacity. Under the queue's lock.
    final var takesRoom = false

    init(_ kind: Kind) {
        self.kind = kind
    }

    final var isGranted: Bool { outcome == 0 }
    final var isGivenUp: Bool { outcome ?? 0 != 0 }

    /// Waits for the grant, whatever happens.
    final func waitForGrant(isolation: isolated (any Actor)? = #isolation) async {
        if outcome == nil { _ = await wait(isCancellable: false) }
    }

    /// The same, and in any case not on the calling thread, where the task may have been started on somebody else's
    /// behalf.
    final func waitElsewhere() async {
        var isSuspended = false
        _ = await wait(isCancellable: false) {
            isSuspended = true
            return 0
        }
        if !isSuspended { await Task.yield() }
    }

    /// Waits for the grant; the task's cancellation, and `deadline`, give the place up.
    ///
    /// - Returns: nil, or why it was given up.
    final func waitForGrant(until deadline: Int64, isolation: isolated (any Actor)? = #isolation) async -> OrderedQueueError? {
        if isGranted { return nil }
        if deadline == Deadline.passed { resolve(ETIMEDOUT) }
        return OrderedQueueError(status: await wait(until: deadline))
    }

    /// Grants the place; false if it was given up before.
    final func grant() -> Bool { resolve(0) }
}

extension OrderedQueueError {
    /// Why a wait has ended without what it waited for; nil for a grant.
    init?(status: Int32) {
        switch status {
        case 0: return nil
        case ECANCELED: self = .cancelled
        case ESHUTDOWN: self = .shutDown
        case EDEADLK: self = .wouldDeadlock
        // Also where the system has no timer, so that the deadline can't be kept.
        default: self = .timedOut
        }
    }
}
