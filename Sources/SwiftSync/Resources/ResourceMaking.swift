/// One call of a pool's factory, and the task that waits for it, until its deadline, its cancellation or the shutdown.
final class ResourceMaking<Resource: Sendable>: TaskWait, @unchecked Sendable {
    let request: ResourceRequest
    /// What the task gets: a resource, and the number of the use that has begun, or the factory's error. It is written
    /// under the pool's lock, before the wait is resolved.
    var made: Result<(resource: Resource, use: Int), any Error>?

    init(_ request: ResourceRequest) {
        self.request = request
        super.init()
    }
}
