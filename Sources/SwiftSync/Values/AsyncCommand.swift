import CSyncKernel
import Dispatch

/// An asynchronous command: waiting for the gate, then for its queue, then inside.
final class AsyncCommand<Value>: LaneCommand, @unchecked Sendable {
    enum Ending {
        /// The gate is to be left; the command has nothing else to do.
        case leave
        /// The command has left the gate, or somebody will.
        case isSeenTo
    }

    /// What the command does once it is its turn, or could not be. Runs on the queue; on success the gate is this
    /// thread's.
    typealias Body = @Sendable (AsyncCommand, QueueSafeValueError?) -> Ending

    let box: ValueBox<Value>
    private let body: Body

    init(box: ValueBox<Value>, queue: DispatchQueue, body: @escaping Body) {
        self.box = box
        self.body = body
        super.init(lane: CommandLanes.enter(box.gate, box: box, queue: queue, key: QueueIdentity.of(queue)))
    }

    override func begin() -> Bool {
        body(self, nil) == .leave
    }

    override func fail(_ status: Int32) {
        _ = body(self, QueueSafeValueError(status: status))
    }

    func leave() {
        csk_gate_unlock(box.gate)
    }

    /// Runs `access` with a `done` that ends the section together with the closure's own end. Whoever is second runs
    /// `end`, which leaves, and is told whether it runs on the queue.
    func leaveOnCompletion(
        _ access: (@escaping CommandCompletionClosure) -> Void, end: @escaping @Sendable (AsyncCommand, _ onQueue: Bool) -> Void
    ) -> Ending {
        let order = SectionEnd()
        let finish: @Sendable (Bool) -> Void = { [self] onQueue in
            if order.isSecond() { end(self, onQueue) }
        }
        access(ManualCompletion.closure { finish(false) })
        csk_gate_disown(box.gate)
        finish(true)
        return .isSeenTo
    }
}
