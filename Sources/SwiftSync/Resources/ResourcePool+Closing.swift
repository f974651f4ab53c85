import CSyncKernel

extension ResourcePool {
    /// Refuses whoever comes or waits with `.shutDown`, closes each resource once nobody uses it, and waits for that.
    ///
    /// A task that waits for the factory is refused too, and the factory is cancelled; what it makes all the same is
    /// closed. The uses go on, and their resources are closed at their ends.
    ///
    /// It suspends the task until all are closed, until the timeout or the deadline of `withDeadline` has passed, or
    /// until the task is cancelled. Where the system gives no timer for that, it returns at once. It may be called
    /// again, and from several tasks, and then waits again. From inside of a use, and from the factory or `close`, it
    /// waits for its own caller, and so needs a timeout there.
    ///
    /// - Returns: what is left, with the names of those who hold resources.
    @discardableResult
    public func shutdown(
        timeout: Duration? = nil, isolation: isolated (any Actor)? = #isolation
    ) async -> ResourcePoolReport {
        await shutdown(within: .timeout(timeout), isolation: isolation)
    }

    func shutdown(within limit: TimeLimit, isolation: isolated (any Actor)?) async -> ResourcePoolReport {
        perform(state.withLock { $0.shutDown() })
        let wait = TaskWait()
        if state.withLock({ $0.addDrain(wait) }) {
            _ = await wait.wait(until: limit.deadline(), isolation: isolation)
        }
        return state.withLock { state in
            state.removeDrain(wait)
            return state.report()
        }
    }

    /// Does what a step of the state has asked for.
    func perform(_ effects: ResourcePoolState<Resource>.Effects) {
        for wait in effects.toResume { wait.resume() }
        for resource in effects.toClose { closeLater(resource) }
        if let time = effects.sweepAt { sweep(at: time) }
    }

    /// Closes a resource that is counted as closing, in a task of its own: one that hangs holds up no other.
    private func closeLater(_ closing: ResourcePoolState<Resource>.Closing) {
        Task { [self] in
            await RequestDeadline.ignored { await close(closing.resource) }
            perform(state.withLock { $0.endClosing(closing, at: csk_now()) })
        }
    }

    /// Closes what has been idle for too long, at that time. A pool that is gone has nothing to close.
    private func sweep(at time: Int64) {
        let queue = ConcurrentWorkQueue.shared.core
        _ = queue.async(at: time, rank: queue.ownRank) { [weak self] in
            guard let self else { return }
            perform(state.withLock { $0.sweep(dueAt: time, now: csk_now()) })
        }
    }
}
