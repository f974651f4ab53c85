public import CSyncKernel
public import Dispatch

/// An asynchronous command. It waits for the gate, then for its queue, and then runs inside the section.
///
/// It knows nothing of the type of the value. A generic command would cost a look-up of its type each time.
@usableFromInline
@safe
final class AsyncCommand: GateWaiterOwner, @unchecked Sendable {
    @usableFromInline
    enum Ending {
        /// The caller has to leave the gate. The command has nothing else to do.
        case leave
        /// The caller has nothing to do. The command has left the gate, or a later call will leave it.
        case isSeenTo
    }

    /// What the command does when its turn has come, with the status 0, or cannot come. It runs on the queue. With the
    /// status 0 this thread holds the gate. The body keeps the value's box alive.
    @usableFromInline
    typealias Body = @Sendable (AsyncCommand, Int32) -> Ending

    @safe private let gate: UnsafeMutablePointer<csk_gate_t>
    let queue: DispatchQueue
    private let body: Body
    @exclusivity(unchecked) private var memory = GateWaiter.Memory()

    private init(_ gate: UnsafeMutablePointer<csk_gate_t>, queue: DispatchQueue, body: @escaping Body) {
        self.gate = unsafe gate
        self.queue = queue
        self.body = body
    }

    /// Queues a command at the gate of `box`.
    @usableFromInline
    static func submit(
        _ gate: UnsafeMutablePointer<csk_gate_t>, of box: AnyObject, on queue: DispatchQueue, rank: Int64,
        timeout: Duration?, body: @escaping Body
    ) {
        let command = unsafe AsyncCommand(gate, queue: queue, body: body)
        let status = unsafe GateWaiter(in: &command.memory).lock(
            gate, of: box, rank: rank, deadline: Deadline.after(timeout: timeout), key: QueueIdentity.of(queue),
            isQueue: true, owner: command)
        if status != 0 { queue.async { command.fail(status) } }
    }

    /// The command's turn has come. It runs on the queue, and this thread holds the gate. True means that the caller is
    /// to leave the gate, and that nothing follows.
    func begin() -> Bool { body(self, 0) == .leave }

    private func fail(_ status: Int32) { _ = body(self, status) }

    var resolvingQueue: DispatchQueue? { queue }

    func gateResolved(_ status: Int32) { fail(status) }

    @usableFromInline
    func leave() {
        unsafe csk_gate_unlock(gate)
    }

    /// Runs `access` with a closure `done`. The section ends once `access` has returned and `done` has been called.
    /// Whichever comes second runs `end`, which leaves the gate. `end` is told whether it runs on the queue.
    func leaveOnCompletion(
        _ access: (@escaping CommandCompletionClosure) -> Void,
        end: @escaping @Sendable (AsyncCommand, _ onQueue: Bool) -> Void
    ) -> Ending {
        let order = SectionEnd()
        let finish: @Sendable (Bool) -> Void = { [self] onQueue in
            if order.isSecond() { end(self, onQueue) }
        }
        access(ManualCompletion.closure { finish(false) })
        unsafe csk_gate_disown(gate)
        finish(true)
        return .isSeenTo
    }
}
