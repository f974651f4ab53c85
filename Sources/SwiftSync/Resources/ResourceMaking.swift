import CSyncKernel

/// One call of a pool's factory, and the task that waits for it, until its deadline, its cancellation or the shutdown.
final class ResourceMaking: TaskWait, @unchecked Sendable {
    let request: ResourceRequest
    /// What the task gets: a resource, whose use has begun, or the factory's error. It is written under the pool's
    /// lock, before the wait is resolved.
    var made: Result<PooledResource, any Error>?

    init(_ request: ResourceRequest) {
        self.request = request
        super.init()
    }

    /// What the factory takes is no contention.
    override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_RESOURCE)
        unsafe told.rank = request.rank
        unsafe told.is_not_counted = 1
    }
}
