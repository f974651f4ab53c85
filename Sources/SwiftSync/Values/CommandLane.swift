import CSyncKernel
import Dispatch
import Synchronization

/// The commands of one value that are performed on one queue or executor. A lane exists from the moment its first
/// command waits until its last has ended.
///
/// The kernel keeps the order of the commands. What is dispatched to a queue is not a command, but "the next command of
/// this lane". Whichever block runs first performs the command that is first at that moment. At most one block of a
/// lane is under way. If the next waiter in the gate's order belongs to the lane that leaves, its block continues with
/// that one, for at most ``commandsPerBlock`` commands.
@safe
final class CommandLane: @unchecked Sendable {
    @safe let gate: UnsafeMutablePointer<csk_gate_t>
    /// Keeps the gate alive.
    private let box: AnyObject
    /// Nil for the lane of an executor.
    let queue: DispatchQueue?
    @safe let kernelLane: UnsafeMutablePointer<csk_gate_lane_t>

    /// Used by ``CommandLanes`` alone. Its lock guards `next` and `isListed`, and a count of `users` rises only under
    /// it.
    let key: UInt
    let users = Atomic(1)
    var isListed = true
    var next: CommandLane?

    /// The limit lets other blocks of the queue run in between.
    private static var commandsPerBlock: Int { 64 }

    init(_ gate: UnsafeMutablePointer<csk_gate_t>, box: AnyObject, queue: DispatchQueue?, key: UInt) {
        self.gate = unsafe gate
        self.box = box
        self.queue = queue
        self.key = key
        kernelLane = .allocate(capacity: 1)
        unsafe kernelLane.initialize(to: csk_gate_lane_t())
        guard queue != nil else { return }
        unsafe kernelLane.pointee.function = Self.granted
        unsafe kernelLane.pointee.context = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit { unsafe kernelLane.deallocate() }

    func matches(_ gate: UnsafeMutablePointer<csk_gate_t>, _ key: UInt, isQueue: Bool) -> Bool {
        unsafe self.gate == gate && self.key == key && (queue != nil) == isQueue
    }

    /// Runs `body` on the queue.
    func dispatch(_ body: @escaping @Sendable () -> Void) {
        queue!.async(execute: body)
    }

    /// The waiter that was granted the gate holds the lane until this function says that it holds the lane itself.
    private static let granted: csk_gate_lane_function_t = { kernelLane, context in
        let reference = unsafe Unmanaged<CommandLane>.fromOpaque(context!).retain()
        unsafe reference._withUnsafeGuaranteedRef { lane in
            unsafe csk_gate_lane_taken(lane.gate, kernelLane)
            lane.dispatch { unsafe reference.takeRetainedValue().perform() }
        }
    }

    private func perform() {
        for _ in 0..<Self.commandsPerBlock where !performFirst() { return }
        dispatch { self.perform() }
    }

    /// Performs the first command. It returns true if the gate is the lane's once more and the caller is to perform the
    /// lane's next command.
    private func performFirst() -> Bool {
        var waiter: UnsafeMutablePointer<csk_gate_waiter_t>?
        guard unsafe csk_gate_begin(gate, kernelLane, &waiter) == 0 else { return false }
        var goesOn = false
        // The command's closures are released outside of the section.
        unsafe withExtendedLifetime(unsafeDowncast(GateWaiter.takeOwner(of: waiter!), to: LaneCommand.self)) {
            command in
            if command.begin() { unsafe csk_gate_unlock_lane(gate, kernelLane, &goesOn) }
        }
        return goesOn
    }
}

/// A command that is performed on the queue of a lane.
class LaneCommand: GateWaiterOwner, @unchecked Sendable {
    final let lane: CommandLane
    private let waiter = GateWaiter()

    init(lane: CommandLane) {
        self.lane = lane
    }

    deinit {
        waiter.deallocate()
        CommandLanes.leave(lane)
    }

    /// The command's turn has come. It runs on the queue, and this thread holds the gate. True means that the caller is
    /// to leave the gate, and that nothing follows.
    func begin() -> Bool {
        fatalError("QueueSafeValue: \(Self.self) does not say what it does on its queue")
    }

    /// The command will not have its turn. It runs on the queue.
    func fail(_ status: Int32) {
        fatalError("QueueSafeValue: \(Self.self) does not say how it fails")
    }

    final func submit(rank: Int64, timeout: Duration?) {
        let deadline = Deadline.after(timeout: timeout)
        let status = unsafe waiter.lock(lane.gate, rank: rank, deadline: deadline, lane: lane.kernelLane, owner: self)
        if status != 0 { lane.dispatch { self.fail(status) } }
    }

    final var resolvingQueue: DispatchQueue? { lane.queue }

    final func gateResolved(_ status: Int32) { fail(status) }
}
