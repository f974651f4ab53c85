public import CSyncKernel

/// A value behind a lock whose waiters are ordered by priority and may have a timeout.
///
/// It has the interface of `Synchronization.Mutex`, so code migrates by renaming the type. Lock and value are one
/// allocation, and copies share both.
///
/// ```swift
/// let cache = PriorityMutex([String: Int]())
/// cache.withLock { $0["hits", default: 0] += 1 }
/// let size = cache.withLock(priority: .low, timeout: .milliseconds(5)) { $0.count }   // nil: 5 ms were not enough
/// ```
///
/// Locking blocks the calling thread. In async code use it for short sections only: the closure can't suspend. An
/// uncontended lock costs one locked instruction and no allocation. Waiting is O(log n) amortized with n waiters. What
/// the closure throws is rethrown, and leaves the lock free. A thread that ends inside a section leaves the lock taken
/// for good; see ``SyncDiagnostics``. Don't use it in signal handlers.
@frozen
public struct PriorityMutex<Value: ~Copyable>: @unchecked Sendable {
    @usableFromInline
    let box: MutexBox<Value>

    /// Protects `value`. It makes one allocation and never blocks.
    ///
    /// - Parameters:
    ///   - value: what is protected. It is sent in.
    ///   - policy: what happens under contention; see ``GatePolicy``.
    ///   - bypassLimit: a waiter that this many later arrivals have overtaken goes next, whatever its priority. 0 means
    ///     strict priority, under which the lowest can wait for as long as higher ones keep coming. Nil means a limit
    ///     of 64 for calls that name no priority, and strict priority for the others.
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the mutex is made.
    ///   - line: the line there.
    @inlinable
    public init(
        _ value: consuming sending Value, policy: GatePolicy = .fast, bypassLimit: UInt32? = nil, name: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        box = unsafe .make(value, policy, bypassLimit, .named(name, fileID, line))
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { box.name }

    /// Runs `body` with exclusive access to the value. It waits without a limit.
    ///
    /// Waiters are served by priority, and within one priority by arrival. It blocks the thread while it waits. It
    /// can't report a failure to enter, so it ignores `withDeadline`. Calling it from inside `body` on the same thread
    /// stops the program with a message. ``withLockIfAvailable(_:)`` returns nil there.
    ///
    /// - Parameters:
    ///   - priority: the priority at which it waits. Nil means the normal one, or that of `withPriority`.
    ///   - body: what is run.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        priority: CommandPriority? = nil, _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        if !box.enterFast() { if let priority { enterOrStop(priority) } else { enterOrStop() } }
        defer { box.leave() }
        return try body(&box.value.pointee)
    }

    /// Runs `body` if the value is available at once, else returns nil. It never waits.
    ///
    /// The value is not available while another thread, or this one, is inside, nor while there is a waiter of
    /// higher than normal priority.
    @inlinable
    public borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard unsafe box.withGate({ unsafe csk_gate_trylock($0, CommandPriority.normal.rawValue) }) == 0 else {
            return nil
        }
        defer { box.leave() }
        return try body(&box.value.pointee)
    }

    /// Runs `body` with the value, waiting at `priority` for at most `timeout`. It returns nil on timeout. A nil
    /// `priority` is the normal one, or that of `withPriority`.
    ///
    /// Waiters are served by priority, and within one priority by arrival. A timeout of zero or less tries once. The
    /// deadline of `withDeadline` bounds the wait too. It blocks the thread while it waits. Calling it from inside a
    /// section of the same thread stops the program with a message.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        priority: CommandPriority? = nil,
        timeout: TimeLimit,
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        if !box.enterFast(), !enterSlowly(priority, timeout) { return nil }
        defer { box.leave() }
        return try body(&box.value.pointee)
    }

    /// Waits for at most `timeout`, and runs a body that returns nothing. It returns true if `body` was run, else
    /// false, and the compiler warns if the result is unused. Where a Bool is expected, the compiler chooses this form
    /// and drops the result of a one-expression body. For a Bool that the body returns, compare: `… { $0.isOpen } ==
    /// true`.
    @inlinable
    public borrowing func withLock<Failure: Error>(
        priority: CommandPriority? = nil,
        timeout: TimeLimit,
        _ body: (inout sending Value) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        if !box.enterFast(), !enterSlowly(priority, timeout) { return false }
        defer { box.leave() }
        try body(&box.value.pointee)
        return true
    }

    /// Apart from the form with a priority, which costs a strict mutex 6 % more instructions for both.
    @usableFromInline
    borrowing func enterOrStop() {
        _ = enterSlowly(rank: RequestPriority.rankOfThread(naming: nil), deadline: Deadline.never)
    }

    @usableFromInline
    borrowing func enterOrStop(_ priority: CommandPriority) {
        _ = enterSlowly(rank: CommandRank.of(priority), deadline: Deadline.never)
    }

    @usableFromInline
    borrowing func enterSlowly(_ priority: CommandPriority?, _ limit: TimeLimit) -> Bool {
        enterSlowly(rank: RequestPriority.rankOfThread(naming: priority), deadline: limit.deadline())
    }

    private borrowing func enterSlowly(rank: Int64, deadline: Int64) -> Bool {
        hasEntered(box.enterSlowly(rank: rank, deadline: deadline))
    }

    /// Returns whether a wait that ended with this status holds the mutex.
    borrowing func hasEntered(_ status: Int32) -> Bool {
        switch status {
        case 0: return true
        case ETIMEDOUT: return false
        case EDEADLK:
            fatalError(
                "PriorityMutex \(name): withLock was called inside a section of the same mutex by the same thread")
        default: fatalError("PriorityMutex \(name): \(statusText(status))")
        }
    }

    /// The number of threads that waited at some instant during the call.
    package var waitingCount: Int { box.waitingCount }
}
