import CSyncKernel
import Dispatch

/// A task that waits at a gate. The kernel decides between grant, timeout and cancellation.
final class SuspendedWaiter<Value>: TaskWait, GateWaiterOwner, @unchecked Sendable {
    private let box: ValueBox<Value>
    private let lane: CommandLane
    private let waiter = GateWaiter()

    init(_ box: ValueBox<Value>, isolation: (any Actor)?) {
        self.box = box
        lane = unsafe CommandLanes.enter(
            box.gate, box: box, queue: nil, key: QueueIdentity.ofExecutor(isolation: isolation))
        super.init()
    }

    deinit {
        waiter.deallocate()
        CommandLanes.leave(lane)
    }

    var resolvingQueue: DispatchQueue? { nil }

    func gateResolved(_ status: Int32) { resolve(status) }

    /// If the grant came first, the grant resolves the wait.
    override func withdraw(_ cause: Int32) { unsafe waiter.cancel(box.gate) }

    /// Waits for the gate and makes the calling thread its holder. It returns 0 or an errno value.
    ///
    /// The task's executor may fail to begin a grant in time, or the grant may belong to a command of that executor
    /// that comes before this one. Then the waiter waits for a grant again, under the same ticket.
    ///
    /// The waits must have the caller's isolation. Otherwise the waiter would be adopted elsewhere, and the way back to
    /// the caller's actor could change to a thread that does not hold the gate.
    func acquire(rank: Int64, deadline: Int64, isolation: isolated (any Actor)?) async -> Int32 {
        var status = await wait(isolation: isolation) {
            unsafe waiter.lock(box.gate, rank: rank, deadline: deadline, lane: lane.kernelLane, owner: self)
        }
        while status == 0, unsafe !waiter.adopt(box.gate) {
            status = await waitAgain(isolation: isolation) { unsafe waiter.relock(box.gate, owner: self) }
            if status != 0 { unsafe waiter.forget(box.gate) }
        }
        return status
    }
}
