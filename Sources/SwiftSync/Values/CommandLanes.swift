import CSyncKernel
import Dispatch

/// The lanes in use, of all values, by gate and by queue or executor. They are kept in a table of short lists, each
/// behind a lock.
///
/// A lane is in use while one of its commands exists. A block may outlive it, and then finds nothing to perform.
enum CommandLanes {
    @safe
    private struct List {
        var lock = unsafe csk_gate_t()
        var first: CommandLane?
    }

    private static let listsShift: UInt = 58
    nonisolated(unsafe) private static let lists: UnsafeMutablePointer<List> = {
        let count = 1 << (64 - Int(listsShift))
        let lists = UnsafeMutablePointer<List>.allocate(capacity: count)
        for index in 0..<count { unsafe (lists + index).initialize(to: List()) }
        return unsafe lists
    }()

    private static func list(_ gate: UnsafeMutablePointer<csk_gate_t>, _ key: UInt) -> UnsafeMutablePointer<List> {
        unsafe lists + Int((((UInt(bitPattern: gate) >> 4) ^ key) &* 0x9E37_79B9_7F4A_7C15) >> listsShift)
    }

    private static func withLock<R>(_ list: UnsafeMutablePointer<List>, _ body: (UnsafeMutablePointer<List>) -> R) -> R
    {
        let lock = unsafe list.pointer(to: \.lock)!
        unsafe csk_gate_lock(lock, 0)
        defer { unsafe csk_gate_unlock(lock) }
        return unsafe body(list)
    }

    private static func find(
        _ list: UnsafeMutablePointer<List>, _ gate: UnsafeMutablePointer<csk_gate_t>, _ key: UInt, isQueue: Bool
    ) -> CommandLane? {
        var lane = unsafe list.pointee.first
        while let candidate = lane, unsafe !candidate.matches(gate, key, isQueue: isQueue) { lane = candidate.next }
        lane?.users.add(1, ordering: .relaxed)
        return lane
    }

    /// Returns the lane of a queue, or of an executor, which has no queue. The caller uses the lane until it leaves it.
    static func enter(
        _ gate: UnsafeMutablePointer<csk_gate_t>, box: AnyObject, queue: DispatchQueue?, key: UInt
    ) -> CommandLane {
        let list = unsafe list(gate, key)
        if let lane = unsafe withLock(list, { unsafe find($0, gate, key, isQueue: queue != nil) }) { return lane }
        let fresh = unsafe CommandLane(gate, box: box, queue: queue, key: key)
        return unsafe withLock(list) { list in
            if let lane = unsafe find(list, gate, key, isQueue: queue != nil) { return lane }
            fresh.next = unsafe list.pointee.first
            unsafe list.pointee.first = fresh
            return fresh
        }
    }

    static func leave(_ lane: CommandLane) {
        guard lane.users.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        unsafe withLock(list(lane.gate, lane.key)) { list in
            // Another thread may have found it again meanwhile, and may even have left it again.
            if lane.isListed, lane.users.load(ordering: .relaxed) == 0 { unsafe unlink(lane, list) }
        }
    }

    private static func unlink(_ lane: CommandLane, _ list: UnsafeMutablePointer<List>) {
        if unsafe list.pointee.first === lane {
            unsafe list.pointee.first = lane.next
        } else {
            var previous = unsafe list.pointee.first!
            while previous.next !== lane { previous = previous.next! }
            previous.next = lane.next
        }
        lane.next = nil
        lane.isListed = false
    }
}
