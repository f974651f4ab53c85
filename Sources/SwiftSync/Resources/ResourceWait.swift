import CSyncKernel

/// A task that waits for a resource. It stands in the pool's queue until its turn comes, or until it takes itself out.
@safe
final class ResourceWait: TaskWait, HeapMember, @unchecked Sendable {
    let request: ResourceRequest
    /// The task's own priority.
    let priority = Task.currentPriority
    /// A resource whose use has begun, or why there is none. It is written under the pool's lock, before the wait is
    /// resolved.
    var turn: Result<PooledResource, any Error>?
    /// Whether a factory or a check began for it when it came: what these take is no contention.
    var isForPreparation = false
    /// Whether it may only have what is not reserved. Guarded by the pool's lock.
    fileprivate(set) var isCommon = false
    @exclusivity(unchecked) private var memory = HeapPlace()

    init(_ request: ResourceRequest) {
        self.request = request
        super.init()
    }

    override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_RESOURCE)
        unsafe told.rank = request.rank
        unsafe told.ticket = heapPlace.pointee.node.ticket
        unsafe told.is_not_counted = isForPreparation ? 1 : 0
    }

    var heapPlace: UnsafeMutablePointer<HeapPlace> { unsafe RuntimeFacts.lastingAddress(of: &memory) }
}

/// Those who wait at a pool: by priority, and within one priority by arrival. The pool's lock guards it.
///
/// A task that waits keeps its wait, and does not go on as long as it is in here.
struct ResourceQueue {
    private var heap = ResourceHeap<ResourceWait>()
    private var nextTicket: Int64 = 0
    /// How many of them may only have what is not reserved.
    private(set) var commonCount = 0

    var count: Int { heap.count }

    /// The first in order.
    var first: ResourceWait? { mutating get { heap.first } }

    mutating func append(_ wait: ResourceWait, isCommon: Bool) {
        wait.isCommon = isCommon
        if isCommon { commonCount += 1 }
        heap.insert(wait, rank: wait.request.rank, ticket: nextTicket)
        nextTicket += 1
    }

    /// It does nothing for one that is not in here.
    mutating func remove(_ wait: ResourceWait) {
        if heap.remove(wait), wait.isCommon { commonCount -= 1 }
    }
}

/// A shutdown that waits until nothing is left.
final class ResourceDrain: TaskWait, @unchecked Sendable {
    override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_DRAINED)
        unsafe told.is_not_counted = 1
    }
}
