import CSyncKernel
import Synchronization

/// A task that waits at a gate. The kernel decides between grant, timeout and cancellation: exactly one of them resumes the task.
final class SuspendedWaiter<Value>: GateWaiter, @unchecked Sendable {
    private let box: ValueBox<Value>
    private let isCancelled = Atomic(false)
    private var continuation: UnsafeContinuation<Int32, Never>?

    init(_ box: ValueBox<Value>) {
        self.box = box
    }

    override func resolve(_ status: Int32) {
        continuation!.resume(returning: status)
    }

    /// Waits for the gate and makes the calling thread its holder: 0, or an errno value.
    ///
    /// A grant that the task's executor did not begin in time is lost to others, and waited for again under the same ticket.
    ///
    /// The operation must be isolated as the caller is, which it is because it names `isolation`: were it not, the waiter would
    /// be adopted elsewhere, and the way back to the caller's actor could change to a thread that does not hold the gate.
    func acquire(rank: Int64, deadline: Int64, isolation: isolated (any Actor)?) async -> Int32 {
        await withTaskCancellationHandler {
            var status = await suspend(isolation: isolation) { lock(box.gate, rank: rank, deadline: deadline) }
            while status == 0, !adopt(box.gate) {
                if isCancelled.load(ordering: .sequentiallyConsistent) {
                    forget(box.gate)
                    return ECANCELED
                }
                status = await suspend(isolation: isolation) { relock(box.gate) }
            }
            return status
        } onCancel: {
            // Of this store and the start of a wait that comes with it, the later one sees the other.
            isCancelled.store(true, ordering: .sequentiallyConsistent)
            cancel(box.gate)
        }
    }

    /// Suspends the task, and queues the waiter from inside; a status other than zero resumes it with that.
    private func suspend(isolation: isolated (any Actor)?, _ queue: () -> Int32) async -> Int32 {
        await withUnsafeContinuation { continuation in
            self.continuation = continuation
            let status = queue()
            if status != 0 {
                continuation.resume(returning: status)
            } else if isCancelled.load(ordering: .sequentiallyConsistent) {
                cancel(box.gate)
            }
        }
    }
}
