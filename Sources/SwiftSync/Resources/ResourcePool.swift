import CSyncKernel

/// A number of resources that are made when they are needed, and used by one task at a time: connections, parsers,
/// workers of another program.
///
/// ```swift
/// struct Connection { func ask(_ question: String) async -> String { question } }
/// let pool = ResourcePool(maximum: 8, idleTimeout: .seconds(60), make: { Connection() })
/// func answer(_ question: String) async throws -> String {
///     try await pool.withResource(priority: .high, timeout: .seconds(1)) { await $0.ask(question) }
/// }
/// print(await pool.shutdown(timeout: .seconds(5)))            // who still holds one
/// ```
///
/// Tasks that wait are served by priority, and within one priority by arrival. A cancelled task leaves the queue. The
/// resource that was used last is used next, so that those that are not needed can be closed.
///
/// A resource that is broken is given up by its lease, and after an error that the body throws, unless `afterError`
/// says otherwise. It is closed, and another is made when one is needed. A factory that throws gives its error to the
/// one task that it worked for, and the next in order tries again. A factory whose task gives up is cancelled; what it
/// makes all the same is kept. As long as a factory does not return, the place of its resource is taken.
///
/// Nothing here blocks a thread. Factory, `close` and `afterError` are called without any lock, the first two in a task
/// of their own. A pool that goes away without ``shutdown(timeout:isolation:)`` closes its resources too. Taking a
/// resource that is there costs a few locked instructions and no wait; waiting is O(log n) amortized with n waiters.
public final class ResourcePool<Resource: Sendable>: Sendable {
    /// What is done with a resource after its body has thrown.
    public typealias AfterError = @Sendable (any Error) -> ResourceLease.Disposition

    let minimum: Int
    let idleTimeout: Int64
    let make: @Sendable () async throws -> Resource
    let close: @Sendable (Resource) async -> Void
    private let afterError: AfterError
    private let reservedFor: CommandPriority
    /// A permit for each resource that there may be.
    private let places: PrioritySemaphore
    /// A permit for each of them that low priorities may take; nil where that is all.
    private let unreserved: PrioritySemaphore?
    let state = PriorityMutex(ResourcePoolState<Resource>())

    /// Makes an empty pool. It never blocks, and makes no resource yet.
    ///
    /// Numbers that are out of their bounds stop the program with a message.
    ///
    /// - Parameters:
    ///   - maximum: how many resources there may be, at least 1.
    ///   - minimum: how many are not closed for being idle, at most `maximum`.
    ///   - reserved: how many only a high priority may use, less than `maximum`.
    ///   - priority: from which priority on those may be used.
    ///   - idleTimeout: a resource that nobody has used for that long is closed. Nil keeps all.
    ///   - afterError: what becomes of a resource whose body has thrown; by default it is discarded.
    ///   - close: closes a resource. It is called once for each that was made.
    ///   - make: makes a resource.
    public init(
        maximum: Int, minimum: Int = 0, reserved: Int = 0, reservedFor priority: CommandPriority = .high,
        idleTimeout: Duration? = nil, afterError: @escaping AfterError = { _ in .discard },
        close: @escaping @Sendable (Resource) async -> Void = { _ in },
        make: @escaping @Sendable () async throws -> Resource
    ) {
        guard maximum > 0, maximum <= 1 << 20, 0...maximum ~= minimum, 0..<maximum ~= reserved else {
            fatalError(
                """
                ResourcePool: maximum \(maximum), minimum \(minimum), reserved \(reserved): not 1 <= maximum <= 2^20, \
                0 <= minimum <= maximum and 0 <= reserved < maximum
                """)
        }
        self.minimum = minimum
        self.idleTimeout = idleTimeout.flatMap(Deadline.nanoseconds(in:)) ?? Deadline.never
        self.make = make
        self.close = close
        self.afterError = afterError
        reservedFor = priority
        places = PrioritySemaphore(value: maximum)
        unreserved = reserved == 0 ? nil : PrioritySemaphore(value: maximum - reserved)
    }

    deinit {
        let left = state.withLock { $0.takeAllIdle() }
        if left.isEmpty { return }
        Task { [close] in await RequestDeadline.ignored { for resource in left { await close(resource) } } }
    }

    // MARK: - Using

    /// Runs `body` with a resource that nobody else uses meanwhile.
    ///
    /// It suspends the task while all are in use, and while one is made. It returns what `body` returns, and throws
    /// what `body` or the factory throws. Without running `body` it throws a ``ResourcePoolError`` too.
    ///
    /// A nil `priority` is that of the task. The timeout is for the waiting and the making, and does not end a use.
    /// Zero or less takes a resource that is there. It is never early. `withDeadline` bounds the wait too, and what the
    /// factory waits for, but not `close`.
    public func withResource<Result>(
        priority: CommandPriority? = nil, timeout: Duration? = nil, file: StaticString = #fileID, line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation, _ body: (Resource) async throws -> sending Result
    ) async throws -> sending Result {
        try await withResource(within: .timeout(timeout), priority, file, line, isolation: isolation) { resource, _ in
            try await body(resource)
        }
    }

    /// Does the same, with a lease, by which the body can say that the resource is broken.
    public func withResource<Result>(
        priority: CommandPriority? = nil, timeout: Duration? = nil, file: StaticString = #fileID, line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Resource, ResourceLease) async throws -> sending Result
    ) async throws -> sending Result {
        try await withResource(within: .timeout(timeout), priority, file, line, isolation: isolation, body)
    }

    func withResource<Result>(
        within limit: TimeLimit, _ priority: CommandPriority?, _ file: StaticString, _ line: UInt,
        isolation: isolated (any Actor)?, _ body: (Resource, ResourceLease) async throws -> sending Result
    ) async throws -> sending Result {
        let priority = priority ?? CommandPriority(Task.currentPriority), isReserved = priority >= reservedFor
        var deadline = SharedDeadline(limit)
        try await enter(CommandRank.of(priority), isReserved, &deadline, isolation: isolation)
        let resource = try await take(isReserved, &deadline, isolation: isolation)
        let lease = ResourceLease(), use = state.withLock { $0.begin(file, line) }
        do {
            let result = try await body(resource, lease)
            end(use, resource, lease.disposition, isReserved)
            return result
        } catch {
            if afterError(error) == .discard { lease.discard() }
            end(use, resource, lease.disposition, isReserved)
            throw error
        }
    }

    /// Takes a place, so that there is a resource or one may be made.
    private func enter(
        _ rank: Int64, _ isReserved: Bool, _ deadline: inout SharedDeadline, isolation: isolated (any Actor)?
    ) async throws(ResourcePoolError) {
        if Task.isCancelled { throw .cancelled }
        if !isReserved, let unreserved { try await wait(at: unreserved, rank, &deadline, isolation: isolation) }
        do throws(ResourcePoolError) { try await wait(at: places, rank, &deadline, isolation: isolation) } catch {
            if !isReserved { unreserved?.giveBack(1) }
            throw error
        }
    }

    private func wait(
        at semaphore: PrioritySemaphore, _ rank: Int64, _ deadline: inout SharedDeadline,
        isolation: isolated (any Actor)?
    ) async throws(ResourcePoolError) {
        if semaphore.tryFast(1) { return }
        let box = semaphore.box
        let status = await unsafe SemaphoreWait.acquire(
            1, at: box.semaphore, of: box, rank: rank, deadline: deadline(), isolation: isolation)
        if status != 0 { throw ResourcePoolError(status: status) }
    }

    private func leave(_ isReserved: Bool) {
        places.giveBack(1)
        if !isReserved { unreserved?.giveBack(1) }
    }

    /// Takes a resource that is there, or has one made. The caller has a place, which is given back on an error.
    private func take(
        _ isReserved: Bool, _ deadline: inout SharedDeadline, isolation: isolated (any Actor)?
    ) async throws -> Resource {
        switch state.withLock({ $0.take() }) {
        case .idle(let resource): return resource
        case .refused:
            leave(isReserved)
            throw ResourcePoolError.shutDown
        case .isMadeByCaller where deadline() == Deadline.passed:
            lose(isReserved)
            throw ResourcePoolError.timedOut
        case .isMadeByCaller: break
        }
        let making = ResourceMaking<Resource>()
        let task = Task { [self] in
            let made: Swift.Result<Resource, any Error>
            do { made = .success(try await make()) } catch { made = .failure(error) }
            if making.finish(with: made) { return }
            // Nobody waits for it any more.
            switch made {
            case .success(let resource): end(nil, resource, .keep, isReserved)
            case .failure: lose(isReserved)
            }
        }
        let status = await making.wait(until: deadline(), isolation: isolation)
        if status != 0 {
            task.cancel()
            throw ResourcePoolError(status: status)
        }
        do { return try making.made!.get() } catch {
            lose(isReserved)
            throw error
        }
    }

    /// Gives back the place of a resource that could not be made.
    private func lose(_ isReserved: Bool) {
        state.withLock { $0.loseOne() }.forEach { $0.resolve(0) }
        leave(isReserved)
    }

    /// Ends a use, or adds a resource that nobody uses yet.
    private func end(
        _ use: UInt64?, _ resource: Resource, _ disposition: ResourceLease.Disposition, _ isReserved: Bool
    ) {
        let now = csk_now()
        let (isKept, sweepAt) = state.withLock { state in
            state.end(use, resource, disposition, at: now, idleTimeout: idleTimeout)
        }
        if !isKept { closeLater([resource]) }
        if let sweepAt { sweep(at: sweepAt) }
        leave(isReserved)
    }

    /// Closes resources that are counted as closing.
    func closeLater(_ resources: [Resource]) {
        if resources.isEmpty { return }
        Task { [self] in
            await RequestDeadline.ignored {
                for resource in resources {
                    await close(resource)
                    state.withLock { $0.endClosing() }.forEach { $0.resolve(0) }
                }
            }
        }
    }

    /// Lets all who wait for a place come, and find that the pool is shut down.
    func refuseWaiters() {
        places.giveBack(1 << 30)
        unreserved?.giveBack(1 << 30)
    }

    // MARK: - Inspection

    /// True once ``shutdown(timeout:isolation:)`` was called.
    public var isShutDown: Bool { state.withLock { $0.isShutDown } }
    /// How many resources nobody used at some instant during the call.
    public var idleCount: Int { state.withLock { $0.idle.count } }
    /// How many were in use at some instant during the call.
    public var inUseCount: Int { state.withLock { $0.uses.count } }
    /// How many there were at some instant during the call, those that are being made included.
    public var count: Int { state.withLock { $0.made } }
    /// How many tasks waited for a place at some instant during the call.
    public var waitingCount: Int {
        places.waitingCount + (unreserved?.waitingCount ?? 0)
    }
}
