import CSyncKernel

extension PriorityMutex where Value: ~Copyable {
    /// The type of ``PriorityMutex/suspending``: sections that a task enters by suspending instead of blocking its
    /// thread.
    ///
    /// ```swift
    /// let cache = PriorityMutex([String: Int]())
    /// try await cache.suspending.withLock { $0["hits", default: 0] += 1 }
    /// let size = try await cache.suspending.withLock(priority: .low, timeout: .milliseconds(5)) { $0.count }
    /// ```
    ///
    /// Tasks and threads wait in one order: by priority, and within one priority by arrival. The section itself is
    /// synchronous and runs where the task runs, on the caller's actor if there is one. If that executor has not
    /// started a task within 1 ms of its turn, waiters of other executors and threads go first; the task keeps its
    /// place. So an executor that is stuck behind the mutex can't stall it.
    ///
    /// A free mutex costs no suspension; and no allocation if it is ``GatePolicy/fast``, has no bypass limit and was
    /// used before. A task that has to wait costs two allocations, the first wait of an executor one more, and so does
    /// any other section. Waiting is O(log n) amortized with n waiters.
    @frozen
    public struct Suspending: @unchecked Sendable {
        @usableFromInline
        let box: MutexBox<Value>

        @inlinable
        init(_ box: MutexBox<Value>) {
            self.box = box
        }

        /// Runs `body` with exclusive access to the value, and returns what it returns.
        ///
        /// It suspends the task while it waits, and blocks no thread. A nil `priority` is that of `withPriority`, or of
        /// the task, which moves up where it is escalated while it waits. A timeout of zero or less tries once, and no
        /// timeout is early. It throws ``PriorityMutexError/timedOut``; ``PriorityMutexError/cancelled`` where the task
        /// is cancelled before its turn, or was before the call; or ``PriorityMutexError/outOfResources`` where the
        /// system gives no timer. `body` has not run then. Once it runs, nothing ends it but its own code. What `body`
        /// throws is rethrown, and leaves the mutex free.
        @inlinable
        public func withLock<Result: ~Copyable>(
            priority: CommandPriority? = nil, timeout: TimeLimit = .never,
            _ body: (inout sending Value) throws -> sending Result
        ) async throws -> sending Result {
            if try !enterFast() { try await enterSlowly(priority, timeout) }
            defer { box.leaveSuspended() }
            return try body(&box.value.pointee)
        }

        @inlinable
        func enterFast() throws(PriorityMutexError) -> Bool {
            if Task.isCancelledByOthers { throw .cancelled }
            return box.enterFast() && box.mayStay()
        }

        /// On return the calling thread holds the gate. The thread must not change before the section ends, so every
        /// call on the way has the caller's isolation.
        @usableFromInline
        func enterSlowly(
            _ priority: CommandPriority?, _ limit: TimeLimit
        ) async throws(PriorityMutexError) {
            try await enterSlowly(priority, deadline: limit.deadline())
        }

        func enterSlowly(
            _ priority: CommandPriority?, deadline: Int64
        ) async throws(PriorityMutexError) {
            let rank = priority.map(CommandRank.of)
            if unsafe SuspendedWaiter.enterAtOnce(box.gate, of: box, rank: rank, isolation: #isolation) { return }
            // A wait that only tries is not queued: it would block later waiters until the timers' thread removes it.
            if deadline == Deadline.passed {
                let priority = RequestPriority.ofTask(naming: priority).rawValue
                if unsafe box.withGate({ unsafe csk_gate_trylock($0, priority) }) != 0 { throw .timedOut }
                if box.mayStay() { return }
            }
            let status = await unsafe SuspendedWaiter(box.gate, of: box, isolation: #isolation).acquire(
                rank: rank, deadline: deadline)
            if status != 0 { throw PriorityMutexError(status: status) }
        }
    }

    /// Sections that a task enters by suspending instead of blocking its thread.
    ///
    /// The name is `suspending`, as for every object of this library that also has blocking forms. An `async` overload
    /// of ``withLock(priority:_:)`` would be chosen by the compiler in every async function, and would demand an
    /// `await` there; but the form that blocks is right in async functions too, where sections are short and contention
    /// is rare. Use this form where a task may have to wait for long.
    @inlinable
    public var suspending: Suspending { Suspending(box) }

    /// For tests: how long an executor may take to start a task in its turn.
    init(
        _ value: consuming sending Value, policy: GatePolicy = .fast, graceMicroseconds: UInt32,
        bypassLimit: UInt32? = nil
    ) {
        box = unsafe .make(value, policy, bypassLimit, graceMicroseconds: graceMicroseconds, .unknown)
    }
}
