import CSyncKernel

extension GateWaiter {
    /// Queues the waiter in the lane of a queue or executor. It returns 0 or an errno value.
    func lock(
        _ gate: UnsafeMutablePointer<csk_gate_t>, of box: AnyObject, rank: Int64, deadline: Int64, key: UInt,
        isQueue: Bool, owner: consuming any GateWaiterOwner
    ) -> Int32 {
        accepted(owner) {
            unsafe lock(gate, of: box, rank: rank, deadline: deadline, key: key, isQueue: isQueue)
        }
    }

    /// Queues the waiter in a lane; a refusal resolves it too. So the caller needs no reference to the owner
    /// afterwards.
    func lockOrResolve(
        _ gate: UnsafeMutablePointer<csk_gate_t>, of box: AnyObject, rank: Int64, deadline: Int64, key: UInt,
        isQueue: Bool, owner: consuming any GateWaiterOwner
    ) {
        hand(owner)
        let status = unsafe lock(gate, of: box, rank: rank, deadline: deadline, key: key, isQueue: isQueue)
        if status != 0 { refuse(status) }
    }

    @inline(__always)
    private func lock(
        _ gate: UnsafeMutablePointer<csk_gate_t>, of box: AnyObject, rank: Int64, deadline: Int64, key: UInt,
        isQueue: Bool
    ) -> Int32 {
        let lanes = unsafe ValueLanes.of(gate, box)
        var spare: UnsafeMutablePointer<csk_gate_lane_t>?
        while true {
            let status = unsafe csk_gate_lock_keyed(
                gate, rank, waiter, lanes, UInt64(key), isQueue, &spare, deadline, Self.resolved, memory)
            if status != ENOBUFS {
                unsafe spare?.deallocate()
                return status
            }
            unsafe spare = .allocate(capacity: 1)
            unsafe spare!.initialize(to: csk_gate_lane_t())
        }
    }
}
