import CSyncKernel

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
