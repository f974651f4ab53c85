import CSyncKernel
public import Dispatch

/// What ``WorkQueue`` and ``ConcurrentWorkQueue`` have in common.
///
/// Closures run on the library's worker threads; a queue without work costs no thread. They begin in the order of their
/// priorities, equal ones in the order they came. A closure may block: other queues go on. What is queued runs even
/// when nobody keeps the queue object.
///
/// A queue knows which threads run its closures: a call from there that would wait for itself is an error, not a hang.
public class WorkQueueBase: @unchecked Sendable {
    final let core: WorkQueueCore

    /// What the queue was called: shown in messages.
    public final let label: String

    /// What keeps the queue's last events, if anything does: closures, callers and tasks; not the jobs of actors and
    /// tasks.
    ///
    /// May be set at any time and from anywhere, for all that is queued from then on; what was queued before goes on
    /// with the one of its time.
    public final var recorder: EventRecorder? {
        get { core.recorder }
        set { core.recorder = newValue }
    }

    init(core: WorkQueueCore) {
        self.core = core
        label = core.label
    }

    /// What was accepted still runs, also on a suspended queue.
    deinit {
        csk_workqueue_release(core.queue)
    }

    /// Runs a job of the Swift runtime, on a worker.
    func run(_ job: UnownedJob, _ kind: QueuedJob.Kind) {
        fatalError("\(Self.self) runs no jobs")
    }

    // MARK: - Queueing

    /// Runs `body` after everything of its priority that came before, and returns at once.
    ///
    /// May be called from anywhere, the queue's own work included. Allocates nothing beyond the closure's own context.
    /// Blocks only on a full queue whose bound says so; tasks call ``asyncWaitingForRoom(priority:timeout:_:)`` there.
    /// O(1).
    ///
    /// - Returns: false, with a report to ``SyncDiagnostics``, after a shutdown, when the bound refuses or when the
    ///   system has no thread; then `body` will not run.
    @preconcurrency
    @discardableResult
    public final func async(_ body: @escaping @Sendable () -> Void) -> Bool {
        core.async(body)
    }

    /// Runs `body` before everything that waits with a lower priority. O(log n) amortized in the number of waiting
    /// works with other priorities than the queue's own.
    @preconcurrency
    @discardableResult
    public final func async(priority: CommandPriority, _ body: @escaping @Sendable () -> Void) -> Bool {
        core.async(rank: core.rank(of: priority), body)
    }

    /// The same under a name for the queue's ``recorder``; its label is the name of all others.
    @preconcurrency
    @discardableResult
    public final func async(tag: String, priority: CommandPriority? = nil, _ body: @escaping @Sendable () -> Void) -> Bool {
        core.async(rank: core.rank(of: priority), tag: tag, body)
    }

    /// Runs `body` as a task of its own, which has the task-local values and the priority of the caller; its place
    /// among other work is that of ``async(_:)``, or of `priority`.
    ///
    /// With false it is ``async(_:)``. With true it costs the allocations of a task.
    @discardableResult
    public final func async(inheritingTaskLocals: Bool, priority: CommandPriority? = nil, _ body: @escaping @Sendable () -> Void) -> Bool {
        let rank = core.rank(of: priority)
        return inheritingTaskLocals ? core.asyncInheriting(rank: rank, barrier: false, body) : core.async(rank: rank, body)
    }

    /// Queues `body`, and returns once it is queued, not when it has run. On a full queue whose bound lets callers
    /// wait, the task is suspended until there is room, which comes in the order of the calls.
    ///
    /// - Throws: ``WorkQueueError/full`` where the bound refuses, ``WorkQueueError/shutDown``,
    ///   ``WorkQueueError/outOfResources``; ``WorkQueueError/timedOut`` after `timeout` (nil: no limit; never early),
    ///   and ``WorkQueueError/cancelled`` if the task is cancelled before. `body` will not run then.
    public final func asyncWaitingForRoom(
        priority: CommandPriority? = nil, timeout: Duration? = nil, _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(rank: core.rank(of: priority), barrier: false, timeout: timeout, body)
    }

    /// Queues `body` once `delay` has passed, never early. Zero or less: now; what exceeds 292 years: never, until it
    /// is cancelled.
    ///
    /// Does not run if the queue is shut down before that time, or is full then and its bound refuses; both are
    /// reported to ``SyncDiagnostics``.
    @preconcurrency
    @discardableResult
    public final func async(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        core.async(after: delay, rank: core.ownRank, body)
    }

    /// Queues `body` at a time, never early. As ``async(after:_:)``, it does not run if the queue is shut down before
    /// that time.
    @preconcurrency
    @discardableResult
    public final func asyncAfter(deadline: DispatchTime, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        let now = DispatchTime.now().uptimeNanoseconds
        let delay = deadline == .distantFuture ? Int64.max : Int64(clamping: deadline.uptimeNanoseconds) - Int64(clamping: now)
        return core.async(after: delay == .max ? .seconds(Int64.max) : .nanoseconds(delay), rank: core.ownRank, body)
    }

    /// Queues `body` each time that `period` has passed, for the first time after one period, until it is cancelled.
    ///
    /// Never early, and never twice at once: a tick is skipped while the previous call still runs. Ends with
    /// ``shutdown(cancelsPending:)``.
    @preconcurrency
    @discardableResult
    public final func async(every period: Duration, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        core.async(every: period, rank: core.ownRank, body)
    }

    // MARK: - Waiting

    /// Runs `body` on the calling thread when it is its turn, and returns what it returns.
    ///
    /// Blocks meanwhile, and runs nothing but `body`. It is never refused and never dropped, and runs in order after a
    /// shutdown too, whatever that cancels. From inside the queue's own work, which it would wait for, it stops the
    /// program with a message.
    @available(*, noasync, message: "use await run { }, or sync(timeout:)")
    @discardableResult
    public final func sync<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        try core.sync(rank: core.ownRank, barrier: false, body)
    }

    /// The same for a call that can be refused: throws a ``WorkQueueError`` when it takes longer than `timeout` (nil:
    /// no limit; never early), inside the queue's own work, when the bound refuses or drops it, and after a shutdown.
    @discardableResult
    public final func sync<R>(timeout: Duration?, priority: CommandPriority? = nil, _ body: () throws -> R) throws -> R {
        try core.sync(rank: core.rank(of: priority), barrier: false, timeout: timeout, body)
    }

    /// Suspends the task until it is its turn, runs `body` on a worker as a part of the task, and returns what it
    /// returns.
    ///
    /// `body` sees the task-local values, the priority and the cancellation of the task. The call is never refused and
    /// never dropped: neither a cancellation nor a shutdown keeps `body` from running. The form with a timeout can be
    /// refused.
    @discardableResult
    public final func run<T: Sendable, E: Error>(_ body: @escaping @Sendable () throws(E) -> T) async throws(E) -> T {
        try await core.run(rank: core.ownRank, barrier: false, body)
    }

    /// The same for a call that can be refused: throws a ``WorkQueueError`` when `body` has not begun after `timeout`
    /// (nil: no limit; never early), when the task is cancelled before it has begun, when the bound refuses or drops
    /// it, and after a shutdown. For room in a full queue the task waits suspended. With a timeout of zero `body` runs
    /// if its turn is there, on the calling thread.
    @discardableResult
    public final func run<T: Sendable>(
        timeout: Duration?, priority: CommandPriority? = nil, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await core.run(rank: core.rank(of: priority), barrier: false, timeout: timeout, body)
    }

    // MARK: - The queue's life

    /// From now on nothing begins, until ``resume()`` was called as often as this. What runs goes on. After a shutdown
    /// it does nothing.
    public final func suspend() {
        if csk_workqueue_suspend(core.queue) != 0 { fatalError("\(core.type) \(label): suspended 65 535 times") }
    }

    /// Ends one ``suspend()``. One more than those stops the program with a message.
    public final func resume() {
        if csk_workqueue_resume(core.queue) != 0 { fatalError("\(core.type) \(label): resume was called more often than suspend") }
    }

    /// Waits until everything that was accepted before has ended. Blocks the thread; in a task use the form that is
    /// awaited.
    ///
    /// - Throws: ``WorkQueueError/timedOut`` after `timeout` (nil: no limit; never early);
    ///   ``WorkQueueError/wouldDeadlock`` inside the queue's own work.
    public final func drain(timeout: Duration?) throws(WorkQueueError) {
        try core.drain(timeout: timeout)
    }

    /// The same without a limit. Inside the queue's own work it stops the program with a message.
    ///
    /// In a function that suspends, `drain()` is the other form, which has to be awaited. In two places the compiler
    /// takes this one, and it blocks without a warning:
    ///
    /// - in a closure with no other `await`: `Task { queue.drain() }` ties up a thread of the cooperative pool. Write
    ///   `Task { await queue.drain() }`.
    /// - in top-level code, even with `await`: there the compiler chooses among overloads as in a function that can't
    ///   suspend. Use the result, as in `let hasEnded: Bool = await queue.drain()`.
    public final func drain() {
        do { try core.drain(timeout: nil) } catch { core.stop(EDEADLK, "drain") }
    }

    /// Suspends the task until everything that was accepted before has ended, or the task is cancelled.
    ///
    /// - Returns: false if the task was cancelled first: what was accepted may still run.
    @discardableResult
    public final func drain() async -> Bool {
        await core.drain(until: Deadline.never) == 0
    }

    /// Suspends the task until everything that was accepted before has ended.
    ///
    /// - Throws: ``WorkQueueError/timedOut`` after `timeout` (nil: no limit; never early); ``WorkQueueError/cancelled``
    ///   if the task is cancelled first; ``WorkQueueError/outOfResources``.
    public final func drain(timeout: Duration?) async throws(WorkQueueError) {
        let status = await core.drain(until: Deadline.after(timeout: timeout))
        if status != 0 { throw core.error(status) }
    }

    /// Accepts nothing from now on; what was accepted still runs, and nothing can suspend the queue any more. Never
    /// blocks.
    ///
    /// Delayed work whose time has not come was not accepted yet: it does not run, and periodic work ends. Jobs of
    /// actors and tasks, and callers of ``sync(_:)`` and ``run(_:)``, are never refused: they still run.
    ///
    /// - Parameter cancelsPending: what has not begun, but for those, is dropped instead; who waits for it gets
    ///   ``WorkQueueError/cancelled``.
    public final func shutdown(cancelsPending: Bool = false) {
        csk_workqueue_shutdown(core.queue, cancelsPending)
    }

    /// True inside the queue's own work, on the thread that runs it.
    public final var isCurrent: Bool {
        csk_workqueue_is_current(core.queue)
    }

    /// Works that wait to begin, at some instant during the call.
    public final var waitingCount: Int { Int(csk_workqueue_waiting(core.queue)) }
    /// By how much more waits than the bound allows, at some instant during the call: jobs of actors and tasks, for
    /// example, which are never refused. 0 without a bound.
    public final var beyondBoundCount: Int { Int(csk_workqueue_beyond_bound(core.queue)) }
    /// Works that run, at some instant during the call.
    public final var runningCount: Int { Int(csk_workqueue_running(core.queue)) }
}
