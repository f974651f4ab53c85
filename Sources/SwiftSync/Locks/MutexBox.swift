public import CSyncKernel

/// The box of a ``PriorityMutex``. Tasks wait at its gate in lanes, one for each executor. The first task that has to
/// wait creates them. The value lives as long as the box.
@usableFromInline
@safe
final class MutexBox<Value: ~Copyable>: GateBox<ValueHeader, Value> {
    @inlinable
    static func make(
        _ value: consuming sending Value, _ policy: GatePolicy, _ bypassLimit: UInt32?, graceMicroseconds: UInt32 = 0,
        _ place: csk_place_t
    ) -> MutexBox {
        let buffer = MutexBox.create(minimumCapacity: 1) { _ in ValueHeader() }
        let box = unsafe unsafeDowncast(buffer, to: MutexBox.self)
        unsafe box.place(value) {
            unsafe csk_placed_gate_t.prepare(
                Layout.first(of: $0), policy, bypassLimit, graceMicroseconds: graceMicroseconds, place)
        }
        return box
    }

    @inlinable
    deinit {
        if unsafe withUnsafeMutablePointerToHeader({ unsafe $0.pointee.lanes }) != 0 {
            unsafe withGate { unsafe ValueLanes.free($0) }
        }
        unsafe place.end()
        endElement()
    }
}
