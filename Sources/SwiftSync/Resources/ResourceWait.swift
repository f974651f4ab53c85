import CSyncKernel

/// A task that waits for a resource or for the place of one. It stands in the pool's queue until its turn comes, or
/// until it takes itself out.
@safe
final class ResourceWait: TaskWait, @unchecked Sendable {
    /// The heap knows the memory by the address of `node`.
    @safe
    fileprivate struct Memory {
        var node = unsafe csk_heap_node_t()
        @safe var owner: Unmanaged<ResourceWait>?
    }

    let request: ResourceRequest
    /// It is written under the pool's lock, before the wait is resolved.
    var turn: ResourceTurn?
    /// Guarded by the pool's lock.
    fileprivate(set) var isQueued = false
    @exclusivity(unchecked) private var memory = Memory()

    init(_ request: ResourceRequest) {
        self.request = request
        super.init()
    }

    override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_RESOURCE)
        unsafe told.rank = request.rank
        unsafe told.ticket = address.pointer(to: \.node)!.pointer(to: \.ticket)!.pointee
    }

    @safe fileprivate var address: UnsafeMutablePointer<Memory> { unsafe RuntimeFacts.lastingAddress(of: &memory) }
}

/// Those who wait at a pool: by priority, and within one priority by arrival. The pool's lock guards it.
///
/// It holds no reference to who waits. A task that waits keeps its wait, and does not go on as long as it is in here.
@safe
struct ResourceQueue {
    private var heap = unsafe csk_heap_t()
    private var nextTicket: Int64 = 0
    private(set) var count = 0

    /// The first in order.
    var first: ResourceWait? {
        mutating get {
            guard let node = unsafe csk_heap_top(&heap) else { return nil }
            let memory = unsafe Layout.whole(of: node, at: \ResourceWait.Memory.node)
            return unsafe memory.pointee.owner?.takeUnretainedValue()
        }
    }

    mutating func append(_ wait: ResourceWait) {
        let memory = wait.address
        unsafe memory.pointee.owner = Unmanaged.passUnretained(wait)
        unsafe memory.pointee.node.rank = wait.request.rank
        unsafe memory.pointee.node.ticket = nextTicket
        unsafe csk_heap_insert(&heap, memory.pointer(to: \.node)!)
        nextTicket += 1
        count += 1
        wait.isQueued = true
    }

    /// It does nothing for one that is not in here.
    mutating func remove(_ wait: ResourceWait) {
        if !wait.isQueued { return }
        unsafe csk_heap_remove(&heap, wait.address.pointer(to: \.node)!)
        count -= 1
        wait.isQueued = false
    }
}

/// A shutdown that waits until nothing is left.
final class ResourceDrain: TaskWait, @unchecked Sendable {
    override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_DRAINED)
        unsafe told.is_not_counted = 1
    }
}
