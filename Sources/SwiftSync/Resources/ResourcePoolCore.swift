import CSyncKernel

/// What a pool does, whatever its resources are: it takes the steps of ``ResourcePoolState`` under the lock, and does
/// outside of it what they ask for.
@usableFromInline
final class ResourcePoolCore: WaitedObject, Sendable {
    private let factory: @Sendable () async throws -> PooledResource
    private let close: @Sendable (PooledResource) async -> Void
    private let afterError: @Sendable (any Error) -> ResourceLease.Disposition
    private let reservedFor: CommandPriority
    let state: PriorityMutex<ResourcePoolState>

    init(
        _ state: PriorityMutex<ResourcePoolState>, reservedFor: CommandPriority,
        afterError: @escaping @Sendable (any Error) -> ResourceLease.Disposition,
        close: @escaping @Sendable (PooledResource) async -> Void,
        factory: @escaping @Sendable () async throws -> PooledResource
    ) {
        self.factory = factory
        self.close = close
        self.afterError = afterError
        self.reservedFor = reservedFor
        self.state = state
    }

    var toldKind: UInt32 { UInt32(CSK_OBJECT_RESOURCE_POOL) }
    var toldPlace: csk_place_t { unsafe state.box.place }

    /// What was made for nobody once the pool had gone.
    deinit { closeIdle() }

    /// Closes what nobody uses, and waits for nothing.
    func closeIdle() {
        for left in state.withLock({ $0.takeAllIdle() }) {
            Task { [close] in await RequestDeadline.ignored { await close(left.resource) } }
        }
    }

    // MARK: - Using

    private func request(_ priority: CommandPriority?, _ file: StaticString, _ line: UInt) -> ResourceRequest {
        let priority = priority ?? CommandPriority(Task.currentPriority)
        return ResourceRequest(
            rank: CommandRank.of(priority), mayUseReserve: priority >= reservedFor, file: file, line: line)
    }

    /// Begins the use of a resource that is there. It returns nil where it would have to wait or to make one.
    @usableFromInline
    func take(
        _ priority: CommandPriority?, _ file: StaticString, _ line: UInt
    ) throws(ResourcePoolError) -> PooledResource? {
        if Task.isCancelledByOthers { throw .cancelled }
        let request = request(priority, file, line)
        return state.withLock { $0.takeIdle(request) }
    }

    /// Begins the use of a resource, once there is one.
    @usableFromInline
    func acquire(
        within limit: TimeLimit, _ priority: CommandPriority?, _ file: StaticString, _ line: UInt
    ) async throws -> PooledResource {
        try await acquire(request(priority, file, line), limit)
    }

    /// Ends a use.
    @usableFromInline
    func end(_ resource: PooledResource, _ disposition: ResourceLease.Disposition) {
        let now = csk_now()
        perform(state.withLock { $0.end(resource, disposition, at: now) })
    }

    /// Ends a use whose body has thrown.
    @usableFromInline
    func end(_ resource: PooledResource, _ disposition: ResourceLease.Disposition, after error: any Error) {
        let answer = afterError(error)
        end(resource, disposition == .discard ? .discard : answer)
    }

    /// Begins the use of a resource that is there, or has one made.
    private func acquire(
        _ request: ResourceRequest, _ limit: TimeLimit
    ) async throws -> PooledResource {
        var deadline = SharedDeadline(limit)
        let turn: ResourceTurn
        if let atOnce = state.withLock({ $0.enter(request) }) {
            turn = atOnce
        } else {
            turn = try await wait(for: request, until: deadline())
        }
        switch turn {
        case .use(let resource): return resource
        case .place: return try await make(for: request, until: deadline())
        case .refusal: throw ResourcePoolError.shutDown
        }
    }

    /// Waits until its turn has come.
    private func wait(
        for request: ResourceRequest, until deadline: Int64
    ) async throws(ResourcePoolError) -> ResourceTurn {
        // Who only tries stands in no queue.
        if deadline == Deadline.passed { throw .timedOut }
        let wait = ResourceWait(request)
        if let turn = state.withLock({ $0.enter(orQueue: wait) }) { return turn }
        let status = await wait.wait(until: deadline, at: self)
        if status == 0 { return wait.turn! }
        state.withLock { $0.leave(wait) }
        throw ResourcePoolError(status: status)
    }

    /// Calls the factory in a task of its own, and waits for what it makes. The caller has a place, and has none after
    /// an error.
    private func make(
        for request: ResourceRequest, until deadline: Int64
    ) async throws -> PooledResource {
        let making = ResourceMaking(request)
        if deadline == Deadline.passed || !state.withLock({ $0.begin(making) }) {
            perform(state.withLock { $0.abandon(request, at: csk_now()) })
            throw deadline == Deadline.passed ? ResourcePoolError.timedOut : .shutDown
        }
        let task = Task { [self] in
            let made: Result<PooledResource, any Error>
            do { made = .success(try await factory()) } catch { made = .failure(error) }
            perform(state.withLock { $0.finish(making, made, at: csk_now()) })
        }
        let status = await making.wait(until: deadline, at: self)
        if status == 0 { return try making.made!.get() }
        // The place is the factory's until it returns.
        task.cancel()
        throw ResourcePoolError(status: status)
    }

    // MARK: - Closing

    func shutdown(within limit: TimeLimit) async -> ResourcePoolReport {
        perform(state.withLock { $0.shutDown() })
        let wait = ResourceDrain()
        if state.withLock({ $0.addDrain(wait) }) {
            _ = await wait.wait(until: limit.deadline(), at: self)
        }
        return state.withLock { state in
            state.removeDrain(wait)
            return state.report(name: self.state.name)
        }
    }

    /// Does what a step of the state has asked for.
    func perform(_ effects: ResourcePoolState.Effects) {
        for wait in effects.toResume { wait.resume() }
        for resource in effects.toClose { closeLater(resource) }
        if let time = effects.sweepAt { sweep(at: time) }
    }

    /// Closes a resource that is counted as closing, in a task of its own: one that hangs holds up no other.
    private func closeLater(_ closing: ResourcePoolState.Closing) {
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
