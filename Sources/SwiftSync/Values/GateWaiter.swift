import CSyncKernel

/// An asynchronous waiter at a gate, whose subclasses say what happens when it is resolved.
///
/// The kernel holds one reference from the moment that it accepts the waiter until it resolves it.
class GateWaiter {
    private let waiter: UnsafeMutablePointer<csk_gate_waiter_t>

    init() {
        waiter = .allocate(capacity: 1)
        waiter.initialize(to: csk_gate_waiter_t())
    }

    deinit {
        waiter.deallocate()
    }

    /// The gate is the waiter's (0), or never will be. Called once for each acceptance, on the thread that resolved it.
    func resolve(_ status: Int32) {
        fatalError("QueueSafeValue: \(Self.self) does not say what it waits for")
    }

    private static let resolved: csk_gate_function_t = { _, context, status in
        Unmanaged<GateWaiter>.fromOpaque(context!).takeRetainedValue().resolve(status)
    }

    private func accepted(by queue: (UnsafeMutableRawPointer) -> Int32) -> Int32 {
        let reference = Unmanaged.passRetained(self)
        let status = queue(reference.toOpaque())
        if status != 0 { reference.release() }
        return status
    }

    /// Queues the waiter: 0, or an errno value. The grant is provisional until ``adopt(_:)``.
    final func lock(_ gate: UnsafeMutablePointer<csk_gate_t>, rank: Int64, deadline: Int64) -> Int32 {
        accepted { csk_gate_lock_async_ranked(gate, waiter, rank, deadline, true, Self.resolved, $0) }
    }

    /// Queues a waiter that lost its grant at its old place.
    final func relock(_ gate: UnsafeMutablePointer<csk_gate_t>) -> Int32 {
        accepted { _ in csk_gate_relock_async(gate, waiter) }
    }

    /// Closes the gate for others, and waits for those accepted before.
    final func close(_ gate: UnsafeMutablePointer<csk_gate_t>) -> Int32 {
        accepted { csk_gate_close(gate, waiter, Self.resolved, $0) }
    }

    /// Makes the calling thread the holder: false when the grant was lost meanwhile.
    final func adopt(_ gate: UnsafeMutablePointer<csk_gate_t>) -> Bool {
        csk_gate_adopt(gate, waiter) == 0
    }

    /// Gives up a lost grant.
    final func forget(_ gate: UnsafeMutablePointer<csk_gate_t>) {
        csk_gate_forget(gate, waiter)
    }

    /// Resolves the waiter with `ECANCELED` if it is queued; nothing happens otherwise.
    final func cancel(_ gate: UnsafeMutablePointer<csk_gate_t>) {
        csk_gate_cancel(gate, waiter)
    }
}
