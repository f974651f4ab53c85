public import CSyncKernel

/// A counting semaphore whose waiters, threads and tasks in one order, are served by priority and then by arrival.
///
/// It has a number of free permits. A wait takes all the permits that it asks for at once, and waits while too few are
/// free.
///
/// ```swift
/// let sorts = PrioritySemaphore(value: 4)
/// func sorted(_ numbers: [Int]) throws -> [Int] {                     // blocks its thread
///     try sorts.blockingWithPermit(priority: .high) { numbers.sorted() }
/// }
/// try await sorts.wait(permits: 2, timeout: .milliseconds(5))         // suspends; .timedOut after 5 ms
/// try sorts.signal(2)
/// ```
///
/// `wait` and `withPermit` suspend a task; `blockingWait` and `blockingWithPermit` block a thread. A task that is
/// cancelled while it waits leaves the queue, and gets `.cancelled`. A task that is escalated moves up, if it waits at
/// its own priority.
///
/// While the first waiter asks for more permits than are free, no request of its priority or a lower one gets any. So
/// many small requests can't starve a large one. A later request of a higher priority overtakes it, as often as
/// `bypassLimit` allows.
///
/// Permits have no owner: any thread or task may signal. (With a `value` of 1, ``DeadlockWatch`` and ``SyncInspector``
/// treat the thread or task that took the permit as its holder, until another signals.) An uncontended call costs one
/// locked instruction, and allocates nothing. A task that has to wait costs one allocation. Waiting is O(log n)
/// amortized with n waiters. Copies share one semaphore, which lives as long as any call uses it or waits for it. Don't
/// use it in signal handlers.
@frozen
public struct PrioritySemaphore: @unchecked Sendable {
    @usableFromInline let box: SemaphoreBox

    /// Makes a semaphore with `value` free permits. It makes one allocation and never blocks.
    ///
    /// Numbers that are negative or exceed `Int32.max`, a `most` of zero, a `value` of more than `most`, or a
    /// `waitersLimit` below 1 stop the program with a message.
    ///
    /// - Parameters:
    ///   - value: how many permits are free at first.
    ///   - most: how many permits may be free at once. A signal beyond that fails with `.overflow`, and a wait for more
    ///     with `.invalidPermits`.
    ///   - bypassLimit: a waiter that this many later arrivals have overtaken goes next. 0 means strict priority. Nil
    ///     means strict priority for calls that name a priority, and 64 for the others: a call that did not choose its
    ///     priority doesn't wait for ever behind a stream of others.
    ///   - waitersLimit: how many calls may wait. A further call gets `.full` at once. Nil: any number.
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the semaphore is made.
    ///   - line: the line there.
    public init(
        value: Int, most: Int = Int(Int32.max), bypassLimit: UInt32? = nil, waitersLimit: Int? = nil,
        name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let place = unsafe csk_place_t.named(name, fileID, line)
        guard let waiters = WaitersLimit.ofKernel(waitersLimit) else {
            fatalError(
                "PrioritySemaphore \(unsafe place.label!): waitersLimit \(waitersLimit ?? 0): not 1 <= waitersLimit")
        }
        guard 1...Int(Int32.max) ~= most, 0...most ~= value else {
            fatalError(
                """
                PrioritySemaphore \(unsafe place.label!): value \(value), most \(most): not \
                0 <= value <= most, 1 <= most <= \(Int32.max)
                """)
        }
        let attributes = csk_sem_attr_t(
            size: 0, most: UInt32(most), bypass_limit: BypassLimit.ofKernel(bypassLimit), waiters_limit: waiters,
            policy: UInt32(CSK_SEM_STRICT))
        box = unsafe .make(UInt32(value), attributes, place)
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { box.name }

    // MARK: - Waiting

    /// Takes `permits`, and blocks the thread while too few are free.
    ///
    /// A nil `priority` is that of `withPriority`, or the normal one. A timeout of zero or less tries once. Without a
    /// timeout only the deadline of `withDeadline` bounds the wait. It throws `.timedOut`, `.full` or `.invalidPermits`
    /// without having taken any permit.
    @available(*, noasync, message: "try await wait()")
    @inlinable
    public func blockingWait(
        permits: Int = 1, priority: CommandPriority? = nil, timeout: TimeLimit = .never
    ) throws(PrioritySemaphoreError) {
        if tryFast(permits) { return }
        try waitSlowly(permits, priority, timeout)
    }

    /// Takes `permits` if it can without waiting, and returns whether it has.
    ///
    /// It can't while too few are free, nor while a waiter has the same or a higher priority, or was overtaken too
    /// often. It returns false for a number of permits that can never be had.
    @inlinable
    public func tryWait(permits: Int = 1, priority: CommandPriority = .normal) -> Bool {
        guard permits > 0, let permits = UInt32(exactly: permits) else { return false }
        return unsafe box.withSemaphore { unsafe csk_sem_trywait($0, priority.rawValue, permits) } == 0
    }

    /// Takes `permits`, and suspends the task while too few are free.
    ///
    /// A nil `priority` is that of `withPriority`, or of the task. A timeout of zero or less tries once. It throws
    /// `.timedOut`, `.cancelled`, `.full`, `.invalidPermits`, or `.outOfResources` where the system gives no timer, and
    /// has taken nothing then. A task that is cancelled already gets `.cancelled`.
    @inlinable
    public func wait(
        permits: Int = 1, priority: CommandPriority? = nil, timeout: TimeLimit = .never
    ) async throws(PrioritySemaphoreError) {
        if try tryFastUnlessCancelled(permits) { return }
        try await suspend(permits, priority, timeout)
    }

    /// Takes permits if there is no waiter.
    @inlinable
    func tryFast(_ permits: Int) -> Bool {
        guard let permits = UInt32(exactly: permits) else { return false }
        return unsafe box.withSemaphore { unsafe csk_sem_take_fast($0, permits) }
    }

    /// Takes permits as ``tryFast(_:)`` does, unless the calling task is cancelled.
    @inlinable
    func tryFastUnlessCancelled(_ permits: Int) throws(PrioritySemaphoreError) -> Bool {
        if Task.isCancelledByOthers { throw .cancelled }
        return tryFast(permits)
    }

    @usableFromInline
    func waitSlowly(
        _ permits: Int, _ priority: CommandPriority?, _ limit: TimeLimit
    ) throws(PrioritySemaphoreError) {
        let permits = try Self.checked(permits), rank = RequestPriority.rankOfThread(naming: priority)
        try Self.check(unsafe box.withSemaphore { unsafe csk_sem_wait_ranked($0, rank, permits, limit.deadline()) })
    }

    /// `task` is the calling task if it is about to begin a scope.
    @usableFromInline
    func suspend(
        _ permits: Int, _ priority: CommandPriority?, _ limit: TimeLimit, for task: UInt = 0
    ) async throws(PrioritySemaphoreError) {
        let permits = try Self.checked(permits)
        let status = await unsafe SemaphoreWait.acquire(
            permits, at: box.semaphore, of: box, for: task, naming: priority, deadline: limit.deadline())
        try Self.check(status)
    }

    // MARK: - Giving

    /// Adds `count` permits, and hands them to waiters. It never blocks.
    ///
    /// It throws `.overflow` where more would be free than there may be, and `.invalidPermits` for a count below one,
    /// and has added nothing then.
    @inlinable
    public func signal(_ count: Int = 1) throws(PrioritySemaphoreError) {
        // A number that doesn't fit exceeds the room of every semaphore.
        guard let permits = UInt32(exactly: count) else { throw Self.error(count > 0 ? EOVERFLOW : EINVAL) }
        try Self.check(unsafe box.withSemaphore { unsafe csk_sem_post($0, permits) })
    }

    /// Changes the total number of permits, including those taken. At first it is the initial value.
    ///
    /// A larger total adds the difference to the free permits, and hands them to waiters. A smaller one takes the
    /// difference from the free permits. If too few are free, their number is negative until enough have been returned.
    /// It never blocks. It throws `.invalidPermits` for a negative number, or for more than there may be; and
    /// `.overflow` where more would be free than there may be, since others have signalled permits that they had not
    /// taken.
    public func resize(to permits: Int) throws(PrioritySemaphoreError) {
        guard let permits = UInt32(exactly: permits) else { throw .invalidPermits }
        try Self.check(unsafe box.withSemaphore { unsafe csk_sem_resize($0, permits) })
    }

    // MARK: - Scopes

    /// Runs `body` with permits, and returns them when `body` has returned or thrown.
    ///
    /// It blocks the thread while too few are free. It throws what ``blockingWait(permits:priority:timeout:)`` throws,
    /// without running `body`, and what `body` throws. If there is no room for these, because others have signalled
    /// permits that they had not taken, it reports that to ``SyncDiagnostics``.
    @available(*, noasync, message: "try await withPermit { }")
    @inlinable
    public func blockingWithPermit<Result: ~Copyable>(
        permits: Int = 1, priority: CommandPriority? = nil, timeout: TimeLimit = .never, _ body: () throws -> Result
    ) throws -> Result {
        if !tryFast(permits) { try waitSlowly(permits, priority, timeout) }
        defer { giveBack(permits) }
        return try body()
    }

    /// Runs `body` with permits, and returns them when `body` has returned or thrown, and after a cancellation too.
    ///
    /// It suspends the task while too few are free. It throws what ``wait(permits:priority:timeout:)`` throws, without
    /// running `body`, and what `body` throws.
    ///
    /// Tasks that wait for permits raise this task's priority to their own task priority, unless another has entered
    /// after it.
    @inlinable
    public func withPermit<Result>(
        permits: Int = 1, priority: CommandPriority? = nil, timeout: TimeLimit = .never,
        _ body: () async throws -> sending Result
    ) async throws -> sending Result {
        let task = RuntimeFacts.addressOfTask()
        if try !tryFastUnlessCancelled(permits) { try await suspend(permits, priority, timeout, for: task) }
        unsafe box.withSemaphore { unsafe csk_sem_begin_scope($0, UInt64(task)) }
        defer { endScope(of: task, permits) }
        return try await body()
    }

    @inlinable
    func giveBack(_ permits: Int) {
        unsafe giveBack(permits) { unsafe csk_sem_post($0, $1) }
    }

    @inlinable
    func endScope(of task: UInt, _ permits: Int) {
        unsafe giveBack(permits) { unsafe csk_sem_end_scope($0, UInt64(task), $1) }
    }

    @inlinable
    @inline(__always)
    func giveBack(_ permits: Int, by give: (UnsafeMutablePointer<csk_sem_t>, UInt32) -> Int32) {
        let status = unsafe box.withSemaphore { unsafe give($0, UInt32(truncatingIfNeeded: permits)) }
        if status != 0 { reportTooMany(permits) }
    }

    /// Others have signalled permits that they had not taken. So there was no room for these, and none is missing.
    @usableFromInline
    func reportTooMany(_ permits: Int) {
        SyncDiagnostics.report(
            .releasedTwice, subject: "PrioritySemaphore \(name)",
            message: "withPermit had no room to give back \(permits): others signalled permits that they had not taken")
    }

    // MARK: - Inspection

    /// The free permits at some instant during the call. It is negative after ``resize(to:)`` has withdrawn permits
    /// that were taken. It is meant for statistics: by the time that it returns, others may have taken them.
    public var availablePermits: Int { unsafe Int(box.withSemaphore { unsafe csk_sem_permits($0) }) }

    /// The number of threads and tasks that waited at some instant during the call.
    public var waitingCount: Int { unsafe Int(box.withSemaphore { unsafe csk_sem_waiting($0) }) }

    // MARK: - Statuses

    @inlinable
    static func checked(_ permits: Int) throws(PrioritySemaphoreError) -> UInt32 {
        guard permits > 0, let permits = UInt32(exactly: permits) else { throw .invalidPermits }
        return permits
    }

    @inlinable
    static func check(_ status: Int32) throws(PrioritySemaphoreError) {
        if status != 0 { throw error(status) }
    }

    /// Called where a call fails only: what it takes here would otherwise be set up by each call that succeeds.
    @inline(never)
    @usableFromInline
    static func error(_ status: Int32) -> PrioritySemaphoreError {
        status == EINVAL ? .invalidPermits : PrioritySemaphoreError(status: status)
    }
}
