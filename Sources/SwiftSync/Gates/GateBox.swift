public import CSyncKernel

/// One allocation that holds a gate, its name, and the value behind it. Its users decide when the value is destroyed.
/// The header is a gate with its place, or begins with it. Each deinit ends the place.
///
/// The pointers stay valid for as long as the box exists, and using one does not keep the box: its life ends with its
/// last use. So the kernel is called inside of ``withGate(_:)``, and a section uses the box once more in ``leave()``.
/// Code that keeps a pointer keeps the box beside it (`docs/design/memory.md`).
@usableFromInline
@safe
class GateBox<Header, Value: ~Copyable>: ManagedBuffer<Header, Value> {
    @inlinable
    @safe final var gate: UnsafeMutablePointer<csk_gate_t> {
        unsafe Layout.first(of: lastingHeader)
    }

    @inlinable
    @safe final var value: UnsafeMutablePointer<Value> {
        lastingElements
    }

    /// Calls `body` with the gate, and keeps the box until it has returned.
    @inlinable
    @inline(__always)
    @discardableResult
    final func withGate<Result>(_ body: (UnsafeMutablePointer<csk_gate_t>) -> Result) -> Result {
        unsafe withUnsafeMutablePointerToHeader { unsafe body(Layout.first(of: $0)) }
    }

    /// Enters at normal rank if the gate is free and no waiter goes first. This is the inline part of entering.
    @inlinable
    @inline(__always)
    final func enterFast() -> Bool { unsafe withGate { unsafe csk_gate_enter_fast($0) } }

    /// Leaves the section. The box, and with it the value, lives until here.
    @inlinable
    @inline(__always)
    final func leave() { unsafe withGate { unsafe csk_gate_leave($0) } }

    /// Returns whether a task that has passed the queue stays inside. A task or command of its executor may have lost
    /// its turn, and that one goes first.
    @inlinable
    final func mayStay() -> Bool {
        if unsafe !withGate({ unsafe csk_gate_has_lost_grants($0) }) { return true }
        leaveSuspended()
        return false
    }

    /// Leaves the section of a task. The thread must not change between the entry and this call. If it did, the gate
    /// would stay held for good, so the program stops.
    @inlinable
    final func leaveSuspended() {
        let status = unsafe withGate { unsafe csk_gate_unlock($0) }
        if status != 0 { stopLeaving(status) }
    }

    @usableFromInline
    final func stopLeaving(_ status: Int32) -> Never {
        fatalError("\(kind) \(name): a suspending section can't leave: \(statusText(status))")
    }

    /// What users call an object with such a box.
    @usableFromInline
    var kind: String { "PriorityMutex" }

    @inlinable
    final var place: csk_place_t {
        unsafe withUnsafeMutablePointerToHeader {
            unsafe Layout.first(of: $0, as: csk_placed_gate_t.self).pointee.place
        }
    }

    /// The gate's name in messages and reports.
    @usableFromInline
    final var name: String { unsafe withGate { unsafe place.name(of: $0) } }

    /// Waits at `rank` after the inline entry has failed. It returns zero or an errno value.
    @usableFromInline
    final func enterSlowly(rank: Int64, deadline: Int64) -> Int32 {
        unsafe csk_gate_lock_slow(gate, rank, deadline)
    }

    /// Waits at `rank` within a limit that counts from now, after the inline entry has failed.
    @usableFromInline
    final func enterSlowly(rank: Int64, within limit: TimeLimit) -> Int32 {
        enterSlowly(rank: rank, deadline: limit.deadline())
    }

    /// The number of waiters at some instant during the call. It is meant for tests and statistics.
    final var waitingCount: Int {
        unsafe Int(csk_gate_waiting(gate))
    }
}

extension csk_placed_gate_t {
    /// Prepares a gate with the given attributes in its place in memory, before it is shared. That copies nothing.
    @usableFromInline
    static func prepare(
        _ placed: UnsafeMutablePointer<csk_placed_gate_t>, _ policy: GatePolicy, _ bypassLimit: UInt32?,
        graceMicroseconds: UInt32 = 0, _ place: csk_place_t
    ) {
        KernelReports.arePassedOn
        var attributes = csk_gate_attr_t(
            size: 0, policy: policy.kernelPolicy, bypass_limit: BypassLimit.ofKernel(bypassLimit),
            grace_us: graceMicroseconds)
        unsafe csk_gate_init(Layout.first(of: placed), &attributes)
        unsafe csk_gate_set_place(placed, place)
    }
}

/// A box whose value lives as long as the box.
@usableFromInline
@safe
final class OwningGateBox<Value: ~Copyable>: GateBox<csk_placed_gate_t, Value> {
    @inlinable
    static func make(
        _ value: consuming sending Value, _ policy: GatePolicy, _ bypassLimit: UInt32?, _ place: csk_place_t
    ) -> OwningGateBox {
        let buffer = unsafe OwningGateBox.create(minimumCapacity: 1) { _ in unsafe csk_placed_gate_t() }
        let box = unsafe unsafeDowncast(buffer, to: OwningGateBox.self)
        unsafe box.place(value) { unsafe csk_placed_gate_t.prepare($0, policy, bypassLimit, place) }
        return box
    }

    @inlinable
    deinit {
        unsafe place.end()
        unsafe endElement()
    }
}

extension OwningGateBox where Value: ~Copyable {
    /// Calls `body` with the value under the lock. It is meant for short sections of the library itself, which call
    /// nothing that might wait.
    @inline(__always)
    func withLock<Result: ~Copyable>(_ body: (inout Value) -> Result) -> Result {
        unsafe csk_gate_lock(gate, CommandPriority.normal.rawValue)
        defer { unsafe csk_gate_leave(gate) }
        return body(&value.pointee)
    }
}
