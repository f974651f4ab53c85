import CSyncKernel

/// One call of a pool's factory, or of its check of an idle resource. It runs in a separate task, and belongs to no
/// request: its result goes to the request that is first in order then.
final class ResourcePreparation: HeapMember, ResourceListed, @unchecked Sendable {
    /// Its outcome.
    enum Outcome {
        /// The factory's resource, or the checked one, which is fit.
        case ready(PooledResource)
        /// The check has returned false or thrown.
        case unfit
        /// The factory has thrown.
        case failed(any Error)
    }

    /// The resource to check. Nil: the factory is called.
    let checked: PooledResource?
    /// Whether its place is one of those that are not reserved.
    let isCommon: Bool
    /// The priority that its task begins with: that of the first request in order. Nil: no request waited.
    let firstPriority: TaskPriority?
    let begin: Int64
    /// The time at which it has lasted for too long.
    let deadline: Int64
    /// The time from which it is slow, and whether it is: then it no longer counts for a request. The pool's lock
    /// guards this and the following fields.
    var slowTime = Deadline.never
    var isSlow = false
    /// It has lasted for too long: no request waits for it any more, and its resource is closed.
    var isLate = false
    /// The lowest priority of its task: that of the requests that came, or were escalated, meanwhile.
    var priority: TaskPriority
    /// Its task, from shortly after its beginning on. It is cancelled and escalated outside of the lock.
    var task: Task<Void, Never>?
    /// Its place among the pool's preparations.
    var position = 0
    @exclusivity(unchecked) private var memory = HeapPlace()

    init(checking checked: PooledResource?, isCommon: Bool, priority: TaskPriority?, begin: Int64, deadline: Int64) {
        self.checked = checked
        self.isCommon = isCommon
        firstPriority = priority
        self.priority = priority ?? .medium
        self.begin = begin
        self.deadline = deadline
    }

    var heapPlace: UnsafeMutablePointer<HeapPlace> { unsafe RuntimeFacts.lastingAddress(of: &memory) }
}
