import CSyncKernel
import Dispatch

/// The object that waits at a gate by means of a ``GateWaiter``.
protocol GateWaiterOwner: AnyObject, Sendable {
    /// Called when the waiter is resolved. With the status 0 the owner holds the gate; otherwise it never will. The
    /// call comes once for each acceptance, and outside of all of the kernel's states. It may block, and it may run
    /// users' code and release their objects.
    func gateResolved(_ status: Int32)

    /// The queue on which ``gateResolved(_:)`` is called. Nil means the thread that resolved the waiter.
    var resolvingQueue: DispatchQueue? { get }
}

/// An asynchronous waiter at a gate. Its memory is a part of its owner.
///
/// The kernel holds a reference to the owner from the moment at which it accepts the waiter. It keeps the reference
/// until it resolves the waiter, or hands it to the queue on which it is performed.
@safe
struct GateWaiter: @unchecked Sendable {
    /// The kernel knows the memory by the address of `later` too.
    @safe
    struct Memory {
        var later = unsafe csk_gate_later_t()
        var waiter = unsafe csk_waiter_t()
        var status: Int32 = 0
        /// The reference that the kernel holds.
        var owner: (any GateWaiterOwner)?

        init() { unsafe later.function = resolve }
    }

    @safe let memory: UnsafeMutablePointer<Memory>

    /// The waiter whose memory is this property of its owner.
    @inline(__always)
    init(in memory: inout Memory) { unsafe self.memory = RuntimeFacts.lastingAddress(of: &memory) }

    @safe var waiter: UnsafeMutablePointer<csk_waiter_t> { unsafe memory.pointer(to: \.waiter)! }

    /// This runs in the middle of the kernel's work. It must not touch the owner, because releasing the owner may run
    /// code of users.
    static let resolved: csk_waiter_function_t = { _, context, status in
        let memory = unsafe context!.assumingMemoryBound(to: Memory.self)
        unsafe memory.pointee.status = status
        let later = unsafe UnsafeSendablePointer(pointer: memory.pointer(to: \.later)!)
        if unsafe !csk_gate_call_later(later.pointer) { DispatchQueue.global().async { unsafe resolve(later.pointer) } }
    }

    /// The queue gets the memory without a reference. So the last reference is released on the queue, never on this
    /// thread, which may be the timers' thread.
    private static let resolve: @convention(c) (UnsafeMutablePointer<csk_gate_later_t>?) -> Void = { later in
        let memory = unsafe Layout.whole(of: later!, at: \Memory.later)
        let queue = unsafe memory.pointee.owner!.resolvingQueue
        guard let queue else { return unsafe finish(memory) }
        let later = unsafe UnsafeSendablePointer(pointer: later!)
        queue.async { unsafe finish(Layout.whole(of: later.pointer, at: \Memory.later)) }
    }

    private static func finish(_ memory: UnsafeMutablePointer<Memory>) {
        let status = unsafe memory.pointee.status
        unsafe memory.pointee.owner.take()!.gateResolved(status)
    }

    /// The owner of a waiter that was granted the gate, before its lane's function holds the lane.
    @inline(__always)
    static func owner<Owner: GateWaiterOwner>(
        of waiter: UnsafeMutablePointer<csk_waiter_t>, as type: Owner.Type
    ) -> Unmanaged<Owner> {
        let memory = unsafe waiter.pointee.context.assumingMemoryBound(to: Memory.self)
        return unsafe Unmanaged.passUnretained(unsafeDowncast(memory.pointee.owner!, to: type))
    }

    /// Takes the owner of a waiter that ``csk_gate_begin`` has handed over.
    static func takeOwner(of waiter: UnsafeMutablePointer<csk_waiter_t>) -> any GateWaiterOwner {
        unsafe waiter.pointee.context.assumingMemoryBound(to: Memory.self).pointee.owner.take()!
    }

    /// Gives the kernel its reference, before the kernel has the waiter.
    @inline(__always)
    func hand(_ owner: consuming any GateWaiterOwner) {
        unsafe memory.pointer(to: \.owner)!.initialize(to: owner)
    }

    /// Calls `queue`, after which another thread may own the waiter already. If the kernel has refused the waiter, the
    /// owner is taken back.
    @inline(__always)
    func accepted(_ owner: consuming any GateWaiterOwner, by queue: () -> Int32) -> Int32 {
        hand(owner)
        let status = queue()
        if status != 0 { memory.pointee.owner = nil }
        return status
    }

    /// Resolves a waiter that the kernel has refused.
    func refuse(_ status: Int32) {
        memory.pointee.status = status
        unsafe Self.resolve(memory.pointer(to: \.later))
    }

    /// Queues a waiter again at its old place, because it can't have its grant now.
    func relock(_ gate: UnsafeMutablePointer<csk_gate_t>, owner: any GateWaiterOwner) -> Int32 {
        accepted(owner) { unsafe csk_gate_relock_async(gate, waiter) }
    }

    /// Queues the waiter at an object that is no gate, by `queue`, which gets the waiter, its function and its context
    /// for the kernel. It returns 0 or an errno value.
    func lock(
        owner: consuming any GateWaiterOwner,
        by queue: (UnsafeMutablePointer<csk_waiter_t>, csk_waiter_function_t, UnsafeMutableRawPointer) -> Int32
    ) -> Int32 {
        accepted(owner) { unsafe queue(waiter, Self.resolved, memory) }
    }

    /// Closes the gate, and waits for the waiters that were accepted before.
    func close(_ gate: UnsafeMutablePointer<csk_gate_t>, owner: any GateWaiterOwner) -> Int32 {
        accepted(owner) { unsafe csk_gate_close(gate, waiter, Self.resolved, memory) }
    }

    /// Makes the calling thread the holder. It returns false if the grant was lost meanwhile, or belongs to a waiter
    /// that goes first.
    func adopt(_ gate: UnsafeMutablePointer<csk_gate_t>) -> Bool {
        unsafe csk_gate_adopt(gate, waiter) == 0
    }

    /// Gives up a grant that could not be adopted. Without a grant nothing happens.
    func forget(_ gate: UnsafeMutablePointer<csk_gate_t>) {
        unsafe csk_gate_forget(gate, waiter)
    }

    /// Calls `body` with the waiter, which was resolved.
    func read<Result>(_ body: (UnsafePointer<csk_waiter_t>) -> Result) -> Result { unsafe body(waiter) }

    /// Calls `change` with the waiter, which cancels or changes it if it is queued.
    func change(by change: (UnsafeMutablePointer<csk_waiter_t>) -> Int32) { _ = unsafe change(waiter) }
}

@safe
private struct UnsafeSendablePointer: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<csk_gate_later_t>
}
