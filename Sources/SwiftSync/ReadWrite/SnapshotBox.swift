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

/// The object that owns the kernel's snapshot and the current version. Replaced versions belong to the kernel.
@usableFromInline
@safe
final class SnapshotBox<Value: ~Copyable>: ManagedBuffer<SnapshotHeader, Void> {
    /// For reads and updates, which use the box once more at their ends.
    @inlinable
    @safe var snapshot: UnsafeMutablePointer<csk_snapshot_t> { unsafe Layout.first(of: lastingHeader) }

    /// Calls `body` with the kernel's snapshot, and keeps the box until it has returned.
    @discardableResult
    @inlinable
    @inline(__always)
    func withSnapshot<Result>(_ body: (UnsafeMutablePointer<csk_snapshot_t>) -> Result) -> Result {
        unsafe withUnsafeMutablePointerToHeader { unsafe body(Layout.first(of: $0)) }
    }

    /// The snapshot's name in messages and reports.
    @usableFromInline
    var name: String {
        unsafe withUnsafeMutablePointerToHeader {
            unsafe $0.pointee.place.name(of: Layout.first(of: $0, as: csk_snapshot_t.self))
        }
    }

    @usableFromInline
    static func make(_ first: SnapshotVersion<Value>, _ place: csk_place_t) -> SnapshotBox {
        KernelReports.arePassedOn
        let box = unsafe unsafeDowncast(
            SnapshotBox.create(minimumCapacity: 0) { _ in SnapshotHeader() }, to: SnapshotBox.self)
        unsafe box.withSnapshot {
            let gate = unsafe UnsafeMutableRawPointer($0 + 1) - MemoryLayout<csk_gate_t>.size
            unsafe csk_gate_set_place(gate.assumingMemoryBound(to: csk_placed_gate_t.self), place)
        }
        _ = box.store(first)
        return box
    }

    /// A reader keeps the box alive, so no reader is left here. The end of the box destroys the last version at once.
    deinit {
        unsafe withUnsafeMutablePointerToHeader {
            unsafe csk_snapshot_destroy(Layout.first(of: $0))
            unsafe $0.pointee.place.end()
        }
    }

    /// Waits for the turn of the caller's update. It returns zero or an errno value.
    @usableFromInline
    func beginUpdate(deadline: Int64) -> Int32 {
        var value: UnsafeRawPointer?
        return unsafe withSnapshot { unsafe csk_snapshot_update_begin($0, &value, deadline) }
    }

    /// The current value, valid while the caller's update lasts.
    @inlinable
    var updated: UnsafePointer<Value> {
        unsafe csk_snapshot_get(snapshot).unsafelyUnwrapped.assumingMemoryBound(to: Value.self)
    }

    @usableFromInline
    func endUpdate(_ version: consuming SnapshotVersion<Value>) {
        let (value, node) = unsafe published(version)
        unsafe withSnapshot { unsafe csk_snapshot_update_end($0, value, node, releaseRetired) }
    }

    @usableFromInline
    func cancelUpdate() { unsafe withSnapshot { unsafe csk_snapshot_update_cancel($0) } }

    @usableFromInline
    func store(_ version: consuming SnapshotVersion<Value>) -> Int32 {
        let (value, node) = unsafe published(version)
        let status = unsafe withSnapshot { unsafe csk_snapshot_store($0, value, node, releaseRetired) }
        if status != 0 { unsafe releaseRetired(node) }
        return status
    }

    /// Returns what the kernel is to publish. From here on the kernel owns the version.
    private func published(
        _ version: consuming SnapshotVersion<Value>
    ) -> (UnsafeMutablePointer<Value>, UnsafeMutablePointer<csk_rcu_node_t>) {
        let reference = unsafe Unmanaged.passRetained(version).toOpaque()
        return unsafe version.withUnsafeMutablePointers { node, value in
            unsafe node.pointee.context = reference
            return unsafe (value, node)
        }
    }
}
