import CSyncKernel

extension ResourcePool {
    /// Refuses whoever comes or waits with `.shutDown`, closes each resource once nobody uses it, and waits for that.
    ///
    /// It suspends the task until all are closed, until the timeout or the deadline of `withDeadline` has passed, or
    /// until the task is cancelled. The uses go on, and their resources are closed at their ends. It may be called
    /// again, and then waits again.
    ///
    /// - Returns: what is left, with the names of those who hold resources.
    @discardableResult
    public func shutdown(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation
    ) async -> ResourcePoolReport {
        await shutdown(within: .timeout(timeout), isolation: isolation)
    }

    func shutdown(within limit: TimeLimit, isolation: isolated (any Actor)?) async -> ResourcePoolReport {
        let (isFirst, idle) = state.withLock { state in (state.shutDown(), state.takeAllIdle()) }
        closeLater(idle)
        if isFirst { refuseWaiters() }
        let wait = TaskWait()
        if state.withLock({ $0.addDrain(wait) }) {
            _ = await wait.wait(until: limit.deadline(), isolation: isolation)
        }
        return state.withLock { state in
            state.removeDrain(wait)
            return state.report()
        }
    }

    /// Closes what has been idle for too long, at that time. A pool that is gone has nothing to close.
    func sweep(at time: Int64) {
        let queue = ConcurrentWorkQueue.shared.core
        _ = queue.async(at: time, rank: queue.ownRank) { [weak self] in
            guard let self else { return }
            let (expired, next) = state.withLock { state in
                state.takeExpired(at: csk_now(), idleTimeout: idleTimeout, minimum: minimum)
            }
            closeLater(expired)
            if let next { sweep(at: next) }
        }
    }
}
