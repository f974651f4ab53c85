public import CSyncKernel

// `Layout.first(of:)` reaches the first field of a header; ``RuntimeFacts/areChecked`` checks that it is first.

/// The header of a protected value's box.
@usableFromInline
@safe
struct ValueHeader {
    @usableFromInline var placed: csk_placed_gate_t
    /// The address of the kernel's part of the value's ``ValueLanes``; 0 before the first command that needs them.
    @usableFromInline var lanes: UInt = 0

    @inlinable
    init() { unsafe placed = csk_placed_gate_t() }
}

/// The kernel's snapshot, and its name. The gate of its updates is the last field, so its place is directly behind it.
@usableFromInline
@safe
struct SnapshotHeader {
    @usableFromInline var snapshot = unsafe csk_snapshot_t()
    @usableFromInline var place = unsafe csk_place_t()

    @usableFromInline init() {}
}
