public import CSyncKernel
public import Dispatch

/// An asynchronous command. It waits for the gate, then for its queue, and then runs inside the section.
///
/// It is independent of the value's type, except for what a subclass adds. Users' closures and values are in typed
/// stored properties: in the context of the body, or in a ``ValueCommand``. So the optimizer sees that they outlive the
/// call.
@usableFromInline
@safe
class AsyncCommand: GateWaiterOwner, @unchecked Sendable {
    @usableFromInline
    enum Ending {
        /// The caller has to leave the gate. The command has nothing else to do.
        case leave
        /// The caller has nothing to do. The command has left the gate, or a later call will leave it.
        case isSeenTo
    }

    /// Runs on the queue when the command's turn has come, with the status 0, or cannot come. With the status 0 this
    /// thread holds the gate, and the caller keeps the value's box alive until the body has returned.
    @usableFromInline
    typealias Body = @Sendable (AsyncCommand, Int32) -> Ending

    @safe final let gate: UnsafeMutablePointer<csk_gate_t>
    final let queue: DispatchQueue
    private final let body: Body
    /// The box, if the gate must last until the timers' thread is done with the command. Otherwise it is not needed:
    /// the box lasts until all accepted commands have begun, and from then on the lane's block keeps it.
    private final let box: AnyObject?
    @exclusivity(unchecked) private final var memory = GateWaiter.Memory()

    /// Makes a command at the gate of `box`.
    @usableFromInline
    init(
        _ gate: UnsafeMutablePointer<csk_gate_t>, of box: AnyObject, on queue: DispatchQueue, limit: TimeLimit,
        body: @escaping Body
    ) {
        self.gate = unsafe gate
        self.box = limit.isNever ? nil : box
        self.queue = queue
        self.body = body
    }

    /// Queues the command at the gate of `box`.
    @usableFromInline
    static func submit(_ command: consuming AsyncCommand, of box: AnyObject, rank: Int64, limit: TimeLimit) {
        let gate = command.gate, key = QueueIdentity.of(command.queue)
        unsafe GateWaiter(in: &command.memory).lockOrResolve(
            gate, of: box, rank: rank, deadline: limit.own, key: key, isQueue: true, owner: command)
    }

    /// The command's turn has come. It runs on the queue, and this thread holds the gate. True means that the caller is
    /// to leave the gate, and that nothing follows.
    final func begin() -> Bool { body(self, 0) == .leave }

    final var canTimeOut: Bool { box != nil }

    final var resolvingQueue: DispatchQueue? { queue }

    final func gateResolved(_ status: Int32) { _ = body(self, status) }

    @usableFromInline
    final func leave() {
        unsafe csk_gate_unlock(gate)
    }

    /// The holding thread is no longer inside the gate; another thread may leave it.
    final func disown() { unsafe csk_gate_disown(gate) }
}
