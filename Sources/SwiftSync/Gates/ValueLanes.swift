public import CSyncKernel
import Synchronization

/// The lanes of one value, by queue and executor. The kernel keeps the commands of a lane in order; it finds the lane,
/// and reassigns an unused lane to another queue or executor.
///
/// They are made by the first command that needs them, and last as long as the value's box. A lane holds neither the
/// box nor its queue: its waiters hold their queue; the closing waiter, or a block of the lane, holds the box.
@usableFromInline
@safe
struct ValueLanes {
    /// The kernel's part, whose context is the whole.
    fileprivate var lanes = unsafe csk_gate_lanes_t()
    @safe let gate: UnsafeMutablePointer<csk_gate_t>
    /// The object that keeps all of this alive.
    @safe let box: Unmanaged<AnyObject>

    private init(_ gate: UnsafeMutablePointer<csk_gate_t>, _ box: AnyObject) {
        self.gate = unsafe gate
        self.box = unsafe Unmanaged.passUnretained(box)
    }

    private static func slot(_ gate: UnsafeMutablePointer<csk_gate_t>) -> UnsafeMutablePointer<Atomic<UInt>> {
        let header = unsafe UnsafeMutableRawPointer(gate).assumingMemoryBound(to: ValueHeader.self)
        return unsafe UnsafeMutableRawPointer(header.pointer(to: \.lanes)!).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    /// The lanes of the value in `box`, which `gate` protects.
    @inline(__always)
    static func of(
        _ gate: UnsafeMutablePointer<csk_gate_t>, _ box: AnyObject
    ) -> UnsafeMutablePointer<csk_gate_lanes_t> {
        let address = unsafe slot(gate).pointee.load(ordering: .acquiring)
        let lanes = unsafe UnsafeMutablePointer<csk_gate_lanes_t>(bitPattern: address)
        return unsafe lanes ?? make(gate, box)
    }

    private static func make(
        _ gate: UnsafeMutablePointer<csk_gate_t>, _ box: AnyObject
    ) -> UnsafeMutablePointer<csk_gate_lanes_t> {
        let fresh = UnsafeMutablePointer<ValueLanes>.allocate(capacity: 1)
        unsafe fresh.initialize(to: ValueLanes(gate, box))
        let lanes = unsafe fresh.pointer(to: \.lanes)!
        unsafe lanes.pointee.function = CommandLane.granted
        unsafe lanes.pointee.context = UnsafeMutableRawPointer(fresh)
        let (exchanged, found) = unsafe slot(gate).pointee.compareExchange(
            expected: 0, desired: UInt(bitPattern: lanes), ordering: .acquiringAndReleasing)
        if exchanged { return unsafe lanes }
        unsafe fresh.deallocate()
        return unsafe UnsafeMutablePointer(bitPattern: found)!
    }

    /// Frees the lanes of a gate that is no longer used.
    @usableFromInline
    static func free(_ gate: UnsafeMutablePointer<csk_gate_t>) {
        let address = unsafe slot(gate).pointee.load(ordering: .acquiring)
        guard let lanes = unsafe UnsafeMutablePointer<csk_gate_lanes_t>(bitPattern: address) else { return }
        while let lane = unsafe csk_gate_lanes_take(lanes) { unsafe lane.deallocate() }
        unsafe lanes.pointee.context.assumingMemoryBound(to: ValueLanes.self).deallocate()
    }
}
