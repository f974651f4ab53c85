import CSyncKernel
import Dispatch

/// The commands of one value that are performed on one queue, as far as the queue sees them.
///
/// The kernel keeps the order of the commands. What is dispatched to a queue is not a command, but "the next command of
/// this lane". Whichever block runs first performs the command that is first at that moment. At most one block of a
/// lane is under way, and it keeps the value's box, and with it the lane. If the next waiter in the gate's order
/// belongs to the lane that leaves, its block continues with that one, for at most ``commandsPerBlock`` commands.
enum CommandLane {
    private typealias Lane = UnsafeMutablePointer<csk_gate_lane_t>

    /// The limit lets other blocks of the queue run in between.
    private static var commandsPerBlock: Int { 64 }

    /// The waiter that was granted the gate holds the lane until this function takes its own hold of the lane. From
    /// then on the waiter may time out and end, and with it the last reference to its queue. A waiter without a timeout
    /// stays until a block begins it: the one that is dispatched here, or another that came meanwhile.
    static let granted: csk_gate_lane_function_t = { lane, context in
        let value = unsafe context!.assumingMemoryBound(to: ValueLanes.self)
        let command = unsafe GateWaiter.owner(of: lane!.pointee.front!, as: AsyncCommand.self)
        let (queue, mayGo) = unsafe command._withUnsafeGuaranteedRef {
            unsafe (Unmanaged.passUnretained($0.queue), $0.canTimeOut)
        }
        if mayGo { _ = unsafe queue.retain() }
        _ = unsafe value.pointee.box.retain()
        unsafe csk_gate_lane_taken(value.pointee.gate, lane)
        unsafe queue._withUnsafeGuaranteedRef { unsafe dispatch(lane!, on: $0) }
        if mayGo { unsafe queue.release() }
    }

    private static func dispatch(_ lane: Lane, on queue: DispatchQueue) {
        if QueueIdentity.wrapsAtSecondWord {
            withExtendedLifetime(queue) { unsafe RuntimeFacts.async(onWrapped: QueueIdentity.of($0), lane, perform) }
        } else {
            nonisolated(unsafe) let lane = unsafe lane
            queue.async { unsafe perform(lane, queue) }
        }
    }

    private static let perform: @convention(c) (UnsafeMutableRawPointer?) -> Void = { lane in
        unsafe perform(lane!.assumingMemoryBound(to: csk_gate_lane_t.self), nil)
    }

    /// Runs on the queue of the lane. Nil stands for a queue that the lane's key names: it exists as long as it runs
    /// this.
    private static func perform(_ lane: Lane, _ queue: DispatchQueue?) {
        let value = unsafe lane.pointee.context!.assumingMemoryBound(to: ValueLanes.self)
        let gate = unsafe value.pointee.gate, box = unsafe value.pointee.box, key = unsafe lane.pointee.key
        for _ in 0..<commandsPerBlock where unsafe !performFirst(gate, lane, key) { return unsafe box.release() }
        if let queue {
            unsafe dispatch(lane, on: queue)
        } else {
            unsafe RuntimeFacts.async(onWrapped: UInt(key), lane, perform)
        }
    }

    /// Performs the first command. It returns true if the gate is the lane's once more and the caller is to perform the
    /// lane's next command.
    private static func performFirst(_ gate: UnsafeMutablePointer<csk_gate_t>, _ lane: Lane, _ key: UInt64) -> Bool {
        var waiter: UnsafeMutablePointer<csk_waiter_t>?
        guard unsafe csk_gate_begin(gate, lane, &waiter) == 0 else { return false }
        var goesOn = false
        // The command's closures are released outside of the section.
        unsafe withExtendedLifetime(unsafeDowncast(GateWaiter.takeOwner(of: waiter!), to: AsyncCommand.self)) {
            command in
            if command.begin() { unsafe csk_gate_unlock_lane(gate, lane, key, &goesOn) }
        }
        return goesOn
    }
}
