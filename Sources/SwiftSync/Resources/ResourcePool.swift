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
/// A pool that goes away without ``shutdown(timeout:)`` closes its resources too, and waits for nobody.
/// Taking a resource that is there costs two short sections of a ``PriorityMutex``, and no wait and no allocation.
/// Waiting is O(log n) amortized with n waiters.
public final class ResourcePool<Resource: Sendable>: Sendable {
    /// What is done with a resource after its body has thrown.
    public typealias AfterError = @Sendable (any Error) -> ResourceLease.Disposition

    @usableFromInline let core: ResourcePoolCore

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
    ///   - name: what reports and messages call it. Nil stands for the file and line that make it.
    ///   - fileID: where the pool is made, which is its ``name`` where it has no other.
    ///   - line: the line there.
    ///   - afterError: what becomes of a resource whose body has thrown; by default it is discarded.
    ///   - close: closes a resource. It is called once for each that was made. What goes wrong there is its own matter.
    ///   - make: makes a resource. It is called when one is needed and there is a place, by several tasks at once too.
    public init(
        maximum: Int, minimum: Int = 0, reserved: Int = 0, reservedFor priority: CommandPriority = .high,
        idleTimeout: Duration? = nil, name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line,
        afterError: @escaping AfterError = { _ in .discard },
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
        let limits = ResourceLimits(
            maximum: maximum, minimum: minimum, reserved: reserved,
            idleTimeout: idleTimeout.flatMap(Deadline.nanoseconds(in:)) ?? Deadline.never)
        core = ResourcePoolCore(
            PriorityMutex(ResourcePoolState(limits), name: name, fileID: fileID, line: line), reservedFor: priority,
            afterError: afterError,
            close: { await close(Self.resource(of: $0)) }, factory: { Pooled(try await make()) })
    }

    /// What it makes and closes now keeps the core until that has ended.
    deinit { core.closeIdle() }

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
    /// It suspends the task while all are in use, and while one is made. It returns what `body` returns, and throws
    /// what `body` or the factory throws. Without running `body` it throws a ``ResourcePoolError`` too.
    ///
    /// A nil `priority` is that of the task. The timeout is for the waiting and the making. Neither it nor a
    /// cancellation ends a use. Zero or less takes a resource that is there, and makes none. It is never early.
    /// `withDeadline` bounds the wait too, and what the factory waits for, but not `close`.
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

    /// Does the same, with a lease, by which the body can say that the resource is broken.
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
    /// How many tasks waited for a resource or for the place of one at some instant during the call. Those for which
    /// the factory works are not among them.
    public var waitingCount: Int { core.state.withLock { $0.waitingCount } }
}
