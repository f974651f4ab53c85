/// One call of a pool's factory, and the task that waits for it, until its deadline or its cancellation.
final class ResourceMaking<Resource: Sendable>: TaskWait, @unchecked Sendable {
    /// It is written before the wait is resolved.
    private(set) var made: Result<Resource, any Error>?

    /// Ends the wait with what the factory has made. It returns false if nobody waits any more.
    func finish(with made: Result<Resource, any Error>) -> Bool {
        self.made = made
        return resolve(0)
    }
}
