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
/// makes all the same is kept. A task for which the factory works waits for that resource, even if another comes back.
///
/// A resource has its place among the maximum from before its factory is called until its `close` has returned. So a
/// factory or a `close` that hangs takes a place for good: let both end in time. The place of a task of low priority
/// counts among those that are not reserved until its resource is idle or closed.
///
/// Nothing here blocks a thread. Factory, `close` and `afterError` are called without any lock, the first two in a task
/// of their own for each resource, so that one that hangs holds up no other. The factory inherits the task-local values
/// and the priority of the task for which it works; it may use the pool, but a task that waits inside of its own use,
/// of a factory or of a `close` for a further resource may wait for ever where all places are taken so.
///
/// A pool that goes away without ``shutdown(timeout:isolation:)`` closes its resources too, and waits for nobody.
/// Taking a resource that is there costs two short sections of a ``PriorityMutex`` and no wait; waiting is O(log n)
/// amortized with n waiters.
public final class ResourcePool<Resource: Sendable>: Sendable {
    /// What is done with a resource after its body has thrown.
    public typealias AfterError = @Sendable (any Error) -> ResourceLease.Disposition

    let make: @Sendable () async throws -> Resource
    let close: @Sendable (Resource) async -> Void
    private let afterError: AfterError
    private let reservedFor: CommandPriority
    let state: PriorityMutex<ResourcePoolState<Resource>>

    /// Makes an empty pool. It never blocks, and makes no resource yet.
    ///
    /// Numbers that are out of their bounds stop the program with a message.
    ///
    /// - Parameters:
    ///   - maximum: how many resources there may be, at least 1. Those that are being made or closed count.
    ///   - minimum: how many are not closed for being idle, at most `maximum`.
    ///   - reserved: how many only a high priority may use, less than `maximum`.
    ///   - priority: from which priority on those may be used.
    ///   - idleTimeout: a resource that nobody has used for that long is closed, unless it is one of the fewest. Nil
    ///     keeps all; zero or less closes each at once.
    ///   - afterError: what becomes of a resource whose body has thrown; by default it is discarded.
    ///   - close: closes a resource. It is called once for each that was made. What goes wrong there is its own matter.
    ///   - make: makes a resource. It is called when one is needed and there is a place, by several tasks at once too.
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
        self.make = make
        self.close = close
        self.afterError = afterError
        reservedFor = priority
        state = PriorityMutex(
            ResourcePoolState(
                ResourceLimits(
                    maximum: maximum, minimum: minimum, reserved: reserved,
                    idleTimeout: idleTimeout.flatMap(Deadline.nanoseconds(in:)) ?? Deadline.never)))
    }

    deinit {
        for left in state.withLock({ $0.takeAllIdle() }) {
            Task { [close] in await RequestDeadline.ignored { await close(left.resource) } }
        }
    }

    // MARK: - Using

    /// Runs `body` with a resource that nobody else uses meanwhile.
    ///
    /// It suspends the task while all are in use, and while one is made. It returns what `body` returns, and throws
    /// what `body` or the factory throws. Without running `body` it throws a ``ResourcePoolError`` too.
    ///
    /// A nil `priority` is that of the task. The timeout is for the waiting and the making. Neither it nor a
    /// cancellation ends a use. Zero or less takes a resource that is there, and makes none. It is never early.
    /// `withDeadline` bounds the wait too, and what the factory waits for, but not `close`.
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
        let priority = priority ?? CommandPriority(Task.currentPriority)
        let request = ResourceRequest(
            rank: CommandRank.of(priority), mayUseReserve: priority >= reservedFor, file: file, line: line)
        let (resource, use) = try await acquire(request, limit, isolation: isolation), lease = ResourceLease()
        do {
            let result = try await body(resource, lease)
            end(use, resource, lease)
            return result
        } catch {
            if afterError(error) == .discard { lease.discard() }
            end(use, resource, lease)
            throw error
        }
    }

    private func end(_ use: Int, _ resource: Resource, _ lease: ResourceLease) {
        perform(state.withLock { $0.end(use, resource, lease.disposition, at: csk_now()) })
    }

    /// Begins the use of a resource that is there, or has one made.
    private func acquire(
        _ request: ResourceRequest, _ limit: TimeLimit, isolation: isolated (any Actor)?
    ) async throws -> (resource: Resource, use: Int) {
        if Task.isCancelled { throw ResourcePoolError.cancelled }
        var deadline = SharedDeadline(limit)
        let turn: ResourceTurn<Resource>
        if let atOnce = state.withLock({ $0.enter(request) }) {
            turn = atOnce
        } else {
            turn = try await wait(for: request, until: deadline(), isolation: isolation)
        }
        switch turn {
        case .use(let resource, let use): return (resource, use)
        case .place: return try await make(for: request, until: deadline(), isolation: isolation)
        case .refusal: throw ResourcePoolError.shutDown
        }
    }

    /// Waits until its turn has come.
    private func wait(
        for request: ResourceRequest, until deadline: Int64, isolation: isolated (any Actor)?
    ) async throws(ResourcePoolError) -> ResourceTurn<Resource> {
        // Who only tries stands in no queue.
        if deadline == Deadline.passed { throw .timedOut }
        let wait = ResourceWait<Resource>(request)
        if let turn = state.withLock({ $0.enter(orQueue: wait) }) { return turn }
        let status = await wait.wait(until: deadline, isolation: isolation)
        if status == 0 { return wait.turn! }
        state.withLock { $0.leave(wait) }
        throw ResourcePoolError(status: status)
    }

    /// Calls the factory in a task of its own, and waits for what it makes. The caller has a place, and has none after
    /// an error.
    private func make(
        for request: ResourceRequest, until deadline: Int64, isolation: isolated (any Actor)?
    ) async throws -> (resource: Resource, use: Int) {
        let making = ResourceMaking<Resource>(request)
        if deadline == Deadline.passed || !state.withLock({ $0.begin(making) }) {
            perform(state.withLock { $0.abandon(request, at: csk_now()) })
            throw deadline == Deadline.passed ? ResourcePoolError.timedOut : .shutDown
        }
        let task = Task { [self] in
            let made: Result<Resource, any Error>
            do { made = .success(try await make()) } catch { made = .failure(error) }
            perform(state.withLock { $0.finish(making, made, at: csk_now()) })
        }
        let status = await making.wait(until: deadline, isolation: isolation)
        if status == 0 { return try making.made!.get() }
        // The place is the factory's until it returns.
        task.cancel()
        throw ResourcePoolError(status: status)
    }

    // MARK: - Inspection

    /// True once ``shutdown(timeout:isolation:)`` was called.
    public var isShutDown: Bool { state.withLock { $0.isShutDown } }
    /// How many resources nobody used at some instant during the call.
    public var idleCount: Int { state.withLock { $0.idleCount } }
    /// How many were in use at some instant during the call.
    public var inUseCount: Int { state.withLock { $0.inUseCount } }
    /// How many there were at some instant during the call: those that are being made included, and those that are
    /// being closed not.
    public var count: Int { state.withLock { $0.count } }
    /// How many tasks waited for a resource or for the place of one at some instant during the call. Those for which
    /// the factory works are not among them.
    public var waitingCount: Int { state.withLock { $0.waitingCount } }
}
