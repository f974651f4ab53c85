extension ResourcePoolState {
    /// The actions to take outside of the lock, in this order.
    struct Effects {
        enum Step {
            /// A wait was decided, and its task is parked.
            case resume(TaskWait)
            case start(ResourcePreparation)
            case cancel(Task<Void, Never>)
            case escalate(Task<Void, Never>, TaskPriority)
            /// A resource that is counted as closing.
            case close(Closing)
            /// ``ResourcePoolState/ring(_:dueAt:now:)`` is to be called at that time.
            case call(ResourceAlarm, at: Int64)
            /// A factory has failed, and no request waited.
            case report(any Error)
        }

        var steps: [Step] = []
    }

    /// A resource that is to be closed.
    struct Closing {
        let resource: PooledResource
        /// Whether its place is unreserved. Without a place: whether it was made for a low priority.
        let isCommon: Bool
        /// Whether it has a place. A resource that a factory made too late has none.
        let hasPlace: Bool
    }
}
