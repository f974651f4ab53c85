import CSyncKernel

/// The type-independent part of a pool: it takes the steps of ``ResourcePoolState`` under the lock, and performs their
/// effects outside of it.
@usableFromInline
final class ResourcePoolCore: WaitedObject, Sendable {
    private let factory: @Sendable () async throws -> PooledResource
    private let check: @Sendable (PooledResource) async throws -> Bool
    private let close: @Sendable (PooledResource) async -> Void
    private let afterError: @Sendable (any Error) -> ResourceLease.Disposition
    private let reservedFor: CommandPriority
    /// In nanoseconds.
    private let lifetime: Int64
    let state: PriorityMutex<ResourcePoolState>

    init(
        _ state: PriorityMutex<ResourcePoolState>, reservedFor: CommandPriority, lifetime: Int64,
        afterError: @escaping @Sendable (any Error) -> ResourceLease.Disposition,
        check: @escaping @Sendable (PooledResource) async throws -> Bool,
        close: @escaping @Sendable (PooledResource) async -> Void,
        factory: @escaping @Sendable () async throws -> PooledResource
    ) {
        self.factory = factory
        self.check = check
        self.close = close
        self.afterError = afterError
        self.reservedFor = reservedFor
        self.lifetime = lifetime
        self.state = state
        perform(state.withLock { $0.fill(at: csk_now()) })
    }

    var toldKind: UInt32 { UInt32(CSK_OBJECT_RESOURCE_POOL) }
    var toldPlace: csk_place_t { unsafe state.box.place }

    // MARK: - Using

    private func request(_ priority: CommandPriority?, _ file: StaticString, _ line: UInt) -> ResourceRequest {
        let isNamed = priority != nil, priority = RequestPriority.ofTask(naming: priority)
        return ResourceRequest(
            rank: RequestPriority.rank(priority, isNamed: isNamed), mayUseReserve: priority >= reservedFor, file: file,
            line: line)
    }

    /// Begins the use of an available resource. It returns nil if that takes more.
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
        let request = request(priority, file, line), deadline = limit.deadline()
        // A try is not queued, and makes no resource.
        if deadline == Deadline.passed {
            guard let turn = step({ $0.attempt(request, &$1, at: csk_now()) }) else { throw ResourcePoolError.timedOut }
            return try turn.get()
        }
        let wait = ResourceWait(request)
        if let turn = step({ $0.enter(wait, &$1, at: csk_now()) }) { return try turn.get() }
        let status = await self.wait(wait, until: deadline, atItsOwn: priority == nil)
        if status == 0 { return try wait.turn!.get() }
        state.withLock { $0.leave(wait) }
        throw ResourcePoolError(status: status)
    }

    /// Waits for the requested resource. An escalation raises the preparations that the task waits for; and its place,
    /// if it waits at its own priority.
    private func wait(_ wait: ResourceWait, until deadline: Int64, atItsOwn isItsOwn: Bool) async -> Int32 {
        let moves = isItsOwn && RequestPriority.ofRequest == nil, before = wait.firstPriority
        testStep("ResourcePool: a request waits", wait)
        return await withTaskPriorityEscalationHandler {
            // An escalation that came since the request was made has found no handler.
            let priority = Task.currentPriority, rank = CommandRank.of(CommandPriority(priority))
            let isMissed = priority > before || moves && rank > csk_rank_in_order(wait.request.rank)
            if isMissed { raise(wait, to: priority, moves) }
            return await wait.wait(until: deadline, at: self)
        } onPriorityEscalated: { _, priority in
            raise(wait, to: priority, moves)
        }
    }

    /// Other threads reach the wait under the lock only. A separate task raises the preparations: this call may come
    /// under a lock of the runtime, and the raised tasks may have users' handlers.
    private func raise(_ wait: ResourceWait, to priority: TaskPriority, _ moves: Bool) {
        if moves {
            let rank = CommandRank.of(CommandPriority(priority))
            let reserved = csk_rank(reservedFor.rawValue, Int32(CSK_PLACE_LAST))
            state.withLock { $0.raise(wait, to: rank, below: reserved) }
        }
        Task.detached(priority: priority) { self.perform(self.state.withLock { $0.hurry(for: wait, at: priority) }) }
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

    // MARK: - Doing what steps ask for

    /// Takes a step that returns a result, and performs its effects.
    private func step(
        _ body: (inout ResourcePoolState, inout ResourcePoolState.Effects) -> ResourcePoolState.Turn?
    ) -> ResourcePoolState.Turn? {
        let (turn, effects) = state.withLock { state in
            var effects = ResourcePoolState.Effects()
            return (body(&state, &effects), effects)
        }
        perform(effects)
        return turn
    }

    func perform(_ effects: ResourcePoolState.Effects) {
        for step in effects.steps {
            switch step {
            case .resume(let wait): wait.resume()
            case .start(let preparation): start(preparation)
            case .cancel(let task): task.cancel()
            case .escalate(let task, let priority): task.escalatePriority(to: priority)
            case .close(let closing): closeLater(closing)
            case .call(let alarm, let time): call(alarm, at: time)
            case .report(let error):
                SyncDiagnostics.report(
                    .resourceNotMade, subject: "ResourcePool \(state.name)",
                    message: "the factory failed while nobody waited: \(error)")
            }
        }
    }

    /// Calls the factory or the check in a separate task. It inherits nothing: neither a request's cancellation nor its
    /// deadline ends it. The state keeps the task, so that it can be cancelled, and escalated.
    private func start(_ preparation: ResourcePreparation) {
        let task = Task.detached(priority: preparation.firstPriority) { [self] in
            let outcome = await outcome(of: preparation)
            perform(state.withLock { $0.finish(preparation, outcome, at: csk_now()) })
        }
        perform(state.withLock { $0.keep(task, for: preparation) })
    }

    private func outcome(of preparation: ResourcePreparation) async -> ResourcePreparation.Outcome {
        if let resource = preparation.checked {
            let isFit = (try? await check(resource)) ?? false
            return isFit ? .ready(resource) : .unfit
        }
        do {
            let made = try await factory()
            // Resources that were made together don't get too old together.
            if lifetime != Deadline.never {
                made.expires = Deadline.sum(csk_now(), lifetime - Int64.random(in: 0...lifetime / 10))
            }
            return .ready(made)
        } catch {
            return .failed(error)
        }
    }

    /// Closes a resource that is counted as closing, in a separate task: a close that hangs holds up no other. It
    /// inherits nothing from the task that returned the resource, neither deadline nor priority.
    private func closeLater(_ closing: ResourcePoolState.Closing) {
        Task.detached { [self] in
            await close(closing.resource)
            perform(state.withLock { $0.endClosing(closing, at: csk_now()) })
        }
    }

    /// The pool's own queue: users' work on their queues can't hold up a pool.
    private static let alarms = ConcurrentWorkQueue(name: "SwiftSync.ResourcePool", width: 4)

    /// Schedules a call of the state at that time. A released pool does nothing then.
    private func call(_ alarm: ResourceAlarm, at time: Int64) {
        let queue = Self.alarms.core
        _ = queue.async(at: time, rank: queue.ownRank) { [weak self] in
            guard let self else { return }
            perform(state.withLock { $0.ring(alarm, dueAt: time, now: csk_now()) })
        }
    }

    // MARK: - Closing

    /// Begins the shutdown, and waits for nothing.
    func shutDown() { perform(state.withLock { $0.shutDown() }) }

    func shutdown(within limit: TimeLimit) async -> ResourcePoolReport {
        shutDown()
        let wait = ResourceDrain()
        if state.withLock({ $0.addDrain(wait) }) {
            _ = await wait.wait(until: limit.deadline(), at: self)
        }
        return state.withLock { state in
            state.removeDrain(wait)
            return state.report(name: self.state.name)
        }
    }
}
