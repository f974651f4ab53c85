import CSyncKernel
import Dispatch

/// An asynchronous command on its way: waiting for the gate, then for its queue, then inside.
///
/// The kernel holds a reference while it waits for the gate, the dispatched block one after that.
final class AsyncCommand<Value>: DispatchedWaiter, @unchecked Sendable {
    /// What the command does once it is its turn, or could not be. Runs on `queue`; on success the gate is this thread's, and the
    /// closure sees to it that it is left.
    typealias Body = @Sendable (AsyncCommand, QueueSafeValueError?) -> Void

    let box: ValueBox<Value>
    private let body: Body

    init(box: ValueBox<Value>, queue: DispatchQueue, body: @escaping Body) {
        self.box = box
        self.body = body
        super.init(queue: queue)
    }

    func submit(rank: Int64, timeout: Duration?) {
        let status = lock(box.gate, rank: rank, deadline: Deadline.after(timeout: timeout))
        if status != 0 { resolve(status) }
    }

    override func begin(_ status: Int32) {
        guard status == 0 else { return body(self, QueueSafeValueError(status: status)) }
        if adopt(box.gate) { return body(self, nil) }
        // The queue was slower than others would wait: back to the old place in the order.
        _ = relock(box.gate)
    }

    func leave() {
        csk_gate_unlock(box.gate)
    }

    /// The same where the command has nothing else to do.
    func leaveLast() {
        leaveLast { leave() }
    }

    /// Runs `access` with a `done` that ends the section together with the closure's own end, and then `after` on the queue.
    func leaveOnCompletion(_ access: (@escaping CommandCompletionClosure) -> Void, after: @escaping @Sendable (AsyncCommand) -> Void) {
        let end = SectionEnd()
        let finish: @Sendable (Bool) -> Void = { [self] onQueue in
            guard end.isSecond() else { return }
            if onQueue { after(self) } else { queue.async { after(self) } }
        }
        access(ManualCompletion.closure { finish(false) })
        csk_gate_disown(box.gate)
        finish(true)
    }
}
