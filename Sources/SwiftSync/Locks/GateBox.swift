public import CSyncKernel

/// One allocation that holds a gate and the value behind it. Its users decide when the value is destroyed. The header
/// is the gate, or begins with it.
///
/// The pointers stay valid for as long as the box exists. A call that uses them keeps the box alive until it ends.
@usableFromInline
@safe
class GateBox<Header, Value: ~Copyable>: ManagedBuffer<Header, Value> {
    @inlinable
    @safe final var gate: UnsafeMutablePointer<csk_gate_t> {
        unsafe RuntimeFacts.first(of: lastingHeader)
    }

    @inlinable
    @safe final var value: UnsafeMutablePointer<Value> {
        lastingElements
    }

    /// Waits at `rank` after the inline entry has failed. It returns zero or an errno value.
    @usableFromInline
    final func enterSlowly(rank: Int64, deadline: Int64) -> Int32 {
        unsafe csk_gate_lock_slow(gate, rank, deadline)
    }

    /// The same within a limit that counts from now.
    @usableFromInline
    final func enterSlowly(rank: Int64, within limit: TimeLimit) -> Int32 {
        enterSlowly(rank: rank, deadline: limit.deadline())
    }

    /// The number of waiters at some instant during the call. It is meant for tests and statistics.
    final var waitingCount: Int {
        unsafe Int(csk_gate_waiting(gate))
    }
}

extension csk_gate_t {
    /// Makes a gate with the given attributes, before it is shared.
    @usableFromInline
    static func make(_ policy: GatePolicy, _ bypassLimit: UInt32, graceMicroseconds: UInt32 = 0) -> csk_gate_t {
        KernelReports.arePassedOn
        var gate = unsafe csk_gate_t()
        var attributes = csk_gate_attr_t(
            policy: policy.kernelPolicy, bypass_limit: bypassLimit, grace_us: graceMicroseconds)
        unsafe csk_gate_init(&gate, &attributes)
        return unsafe gate
    }
}

/// A box whose value lives as long as the box.
@usableFromInline
@safe
final class OwningGateBox<Value: ~Copyable>: GateBox<csk_gate_t, Value> {
    @inlinable
    static func make(_ value: consuming sending Value, _ policy: GatePolicy, _ bypassLimit: UInt32) -> OwningGateBox {
        let buffer = unsafe OwningGateBox.create(minimumCapacity: 1) { _ in unsafe .make(policy, bypassLimit) }
        let box = unsafe unsafeDowncast(buffer, to: OwningGateBox.self)
        unsafe box.value.initialize(to: value)
        return box
    }

    @inlinable
    deinit {
        _ = unsafe withUnsafeMutablePointerToElements { unsafe $0.deinitialize(count: 1) }
    }
}
