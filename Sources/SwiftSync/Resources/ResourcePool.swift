import CSyncKernel

/// A pool of resources that are made on demand, and used by one task at a time: connections, parsers, workers of
/// another program.
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
/// Waiting tasks are served by priority, and within one priority by arrival: the first gets the next resource, whether
/// returned or new. A cancelled task leaves the queue. The resource that was used last is used next, so that surplus
/// resources can be closed.
///
/// A factory's call belongs to no waiting task. No deadline and no cancellation of a task ends it: if all waiters have
/// given up, the new resource becomes idle, and serves the next request. As many calls run as tasks wait, within
/// `maximum` and `makingLimit`. A call that lasts for longer than `makeTimeout` is cancelled, and counts as failed. If
/// the factory throws, the first waiter gets the error, and the next call begins for the others; so each failure ends
/// one wait, and a factory that always fails ends them all. Without a waiter the error is reported to
/// ``SyncDiagnostics``.
///
/// A resource is discarded if its lease marks it as broken, or after an error that the body throws, unless `afterError`
/// decides otherwise. A resource that is older than `maximumLifetime`, or that `check` rejects before its use, is not
/// lent out. Such a resource is closed, and another is made when one is needed: at once if there are fewer than
/// `minimum`.
///
/// A resource counts toward `maximum` from before its factory is called until its `close` has returned. So a `close`
/// that hangs takes a place for good: let it end in time. A resource that is made, used or closed for a task of low
/// priority takes an unreserved place until it is idle or closed, so no hanging call for such a task takes a reserved
/// place.
///
/// Nothing here blocks a thread. Factory, `check`, `close` and `afterError` are called without any lock, the first
/// three in a separate task for each resource, so that a hanging call holds up no other. These tasks have no task-local
/// values. Those of factory and `check` begin with the priority of the task that is first in order, those of `close`
/// with the default one. They may use the pool. But a task that waits for another resource inside its own use, a
/// factory or a `close` may wait for ever if all places are taken in this way.
///
/// A pool that is released without ``shutdown(timeout:)`` closes its resources too, cancels calls of the factory, and
/// does not wait. Taking an available resource costs two short sections of a ``PriorityMutex``, and no wait and no
/// allocation, if there is no `check`. Waiting is O(log n) amortized with n waiters, and so is making and closing a
/// resource with n of them.
public final class ResourcePool<Resource: Sendable>: Sendable {
    /// Decides what to do with a resource after its body has thrown.
    public typealias AfterError = @Sendable (any Error) -> ResourceLease.Disposition

    @usableFromInline let core: ResourcePoolCore

    /// Makes a pool, which begins to make `minimum` resources. It never blocks, and doesn't wait for them.
    ///
    /// Numbers and times that are out of their bounds stop the program with a message.
    ///
    /// - Parameters:
    ///   - maximum: the largest number of resources, at least 1. Resources that are being made or closed count.
    ///   - minimum: the number made in advance, at most `maximum`: at first, and when others are gone. They are not
    ///     closed for being idle. After a failure of the factory it is called for them again after a pause of 100 ms to
    ///     30 s.
    ///   - reserved: the number of places that only a high priority may use, less than `maximum`.
    ///   - priority: the lowest priority that may use the reserved places. The priority of a request on arrival counts:
    ///     an escalation while it waits does not change which places it may use.
    ///   - bypassLimit: a waiting task that this many later arrivals have overtaken goes next, if it may have what is
    ///     available. 0 means strict priority. Nil means strict priority for calls that name a priority, and 64 for the
    ///     others.
    ///   - makingLimit: the number of calls of the factory that may run at once, at least 1. The default keeps a
    ///     starting or reconnecting program from opening all of its connections at once, some of which servers would
    ///     refuse, and still makes 160 a second if each takes 100 ms. Nil: as many as tasks wait. If places are
    ///     reserved, low priorities have the same share of these calls as of the places, and at least one. A call
    ///     counts for one waiting request until it has taken a third of `makeTimeout`: then it is slow, and another may
    ///     begin. A call that goes on past `makeTimeout` no longer counts. While `maximum` of these, and at least 16,
    ///     ignore their cancellation, no call begins; low priorities have their share of these too, and beyond it no
    ///     call begins for them.
    ///   - waitersLimit: the number of tasks that may wait, at least 1, besides those with a call of the factory or of
    ///     `check` that is under way and not slow. A further task gets `.full` at once, whatever its priority, unless a
    ///     call begins for it. Nil: any number.
    ///   - idleTimeout: a resource that has been idle for that long is closed, unless only `minimum` are left. Nil
    ///     keeps all; zero or less closes each resource that no request takes at once.
    ///   - maximumLifetime: an older resource is not lent out: it is closed when it comes back, or while it is idle. It
    ///     is more than zero. Each resource gets a lifetime that is up to a tenth shorter, so that resources that were
    ///     made together are not closed together. Nil: any age.
    ///   - makeTimeout: how long a call of the factory or of `check` may last, more than zero. Then it is cancelled. A
    ///     call of the factory counts as failed, with `.makingTimedOut`, and its place is free; a resource that it
    ///     makes later is closed. After such a check its resource is closed. Nil: for ever. A call that hangs then
    ///     keeps its place for good, and counts for one request, so no other call replaces it. A shutdown cancels it,
    ///     and waits for it.
    ///   - name: the name in reports and messages. Nil stands for the place of creation.
    ///   - fileID: where the pool is made, which is its ``name`` if none is given.
    ///   - line: the line there.
    ///   - afterError: decides what to do with a resource whose body has thrown; by default it is discarded.
    ///   - check: returns whether an idle resource is fit for use. If it returns false or throws, the resource is
    ///     closed, and the next is tried. A resource that is handed on from use to use, or that was just made, is not
    ///     checked. Nil: no checks.
    ///   - close: closes a resource. It is called once for each that was made, and must handle its own errors.
    ///   - make: makes a resource. It is called when one is needed and there is a place, possibly by several tasks at
    ///     once.
    public init(
        maximum: Int, minimum: Int = 0, reserved: Int = 0, reservedFor priority: CommandPriority = .high,
        bypassLimit: UInt32? = nil, makingLimit: Int? = 16, waitersLimit: Int? = nil, idleTimeout: Duration? = nil,
        maximumLifetime: Duration? = nil, makeTimeout: Duration? = .seconds(30), name: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line,
        afterError: @escaping AfterError = { _ in .discard },
        check: (@Sendable (Resource) async throws -> Bool)? = nil,
        close: @escaping @Sendable (Resource) async -> Void = { _ in },
        make: @escaping @Sendable () async throws -> Resource
    ) {
        guard maximum > 0, maximum <= 1 << 20, 0...maximum ~= minimum, 0..<maximum ~= reserved else {
            fatalError(
                """
                ResourcePool \(name ?? "\(fileID):\(line)"): maximum \(maximum), minimum \(minimum), reserved \
                \(reserved): not 1 <= maximum <= 2^20, 0 <= minimum <= maximum and 0 <= reserved < maximum
                """)
        }
        guard makingLimit ?? 1 > 0, waitersLimit ?? 1 > 0, maximumLifetime ?? .seconds(1) > .zero,
            makeTimeout ?? .seconds(1) > .zero
        else {
            fatalError(
                """
                ResourcePool \(name ?? "\(fileID):\(line)"): makingLimit \(Self.text(makingLimit)), waitersLimit \
                \(Self.text(waitersLimit)), maximumLifetime \(Self.text(maximumLifetime)), makeTimeout \
                \(Self.text(makeTimeout)): not 1 <= makingLimit, 1 <= waitersLimit, 0 < maximumLifetime and \
                0 < makeTimeout
                """)
        }
        let limits = ResourceLimits(
            maximum: maximum, minimum: minimum, reserved: reserved, makings: makingLimit ?? .max,
            bypassLimit: bypassLimit, waiters: waitersLimit ?? .max, checks: check != nil,
            idleTimeout: Self.nanoseconds(idleTimeout), preparationTimeout: Self.nanoseconds(makeTimeout))
        core = ResourcePoolCore(
            PriorityMutex(ResourcePoolState(limits), name: name, fileID: fileID, line: line), reservedFor: priority,
            lifetime: Self.nanoseconds(maximumLifetime), afterError: afterError,
            check: { try await check?(Self.resource(of: $0)) ?? true }, close: { await close(Self.resource(of: $0)) },
            factory: { Pooled(try await make()) })
    }

    private static func nanoseconds(_ time: Duration?) -> Int64 {
        time.flatMap(Deadline.nanoseconds(in:)) ?? Deadline.never
    }

    private static func text(_ limit: (some CustomStringConvertible)?) -> String { limit?.description ?? "nil" }

    /// Calls that make or close resources now keep the core until they have ended.
    deinit { core.shutDown() }

    @inlinable
    static func resource(of pooled: PooledResource) -> Resource {
        unsafe unsafeDowncast(pooled, to: Pooled<Resource>.self).resource
    }

    /// The name in messages and reports: the one given at creation, else the file and line of creation, as in
    /// `Module/File.swift:12`. Reading it never blocks.
    public var name: String { core.state.name }

    // MARK: - Using

    /// Runs `body` with exclusive use of a resource.
    ///
    /// It suspends the task while all are in use, and while one is made or checked. It returns what `body` returns, and
    /// throws what `body` or the factory throws. Without running `body` it can throw a ``ResourcePoolError``: `.full`
    /// at once if `waitersLimit` tasks wait.
    ///
    /// A nil `priority` is that of the request, or else of the task. The timeout bounds all waiting. Neither it nor a
    /// cancellation ends a use, nor a call of the factory. Zero or less takes an available resource, and makes none; if
    /// idle resources are checked, none is available. It is never early. `withDeadline` bounds the wait too, but not
    /// the factory, `check` or `close`.
    @inlinable
    public func withResource<Result>(
        priority: CommandPriority? = nil, timeout: TimeLimit = .never, file: StaticString = #fileID, line: UInt = #line,
        _ body: (Resource) async throws -> sending Result
    ) async throws -> sending Result {
        var taken = try core.take(priority, file, line)
        if taken == nil { taken = try await core.acquire(within: timeout, priority, file, line) }
        let pooled = unsafe taken.unsafelyUnwrapped
        do {
            let result = try await body(Self.resource(of: pooled))
            core.end(pooled, .keep)
            return result
        } catch {
            core.end(pooled, .keep, after: error)
            throw error
        }
    }

    /// Runs `body` with a resource and its lease, by which the body can mark the resource as broken.
    @inlinable
    public func withResource<Result>(
        priority: CommandPriority? = nil, timeout: TimeLimit = .never, file: StaticString = #fileID, line: UInt = #line,
        _ body: (Resource, ResourceLease) async throws -> sending Result
    ) async throws -> sending Result {
        var taken = try core.take(priority, file, line)
        if taken == nil { taken = try await core.acquire(within: timeout, priority, file, line) }
        let pooled = unsafe taken.unsafelyUnwrapped, lease = ResourceLease()
        do {
            let result = try await body(Self.resource(of: pooled), lease)
            core.end(pooled, lease.disposition)
            return result
        } catch {
            core.end(pooled, lease.disposition, after: error)
            throw error
        }
    }

    // MARK: - Closing

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
    public func shutdown(timeout: TimeLimit = .never) async -> ResourcePoolReport {
        await core.shutdown(within: timeout)
    }

    // MARK: - Inspection

    /// True once ``shutdown(timeout:)`` was called.
    public var isShutDown: Bool { core.state.withLock { $0.isShutDown } }
    /// The number of idle resources at some instant during the call.
    public var idleCount: Int { core.state.withLock { $0.idleCount } }
    /// The number of resources in use at some instant during the call.
    public var inUseCount: Int { core.state.withLock { $0.inUseCount } }
    /// The number of resources at some instant during the call, including those being made, excluding those being
    /// closed.
    public var count: Int { core.state.withLock { $0.count } }
    /// The number of tasks that waited for a returned or new resource at some instant during the call.
    public var waitingCount: Int { core.state.withLock { $0.waitingCount } }
}
