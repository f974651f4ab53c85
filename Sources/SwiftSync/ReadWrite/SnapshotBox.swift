#if RCU
public import CSyncKernel

/// One version of a snapshot's value, with the node that queues it for reclamation. Both are one allocation.
@usableFromInline
@safe
final class SnapshotVersion<Value: ~Copyable>: ManagedBuffer<csk_rcu_node_t, Value> {
    @inlinable
    static func make(_ value: consuming Value) -> SnapshotVersion {
        let buffer = unsafe SnapshotVersion.create(minimumCapacity: 1) { _ in unsafe csk_rcu_node_t() }
        let version = unsafe unsafeDowncast(buffer, to: SnapshotVersion.self)
        unsafe version.place(value) { _ in }
        return version
    }

    @inlinable
    @safe var value: UnsafeMutablePointer<Value> { lastingElements }

    @inlinable
    deinit { unsafe endElement() }
}

/// The function that the kernel calls after a grace period. It releases the object that the node is a part of.
func releaseRetired(_ node: UnsafeMutablePointer<csk_rcu_node_t>?) {
    unsafe Unmanaged<AnyObject>.fromOpaque(node!.pointee.context).release()
}

/// The kernel's snapshot, and what it is called. The gate of its updates stands last, so its place is directly behind
/// it.
@usableFromInline
@safe
struct SnapshotHeader {
    @usableFromInline var snapshot = unsafe csk_snapshot_t()
    @usableFromInline var place = unsafe csk_place_t()

    @usableFromInline init() {}
}

/// The kernel's snapshot in an object of its own. The object owns the current version. Versions that were replaced
/// belong to the kernel.
@usableFromInline
@safe
final class SnapshotBox<Value: ~Copyable>: ManagedBuffer<SnapshotHeader, Void> {
    @inlinable
    @safe var snapshot: UnsafeMutablePointer<csk_snapshot_t> { unsafe Layout.first(of: lastingHeader) }

    /// What messages and reports call the snapshot.
    @usableFromInline
    var name: String { unsafe lastingHeader.pointee.place.name(of: snapshot) }

    @usableFromInline
    static func make(_ first: SnapshotVersion<Value>, _ place: csk_place_t) -> SnapshotBox {
        KernelReports.arePassedOn
        let box = unsafe unsafeDowncast(
            SnapshotBox.create(minimumCapacity: 0) { _ in SnapshotHeader() }, to: SnapshotBox.self)
        let gate =
            unsafe UnsafeMutableRawPointer(box.lastingHeader)
            + MemoryLayout<csk_snapshot_t>.size - MemoryLayout<csk_gate_t>.size
        unsafe csk_gate_set_place(gate.assumingMemoryBound(to: csk_placed_gate_t.self), place)
        _ = box.store(first)
        return box
    }

    /// Whoever reads keeps the box alive, so nobody sees the last version any more. The end of the box destroys that
    /// version at once.
    deinit {
        unsafe csk_snapshot_destroy(snapshot)
        unsafe lastingHeader.pointee.place.end()
    }

    /// Waits for the turn of the caller's update. It returns zero or an errno value.
    @usableFromInline
    func beginUpdate(deadline: Int64) -> Int32 {
        var value: UnsafeRawPointer?
        return unsafe csk_snapshot_update_begin(snapshot, deadline, &value)
    }

    /// The current value, which stays for as long as the caller's update lasts.
    @inlinable
    var updated: UnsafePointer<Value> {
        unsafe csk_snapshot_get(snapshot).unsafelyUnwrapped.assumingMemoryBound(to: Value.self)
    }

    @usableFromInline
    func endUpdate(_ version: consuming SnapshotVersion<Value>) {
        let (value, node) = unsafe published(version)
        unsafe csk_snapshot_update_end(snapshot, value, node, releaseRetired)
    }

    @usableFromInline
    func cancelUpdate() { unsafe csk_snapshot_update_cancel(snapshot) }

    @usableFromInline
    func store(_ version: consuming SnapshotVersion<Value>) -> Int32 {
        let (value, node) = unsafe published(version)
        let status = unsafe csk_snapshot_store(snapshot, value, node, releaseRetired)
        if status != 0 { unsafe releaseRetired(node) }
        return status
    }

    /// Returns what the kernel is to publish. From here on the kernel owns the version.
    private func published(
        _ version: consuming SnapshotVersion<Value>
    ) -> (UnsafeMutablePointer<Value>, UnsafeMutablePointer<csk_rcu_node_t>) {
        let node = version.lastingHeader
        let value = version.value
        unsafe node.pointee.context = Unmanaged.passRetained(version).toOpaque()
        return unsafe (value, node)
    }
}
#endif
