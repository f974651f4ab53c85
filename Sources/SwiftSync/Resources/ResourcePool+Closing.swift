extension ResourcePool {
    /// Refuses present and later requests with `.shutDown`, closes each resource once it is not in use, and waits for
    /// that.
    ///
    /// It cancels calls of the factory and of `check`; resources that they still deliver are closed. Uses go on, and
    /// their resources are closed at their ends.
    ///
    /// It suspends the task until all are closed, until the timeout or the deadline of `withDeadline` has passed, or
    /// until the task is cancelled. If the system gives no timer for that, it returns at once. It may be called again,
    /// and from several tasks, and then waits again. Inside a use, the factory, `check` or `close` it would wait for
    /// its own caller, so it needs a timeout there.
    ///
    /// - Returns: what is left, with the locations of the users.
    @discardableResult
    public func shutdown(
        timeout: TimeLimit = .never
    ) async -> ResourcePoolReport {
        await core.shutdown(within: timeout)
    }
}
