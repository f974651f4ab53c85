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
    /// status 0 this thread holds the gate, and whoever calls it keeps the value's box alive until it has returned.
    @usableFromInline
    typealias Body = @Sendable (AsyncCommand, Int32) -> Ending

    @safe private let gate: UnsafeMutablePointer<csk_gate_t>
    /// The value, where the body captures nothing.
    @usableFromInline @safe let value: UnsafeMutableRawPointer?
    let queue: DispatchQueue
    private let body: Body
    /// The box, where the gate must last until the timers' thread is done with the command. Nobody else needs it: the
    /// box lasts until all accepted commands have begun, and from then on the lane's block keeps it.
    private let box: AnyObject?
    /// Room for ``CommandClosures``, which hold nothing at first.
    @usableFromInline @exclusivity(unchecked) var closures = RuntimeFacts.ClosurePair()
    @exclusivity(unchecked) private var memory = GateWaiter.Memory()

    private init(
        _ gate: UnsafeMutablePointer<csk_gate_t>, _ value: UnsafeMutableRawPointer?, keeping box: AnyObject?,
        queue: DispatchQueue, body: @escaping Body
    ) {
        self.gate = unsafe gate
        self.value = unsafe value
        self.box = box
        self.queue = queue
        self.body = body
    }

    deinit { unsafe closures.release() }

    /// Makes a command of `box`. The caller owns a reference, which ``submit(_:of:rank:limit:)`` takes over: passed
    /// as objects, it would be counted on each of the two ways.
    @usableFromInline
    static func make(
        _ gate: UnsafeMutablePointer<csk_gate_t>, _ value: UnsafeMutableRawPointer?, of box: AnyObject,
        on queue: DispatchQueue, limit: TimeLimit, body: @escaping Body
    ) -> Unmanaged<AsyncCommand> {
        let kept = limit.isNone ? nil : box
        return unsafe .passRetained(AsyncCommand(gate, value, keeping: kept, queue: queue, body: body))
    }

    /// Queues a command at the gate of `box`.
    @usableFromInline
    static func submit(_ command: Unmanaged<AsyncCommand>, of box: AnyObject, rank: Int64, limit: TimeLimit) {
        let (waiter, gate, key) = unsafe command._withUnsafeGuaranteedRef {
            unsafe (GateWaiter(in: &$0.memory), $0.gate, QueueIdentity.of($0.queue))
        }
        unsafe waiter.lockOrResolve(
            gate, of: box, rank: rank, deadline: limit.own, key: key, isQueue: true,
            owner: command.takeRetainedValue())
    }

    /// The command's turn has come. It runs on the queue, and this thread holds the gate. True means that the caller is
    /// to leave the gate, and that nothing follows.
    func begin() -> Bool { body(self, 0) == .leave }

    var canTimeOut: Bool { box != nil }

    var resolvingQueue: DispatchQueue? { queue }

    func gateResolved(_ status: Int32) { _ = body(self, status) }

    @usableFromInline
    func leave() {
        unsafe csk_gate_unlock(gate)
    }

    /// Where the closures of a command of this value stand.
    @inlinable
    @inline(__always)
    func closures<Value>(of type: Value.Type) -> UnsafeMutablePointer<CommandClosures<Value>> {
        unsafe UnsafeMutableRawPointer(RuntimeFacts.lastingAddress(of: &closures)).assumingMemoryBound(
            to: CommandClosures<Value>.self)
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

/// The user's closures, for a body that captures nothing: a context of its own would be one more allocation. They stand
/// in the command, which does not know their types.
@usableFromInline
struct CommandClosures<Value> {
    @usableFromInline let accessClosure: (@Sendable (inout Value) -> Void)?
    @usableFromInline let completion: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)?

    @inlinable
    init(
        access: consuming (@Sendable (inout Value) -> Void)?,
        completion: consuming (@Sendable (Result<Value, QueueSafeValueError>) -> Void)?
    ) {
        accessClosure = access
        self.completion = completion
    }

    @inlinable var hasCompletion: Bool { completion != nil }
    @inlinable func access(_ value: inout Value) { accessClosure?(&value) }
    @inlinable func complete(_ result: Result<Value, QueueSafeValueError>) { completion?(result) }
}
