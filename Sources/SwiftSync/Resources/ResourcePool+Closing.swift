extension ResourcePool {
    /// Refuses whoever comes or waits with `.shutDown`, closes each resource once nobody uses it, and waits for that.
    ///
    /// What is being made or checked is cancelled; what comes of it all the same is closed. The uses go on, and their
    /// resources are closed at their ends.
    ///
    /// It suspends the task until all are closed, until the timeout or the deadline of `withDeadline` has passed, or
    /// until the task is cancelled. Where the system gives no timer for that, it returns at once. It may be called
    /// again, and from several tasks, and then waits again. From inside of a use, and from the factory, `check` or
    /// `close`, it waits for its own caller, and so needs a timeout there.
    ///
    /// - Returns: what is left, with the names of those who hold resources.
    @discardableResult
    public func shutdown(
        timeout: TimeLimit = .never
    ) async -> ResourcePoolReport {
        await core.shutdown(within: timeout)
    }
}
