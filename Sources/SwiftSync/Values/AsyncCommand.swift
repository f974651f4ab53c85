import CSyncKernel
import Dispatch

/// An asynchronous command. It waits for the gate, then for its queue, and then runs inside the section.
final class AsyncCommand<Value>: LaneCommand, @unchecked Sendable {
    enum Ending {
        /// The caller has to leave the gate. The command has nothing else to do.
        case leave
        /// The caller has nothing to do. The command has left the gate, or a later call will leave it.
        case isSeenTo
    }

    /// What the command does when its turn has come, or cannot come. It runs on the queue. On success this thread holds
    /// the gate.
    typealias Body = @Sendable (AsyncCommand, QueueSafeValueError?) -> Ending

    let box: ValueBox<Value>
    private let body: Body

    init(box: ValueBox<Value>, queue: DispatchQueue, body: @escaping Body) {
        self.box = box
        self.body = body
        unsafe super.init(lane: CommandLanes.enter(box.gate, box: box, queue: queue, key: QueueIdentity.of(queue)))
    }

    override func begin() -> Bool {
        body(self, nil) == .leave
    }

    override func fail(_ status: Int32) {
        _ = body(self, QueueSafeValueError(status: status))
    }

    func leave() {
        unsafe csk_gate_unlock(box.gate)
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
        unsafe csk_gate_disown(box.gate)
        finish(true)
        return .isSeenTo
    }
}
