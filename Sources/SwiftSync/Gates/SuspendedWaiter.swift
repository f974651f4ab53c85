import CSyncKernel

/// A task that waits at a gate. The kernel decides between grant, timeout and cancellation.
@safe
class SuspendedWaiter: KernelWait, @unchecked Sendable {
    @safe final let gate: UnsafeMutablePointer<csk_gate_t>
    final let executor: UInt

    init(_ gate: UnsafeMutablePointer<csk_gate_t>, of box: AnyObject, isolation: (any Actor)?) {
        self.gate = unsafe gate
        executor = QueueIdentity.ofExecutor(isolation: isolation)
        super.init(of: box)
    }

    final override func cancel(_ waiter: UnsafeMutablePointer<csk_waiter_t>) -> Int32 {
        unsafe csk_gate_cancel(gate, waiter)
    }

    /// Enters without a suspension, if the gate is free, or was granted to a task that has yet to be started and that
    /// this one may pass. It may spin for some microseconds. A nil `rank` is that of the request, or of the task.
    static func enterAtOnce(
        _ gate: UnsafeMutablePointer<csk_gate_t>, of box: AnyObject, rank: Int64?, isolation: (any Actor)?
    ) -> Bool {
        let wanted = rank ?? RequestPriority.rankOfTask(naming: nil)
        // An actor runs its tasks in order, so none passes another one of its own.
        guard let isolation else { return unsafe csk_gate_trylock_keyed(gate, wanted, nil, 0) == 0 }
        let key = UInt64(QueueIdentity.ofExecutor(isolation: isolation))
        return unsafe csk_gate_trylock_keyed(gate, wanted, ValueLanes.of(gate, box), key) == 0
    }

    override func raise(to rank: Int64) { unsafe waiter.change { unsafe csk_gate_raise(gate, rank, $0) } }

    /// Waits for the gate and makes the calling thread its holder. It returns 0 or an errno value. A nil `rank` is that
    /// of the request, or of the task.
    ///
    /// The task's executor may fail to begin a grant in time, or the grant may belong to a command of that executor
    /// that comes before this one. Then the waiter waits for a grant again, under the same ticket.
    ///
    /// The waits must have the caller's isolation. Otherwise the waiter would be adopted elsewhere, and the way back to
    /// the caller's actor could change to a thread that does not hold the gate.
    final func acquire(rank: Int64?, deadline: Int64) async -> Int32 {
        await following(ifOwn: rank == nil && RequestPriority.isOfTask(naming: nil)) {
            // A try is made even in a task that was cancelled because its deadline has passed.
            let isCancellable = deadline != Deadline.passed || Task.isCancelledByOthers
            let status = await wait(isCancellable: isCancellable) {
                let rank = rank ?? RequestPriority.rankOfTask(naming: nil)
                testStep("SuspendedWaiter: knows its rank", self)
                return queue(rank: rank, deadline: deadline)
            }
            return await adopt(status)
        }
    }

    /// Queues the waiter in the lane of the task's executor. It returns 0 or an errno value.
    final func queue(rank: Int64, deadline: Int64) -> Int32 {
        queue(at: rank) {
            unsafe waiter.lock(
                gate, of: owner, rank: rank, deadline: deadline, key: executor, isQueue: false, owner: self)
        }
    }

    /// The waiter has the rank that it had when it lost its grant.
    private func relock() -> Int32 {
        queue(at: .min) { unsafe waiter.relock(gate, owner: self) }
    }

    /// Makes the calling thread the holder, after a wait with this status.
    final func adopt(_ granted: Int32) async -> Int32 {
        var status = granted
        while status == 0, unsafe !waiter.adopt(gate) {
            status = await waitAgain() { relock() }
            if status != 0 { unsafe waiter.forget(gate) }
        }
        return status
    }
}
