import CSyncKernel

/// A task that waits for a resource. It is in the pool's queue until its turn comes, or until it gives up.
@safe
final class ResourceWait: TaskWait, HeapMember, @unchecked Sendable {
    let request: ResourceRequest
    /// The task's own priority on arrival; and the highest since, which the pool's lock guards.
    let firstPriority: TaskPriority
    var ownPriority: TaskPriority
    /// The priority for the preparations that the task waits for: its own, or that at which it waits, whichever is
    /// higher.
    var priority: TaskPriority {
        max(ownPriority, CommandRank.taskPriority(of: unsafe heapPlace.pointee.node.rank))
    }
    /// A resource whose use has begun, or the reason for none. It is written under the pool's lock, before the wait is
    /// resolved.
    var turn: Result<PooledResource, any Error>?
    /// Whether a factory or a check began on its arrival: their time is no contention.
    var hasBegunSomething = false
    /// Its place among those of its rank. It is written before the task waits.
    fileprivate(set) var ticket: Int64 = 0
    /// Whether it may use unreserved places only. Guarded by the pool's lock.
    fileprivate(set) var isCommon = false
    @exclusivity(unchecked) private var memory = HeapPlace()

    init(_ request: ResourceRequest) {
        self.request = request
        firstPriority = Task.currentPriority
        ownPriority = firstPriority
        super.init()
    }

    override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_RESOURCE)
        unsafe told.rank = csk_rank_in_order(request.rank)
        unsafe told.ticket = ticket
        unsafe told.is_not_counted = hasBegunSomething ? 1 : 0
    }

    var heapPlace: UnsafeMutablePointer<HeapPlace> { unsafe RuntimeFacts.lastingAddress(of: &memory) }
}

/// The waiting requests of a pool: by priority, and within one priority by arrival. The pool's lock guards it.
///
/// A waiting task keeps its wait alive, and does not go on while the wait is in here.
@safe
struct ResourceQueue {
    private var heap = ResourceHeap<ResourceWait>()
    private var nextTicket: Int64 = 0
    /// The requests for unreserved places only, and the others. The limit bounds the overtaking of both: each served
    /// request counts for all of the other kind, though some may have come later.
    private var common = unsafe csk_arrivals_t(), others = unsafe csk_arrivals_t()
    /// The number of requests for unreserved places only.
    private(set) var commonCount = 0

    var count: Int { heap.count }

    init(bypassLimit: UInt32?) {
        unsafe common.limit = BypassLimit.ofKernel(bypassLimit)
        unsafe others.limit = common.limit
    }

    /// The first in order.
    var first: ResourceWait? { mutating get { heap.first } }

    /// The request that was overtaken too often, if there is one. Requests for unreserved places only are left out if
    /// only reserved places are available.
    mutating func overdue(withCommon mayHaveCommon: Bool) -> ResourceWait? {
        let common = mayHaveCommon ? unsafe overdue(csk_arrivals_overdue(&common)) : nil
        guard let other = unsafe overdue(csk_arrivals_overdue(&others)) else { return common }
        guard let common else { return other }
        return common.ticket < other.ticket ? common : other
    }

    private func overdue(_ arrival: UnsafeMutablePointer<csk_arrival_t>?) -> ResourceWait? {
        unsafe arrival.map { unsafe heap.member(at: Layout.whole(of: $0, at: \HeapPlace.arrival)) }
    }

    mutating func append(_ wait: ResourceWait, isCommon: Bool) {
        wait.isCommon = isCommon
        if isCommon { commonCount += 1 }
        let rank = wait.request.rank
        wait.ticket = nextTicket
        heap.insert(wait, rank: csk_rank_in_order(rank), ticket: nextTicket)
        let arrival = unsafe wait.heapPlace.pointer(to: \.arrival)!
        if isCommon {
            unsafe csk_arrivals_add(&common, arrival, csk_rank_is_unnamed(rank))
        } else {
            unsafe csk_arrivals_add(&others, arrival, csk_rank_is_unnamed(rank))
        }
        nextTicket += 1
    }

    /// Removes a wait. It does nothing for a wait that is not in here.
    ///
    /// - Parameter isServed: whether the wait goes before all older ones.
    mutating func remove(_ wait: ResourceWait, isServed: Bool) {
        if !heap.remove(wait) { return }
        let arrival = unsafe wait.heapPlace.pointer(to: \.arrival)!
        if wait.isCommon {
            unsafe csk_arrivals_remove(&common, arrival, isServed)
            if isServed { unsafe csk_arrivals_pass(&others) }
            commonCount -= 1
        } else {
            unsafe csk_arrivals_remove(&others, arrival, isServed)
            if isServed { unsafe csk_arrivals_pass(&common) }
        }
    }

    /// Moves a wait with a lower rank up. It does nothing for a wait that is not in here. A request for unreserved
    /// places only stays below `reserved`, the rank of the others: otherwise it would be before them, and could get
    /// nothing.
    mutating func raise(_ wait: ResourceWait, to rank: Int64, below reserved: Int64) {
        let rank = wait.isCommon ? min(rank, reserved - 1) : rank
        if unsafe rank <= wait.heapPlace.pointee.node.rank || !heap.remove(wait) { return }
        heap.insert(wait, rank: rank, ticket: wait.ticket)
    }

    /// Records that a request without a wait was served before them all.
    mutating func countPass() {
        unsafe csk_arrivals_pass(&common)
        unsafe csk_arrivals_pass(&others)
    }
}

/// A shutdown that waits until nothing is left.
final class ResourceDrain: TaskWait, @unchecked Sendable {
    override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_DRAINED)
        unsafe told.is_not_counted = 1
    }
}
