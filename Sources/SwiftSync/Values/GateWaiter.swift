import CSyncKernel
import Dispatch

/// Who waits at a gate by a ``GateWaiter``.
protocol GateWaiterOwner: AnyObject, Sendable {
    /// The gate is the owner's (0), or never will be. Called once for each acceptance, outside of all of the kernel's
    /// states: it may block, and run and release whatever code of users.
    func gateResolved(_ status: Int32)

    /// Where ``gateResolved(_:)`` is called: nil for the thread that resolved the waiter.
    var resolvingQueue: DispatchQueue? { get }
}

/// An asynchronous waiter at a gate, in memory of its own, which its owner frees.
///
/// The kernel holds a reference to the owner from the moment that it accepts the waiter until it resolves it, or hands
/// it to the queue on which it is performed.
struct GateWaiter: @unchecked Sendable {
    /// `later` stands first: the kernel knows the memory by that address too.
    private struct Memory {
        var later = csk_gate_later_t()
        var waiter = csk_gate_waiter_t()
        var status: Int32 = 0
        /// What the kernel holds.
        var owner: (any GateWaiterOwner)?
    }

    private let memory: UnsafeMutablePointer<Memory>

    init() {
        memory = .allocate(capacity: 1)
        memory.initialize(to: Memory())
        memory.pointee.later.function = Self.resolve
    }

    func deallocate() {
        memory.deinitialize(count: 1)
        memory.deallocate()
    }

    private var waiter: UnsafeMutablePointer<csk_gate_waiter_t> { memory.pointer(to: \.waiter)! }

    /// The kernel is in the midst of its work here: this must not touch the owner, whose release may run code of users.
    private static let resolved: csk_gate_function_t = { _, context, status in
        let memory = context!.assumingMemoryBound(to: Memory.self)
        memory.pointee.status = status
        let later = UnsafeSendablePointer(pointer: memory.pointer(to: \.later)!)
        if !csk_gate_call_later(later.pointer) { DispatchQueue.global().async { resolve(later.pointer) } }
    }

    /// A queue gets the memory and no reference: the last one is then released there, and never on this thread, which
    /// may be the timers'.
    private static let resolve: @convention(c) (UnsafeMutablePointer<csk_gate_later_t>?) -> Void = { later in
        let memory = RuntimeFacts.whole(at: later!, as: Memory.self)
        let queue = memory.pointee.owner!.resolvingQueue
        guard let queue else { return finish(memory) }
        let later = UnsafeSendablePointer(pointer: later!)
        queue.async { finish(RuntimeFacts.whole(at: later.pointer)) }
    }

    private static func finish(_ memory: UnsafeMutablePointer<Memory>) {
        let status = memory.pointee.status
        memory.pointee.owner.take()!.gateResolved(status)
    }

    /// The owner of a waiter that ``csk_gate_begin`` has handed over.
    static func takeOwner(of waiter: UnsafeMutablePointer<csk_gate_waiter_t>) -> any GateWaiterOwner {
        waiter.pointee.context.assumingMemoryBound(to: Memory.self).pointee.owner.take()!
    }

    private func accepted(_ owner: any GateWaiterOwner, by queue: () -> Int32) -> Int32 {
        memory.pointee.owner = owner
        let status = queue()
        if status != 0 { memory.pointee.owner = nil }
        return status
    }

    /// Queues the waiter in a lane: 0, or an errno value.
    func lock(
        _ gate: UnsafeMutablePointer<csk_gate_t>, rank: Int64, deadline: Int64, lane: UnsafeMutablePointer<csk_gate_lane_t>,
        owner: any GateWaiterOwner
    ) -> Int32 {
        accepted(owner) { csk_gate_lock_lane(gate, waiter, rank, deadline, lane, Self.resolved, memory) }
    }

    /// Queues a waiter that can't have its grant now, at its old place.
    func relock(_ gate: UnsafeMutablePointer<csk_gate_t>, owner: any GateWaiterOwner) -> Int32 {
        accepted(owner) { csk_gate_relock_async(gate, waiter) }
    }

    /// Closes the gate for others, and waits for those accepted before.
    func close(_ gate: UnsafeMutablePointer<csk_gate_t>, owner: any GateWaiterOwner) -> Int32 {
        accepted(owner) { csk_gate_close(gate, waiter, Self.resolved, memory) }
    }

    /// Makes the calling thread the holder: false when the grant was lost meanwhile, or belongs to one that comes
    /// first.
    func adopt(_ gate: UnsafeMutablePointer<csk_gate_t>) -> Bool {
        csk_gate_adopt(gate, waiter) == 0
    }

    /// Gives up a grant that could not be adopted; nothing happens where there is none.
    func forget(_ gate: UnsafeMutablePointer<csk_gate_t>) {
        csk_gate_forget(gate, waiter)
    }

    /// Resolves the waiter with `ECANCELED` if it is queued; nothing happens otherwise.
    func cancel(_ gate: UnsafeMutablePointer<csk_gate_t>) {
        csk_gate_cancel(gate, waiter)
    }
}

private struct UnsafeSendablePointer: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<csk_gate_later_t>
}
