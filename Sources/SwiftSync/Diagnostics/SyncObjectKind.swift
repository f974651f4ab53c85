import CSyncKernel

/// The kind of an object, in views and metrics.
public enum SyncObjectKind: String, Sendable, Hashable {
    /// A mutex, a section, or a value and its commands.
    case mutex
    /// A read-write lock or coordinator.
    case readWriteLock = "read-write lock"
    /// A semaphore, or an async mutex.
    case semaphore
    /// A condition variable of C code.
    case condition
    /// A priority queue.
    case priorityQueue = "priority queue"
    /// A work queue.
    case workQueue = "work queue"
    /// A `FIFOQueue`.
    case fifoQueue = "FIFO queue"
    /// An `ActorQueue` or `MainActorQueue`.
    case actorQueue = "actor queue"
    /// A `ResourcePool`.
    case resourcePool = "resource pool"
    /// A `TaskQueue`.
    case taskQueue = "task queue"
    /// Something else.
    case other

    init(_ kernelKind: UInt32) {
        switch kernelKind {
        case UInt32(CSK_OBJECT_GATE): self = .mutex
        case UInt32(CSK_OBJECT_RWLOCK): self = .readWriteLock
        case UInt32(CSK_OBJECT_SEM): self = .semaphore
        case UInt32(CSK_OBJECT_COND): self = .condition
        case UInt32(CSK_OBJECT_PQUEUE): self = .priorityQueue
        case UInt32(CSK_OBJECT_WORKQUEUE): self = .workQueue
        case UInt32(CSK_OBJECT_FIFO_QUEUE): self = .fifoQueue
        case UInt32(CSK_OBJECT_ACTOR_QUEUE): self = .actorQueue
        case UInt32(CSK_OBJECT_RESOURCE_POOL): self = .resourcePool
        case UInt32(CSK_OBJECT_TASK_QUEUE): self = .taskQueue
        default: self = .other
        }
    }
}
