import CSyncKernel

/// One call of a pool's factory, or of its check of an idle resource. It runs in a task of its own, and belongs to no
/// request: what comes of it goes to whoever is first in order then.
final class ResourcePreparation: HeapMember, ResourceListed, @unchecked Sendable {
    /// How it ended.
    enum Outcome {
        /// The factory's resource, or the one that was checked and is fit.
        case ready(PooledResource)
        /// The check has said so, or has thrown.
        case unfit
        /// The factory has thrown.
        case failed(any Error)
    }

    /// What is checked. Nil: the factory is called.
    let checked: PooledResource?
    /// Whether its place is one of those that are not reserved.
    let isCommon: Bool
    /// What its task begins with: the priority of the first in order. Nil: nobody waited.
    let firstPriority: TaskPriority?
    let begin: Int64
    /// When it has lasted for too long.
    let deadline: Int64
    /// When it is slow, and whether it is: it stands for no request any more. The pool's lock guards this, and what
    /// follows.
    var slowTime = Deadline.never
    var isSlow = false
    /// It has lasted for too long: nobody waits for it any more, and what comes of it is closed.
    var isLate = false
    /// What its task has at least: that of whoever came to wait, or was escalated, meanwhile.
    var priority: TaskPriority
    /// Its task, from shortly after its beginning on. Whoever cancels or escalates it does so outside of the lock.
    var task: Task<Void, Never>?
    /// Where it stands among the pool's.
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
