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
/// Tasks that wait are served by priority, and within one priority by arrival: whoever is first gets what comes first,
/// be it a resource that comes back or a new one. A cancelled task leaves the queue. The resource that was used last is
/// used next, so that those that are not needed can be closed.
///
/// A factory's call belongs to no task that waits. No deadline and no cancellation of a task ends it: if all that
/// waited have given up, what it makes becomes idle, and serves the next. As many calls run as tasks wait, within
/// `maximum` and `makingLimit`. One that lasts for longer than `makeTimeout` is cancelled, and counts as failed. If the
/// factory throws, the first in order gets the error, and for the others the next call begins; so each failure ends one
/// wait, and a factory that always fails ends them all. If nobody waits, ``SyncDiagnostics`` is told.
///
/// A resource that is broken is given up by its lease, and after an error that the body throws, unless `afterError`
/// says otherwise. One that is older than `maximumLifetime`, or for which `check` says no before its use, is not lent
/// out. It is closed, and another is made when one is needed: at once if there are fewer than `minimum`.
///
/// A resource has its place among the maximum from before its factory is called until its `close` has returned. So a
/// `close` that hangs takes a place for good: let it end in time. What is made, used and closed for tasks of low
/// priority counts among the places that are not reserved until the resource is idle or closed, so nothing that hangs
/// for them takes what is reserved.
///
/// Nothing here blocks a thread. Factory, `check`, `close` and `afterError` are called without any lock, the first
/// three in a task of their own for each resource, so that one that hangs holds up no other. These tasks have no
/// task-local values. Those of factory and `check` begin with the priority of the task that is first in order, those of
/// `close` with the default one. They may use the pool, but a task that waits inside of its own use, of a factory or of
/// a `close` for a further resource may wait for ever where all places are taken so.
///
/// A pool that goes away without ``shutdown(timeout:)`` closes its resources too, cancels what makes more, and waits
/// for nobody. Taking a resource that is there costs two short sections of a ``PriorityMutex``, and no wait and no
/// allocation, where nothing is checked. Waiting is O(log n) amortized with n waiters, and so is making and closing a
/// resource with n of them.
public final class ResourcePool<Resource: Sendable>: Sendable {
    /// What is done with a resource after its body has thrown.
    public typealias AfterError = @Sendable (any Error) -> ResourceLease.Disposition

    @usableFromInline let core: ResourcePoolCore

    /// Makes a pool, which begins to make the fewest resources. It never blocks, and doesn't wait for them.
    ///
    /// Numbers and times that are out of their bounds stop the program with a message.
    ///
    /// - Parameters:
    ///   - maximum: how many resources there may be, at least 1. Those that are being made or closed count.
    ///   - minimum: how many are made in advance, at most `maximum`: at first, and when others are gone. They are not
    ///     closed for being idle. After a factory that failed they are tried again after a pause, of 100 ms to 30 s.
    ///   - reserved: how many only a high priority may use, less than `maximum`.
    ///   - priority: from which priority on those may be used. It is that of the request when it comes: an escalation
    ///     while it waits does not change what it may have.
    ///   - bypassLimit: a task that waits and was overtaken by this many later arrivals goes next, if it may have what
    ///     there is. 0 means strict priority. Nil means strict priority for those whose calls name a priority, and 64
    ///     for the others.
    ///   - makingLimit: how many calls of the factory may run at once, at least 1. The default keeps a program that
    ///     starts or reconnects from opening all of its connections at one instant, on which servers refuse some, and
    ///     still makes 160 a second where each takes 100 ms. Nil: as many as tasks wait. Where places are reserved, low
    ///     priorities have as large a share of these calls as of the places, and one at least. A call stands for one
    ///     request that waits, until it has taken a third of `makeTimeout`: then it is slow, and another may begin. One
    ///     that goes on past `makeTimeout` counts no more. While `maximum` of these, and at least 16, ignore that they
    ///     are cancelled, no call begins; low priorities have their share of these too, and then no call begins for
    ///     them.
    ///   - waitersLimit: how many tasks may wait, at least 1, besides those for which a call of the factory or of
    ///     `check` is under way that is not slow. A further one gets `.full` at once, whatever its priority, unless a
    ///     call begins for it. Nil: any number.
    ///   - idleTimeout: a resource that nobody has used for that long is closed, unless it is one of the fewest. Nil
    ///     keeps all; zero or less closes each that no request takes at once.
    ///   - maximumLifetime: a resource that is older is closed when it comes back, or when it is idle, and not lent
    ///     out. It is more than zero. Each gets a lifetime that is up to a tenth shorter, so that those that were made
    ///     together are not closed together. Nil: any age.
    ///   - makeTimeout: how long a call of the factory or of `check` may last, more than zero. Then it is cancelled. A
    ///     call of the factory counts as failed, with `.makingTimedOut`, and its place is free; what it makes later is
    ///     closed. After such a check its resource is closed. Nil: for ever. A call that hangs then keeps its place for
    ///     good, and stands for one request, so nothing is made in its stead. A shutdown cancels it, and waits for it.
    ///   - name: what reports and messages call it. Nil stands for the file and line that make it.
    ///   - fileID: where the pool is made, which is its ``name`` where it has no other.
    ///   - line: the line there.
    ///   - afterError: what becomes of a resource whose body has thrown; by default it is discarded.
    ///   - check: says before the use of an idle resource whether it is fit. If it returns false or throws, the
    ///     resource is closed, and the next is tried. One that is handed on from use to use, or that was just made, is
    ///     not checked. Nil: each is fit.
    ///   - close: closes a resource. It is called once for each that was made. What goes wrong there is its own matter.
    ///   - make: makes a resource. It is called when one is needed and there is a place, by several tasks at once too.
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

    /// What it makes and closes now keeps the core until that has ended.
    deinit { core.shutDown() }

    @inlinable
    static func resource(of pooled: PooledResource) -> Resource {
        unsafe unsafeDowncast(pooled, to: Pooled<Resource>.self).resource
    }

    /// What messages and reports call it: the name that it was made with, or else the file and line where it was made,
    /// as in `Module/File.swift:12`. It never blocks.
    public var name: String { core.state.name }

    // MARK: - Using

    /// Runs `body` with a resource that nobody else uses meanwhile.
    ///
    /// It suspends the task while all are in use, and while one is made or checked. It returns what `body` returns, and
    /// throws what `body` or the factory throws. Without running `body` it throws a ``ResourcePoolError`` too: `.full`
    /// at once where as many wait as may.
    ///
    /// A nil `priority` is that of the request, or else of the task. The timeout is for the waiting, whatever for.
    /// Neither it nor a cancellation ends a use, nor a call of the factory. Zero or less takes a resource that is
    /// there, and makes none; where idle ones are checked, none is there. It is never early. `withDeadline` bounds the
    /// wait too, but not the factory, `check` or `close`.
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

    /// Runs `body` with a resource and its lease, by which the body can say that the resource is broken.
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

    // MARK: - Inspection

    /// True once ``shutdown(timeout:)`` was called.
    public var isShutDown: Bool { core.state.withLock { $0.isShutDown } }
    /// How many resources nobody used at some instant during the call.
    public var idleCount: Int { core.state.withLock { $0.idleCount } }
    /// How many were in use at some instant during the call.
    public var inUseCount: Int { core.state.withLock { $0.inUseCount } }
    /// How many there were at some instant during the call: those that are being made included, and those that are
    /// being closed not.
    public var count: Int { core.state.withLock { $0.count } }
    /// How many tasks waited for a resource at some instant during the call, whether one comes back to them or is made.
    public var waitingCount: Int { core.state.withLock { $0.waitingCount } }
}
