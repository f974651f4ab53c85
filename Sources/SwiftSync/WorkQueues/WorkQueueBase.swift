import CSyncKernel
public import Dispatch

/// The common base class of ``WorkQueue`` and ``ConcurrentWorkQueue``.
///
/// Closures run on the library's worker threads; a queue without work costs no thread. They begin by priority, and
/// within one priority by arrival. A closure may block; other queues go on meanwhile. Queued work runs even when
/// nothing refers to the queue object any more.
///
/// A queue knows which threads run its closures. A call from such a thread that would wait for itself is an error, not
/// a hang.
public class WorkQueueBase: @unchecked Sendable {
    final let core: WorkQueueCore

    /// The name in messages: the one given at creation, else the file and line of creation, as in
    /// `Module/File.swift:12`.
    public final let name: String

    /// The recorder that keeps the queue's last events, if there is one. It records closures, callers and tasks, but
    /// not the jobs of actors and tasks.
    ///
    /// It may be set at any time and from anywhere. A new recorder records work that is queued from then on; earlier
    /// work stays with its recorder.
    public final var recorder: EventRecorder? {
        get { core.recorder }
        set { core.recorder = newValue }
    }

    init(core: WorkQueueCore) {
        self.core = core
        name = core.label
    }

    /// Accepted work still runs, even on a suspended queue.
    deinit {
        unsafe csk_workqueue_release(core.queue)
    }

    /// Runs a job of the Swift runtime. A worker calls it.
    func run(_ job: UnownedJob, _ kind: QueuedJob.Kind) {
        fatalError("\(Self.self) runs no jobs")
    }

    // MARK: - Queueing

    /// Queues `body` behind all earlier work of its priority, and returns at once.
    ///
    /// It may be called from anywhere, including the queue's own work. It allocates nothing beyond the closure's own
    /// context. It blocks only on a full queue whose bound is ``OverflowPolicy/wait``; tasks call
    /// ``asyncWaitingForRoom(barrier:priority:timeout:_:)`` there. O(1).
    ///
    /// - Returns: false, with a report to ``SyncDiagnostics``, after a shutdown, when the bound refuses, or when the
    ///   system has no thread. `body` will not run then.
    @discardableResult
    public final func async(_ body: @escaping @Sendable () -> Void) -> Bool {
        core.async(body)
    }

    /// Queues `body` as ``async(_:)`` does, before all waiting work of lower priority.
    ///
    /// It takes O(log n) amortized, with n waiting work items whose priority is not the queue's own.
    @discardableResult
    public final func async(priority: CommandPriority, _ body: @escaping @Sendable () -> Void) -> Bool {
        core.async(rank: core.rank(of: priority), body)
    }

    /// Queues `body` as ``async(_:)`` does, with more said of it.
    ///
    /// It takes O(log n) amortized, with n waiting work items whose priority is not the queue's own.
    ///
    /// - Parameters:
    ///   - barrier: if true, `body` runs alone: once all work accepted before has ended, and before work accepted later
    ///     begins, whatever its priority. On a serial queue, where all work runs alone, it keeps the place of its
    ///     arrival.
    ///   - tag: the name of `body` in the queue's ``recorder``; with nil, that of the queue.
    ///   - inheritingTaskLocals: if true, `body` runs as a separate task, which has the task-local values and the
    ///     priority of the caller. That costs the allocations of a task.
    ///   - priority: `body` runs before all waiting work of lower priority. Nil stands for the queue's own.
    ///   - body: what runs, on a thread of the library's.
    /// - Returns: what ``async(_:)`` returns.
    @_disfavoredOverload
    @discardableResult
    public final func async(
        barrier: Bool = false, tag: String? = nil, inheritingTaskLocals: Bool = false, priority: CommandPriority? = nil,
        _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        // It is disfavored, since nested closures that drop what a call returns would make `async { }` ambiguous.
        let rank = core.rank(of: priority)
        if inheritingTaskLocals { return core.asyncInheriting(rank: rank, barrier: barrier, tag: tag, body) }
        return barrier ? core.asyncBarrier(tag: tag, body) : core.async(rank: rank, tag: tag, body)
    }

    /// Queues `body`, and returns once it is queued, not when it has run. On a full queue whose bound lets callers
    /// wait, the task is suspended until there is room. Waiting tasks get room in the order of their calls.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - priority: the priority of `body`; with nil, the queue's own.
    ///   - timeout: how long the task waits for room, never less; `.never` is no limit but that of `withDeadline`.
    ///   - body: what runs, on a thread of the library's. It will not run if the call throws.
    /// - Throws: ``WorkQueueError/full`` where the bound refuses, ``WorkQueueError/shutDown``,
    ///   ``WorkQueueError/outOfResources``; ``WorkQueueError/timedOut``, and ``WorkQueueError/cancelled`` if the task
    ///   is cancelled before there is room.
    public final func asyncWaitingForRoom(
        barrier: Bool = false, priority: CommandPriority? = nil, timeout: TimeLimit = .never,
        _ body: @escaping @Sendable () -> Void
    ) async throws(WorkQueueError) {
        try await core.asyncWaitingForRoom(rank: core.rank(of: priority), barrier: barrier, timeout, body)
    }

    /// Queues `body` once `delay` has passed, never early.
    ///
    /// A delay of zero or less queues it now. A delay of more than 292 years never ends: the work waits until it is
    /// cancelled.
    ///
    /// `body` does not run if the queue is shut down before that time, or if the queue is full then and its bound
    /// refuses. Both are reported to ``SyncDiagnostics``.
    @discardableResult
    public final func async(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        core.async(after: delay, rank: core.ownRank, body)
    }

    /// Queues `body` at `deadline`, never early. As with ``async(after:_:)``, `body` does not run if the queue is shut
    /// down before that time.
    @discardableResult
    public final func asyncAfter(deadline: DispatchTime, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        let now = DispatchTime.now().uptimeNanoseconds
        let delay =
            deadline == .distantFuture ? Int64.max : Int64(clamping: deadline.uptimeNanoseconds) - Int64(clamping: now)
        return core.async(after: delay == .max ? .seconds(Int64.max) : .nanoseconds(delay), rank: core.ownRank, body)
    }

    /// Queues `body` each time that `period` has passed, until it is cancelled. The first time is after one period.
    ///
    /// It is never early, and `body` never runs twice at once: a tick is skipped while the previous call still runs. A
    /// `period` of zero or less counts as one nanosecond. It ends with ``shutdown(cancelsPending:)``.
    @discardableResult
    public final func async(every period: Duration, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        core.async(every: period, rank: core.ownRank, body)
    }

    // MARK: - Waiting

    /// Waits for its turn, runs `body` on the calling thread, and returns what `body` returns.
    ///
    /// It blocks the thread meanwhile, and runs nothing but `body`. It is never refused and never dropped, and ignores
    /// `withDeadline`. After a shutdown it still runs in order, whatever the shutdown cancels. A call from inside the
    /// queue's own work stops the program with a message: it would wait for itself.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - priority: its turn comes before all waiting work of a lower priority. Nil is that of `withPriority`, or the
    ///     queue's own.
    ///   - body: what runs.
    /// - Throws: what `body` throws.
    @available(*, noasync, message: "use await run { }, or sync(timeout:); for a barrier use await run(barrier:)")
    @discardableResult
    public final func sync<R, E: Error>(
        barrier: Bool = false, priority: CommandPriority? = nil, _ body: () throws(E) -> R
    ) throws(E) -> R {
        try core.sync(rank: core.rankOfWait(priority, barrier: barrier), barrier: barrier, body)
    }

    /// Waits for its turn for at most `timeout`, and runs `body` on the calling thread.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - priority: as in ``sync(barrier:priority:_:)``.
    ///   - timeout: how long the thread waits, never less; `.never` is no limit but that of `withDeadline`.
    ///   - body: what runs.
    /// - Throws: what `body` throws; and a ``WorkQueueError`` if its turn has not come after `timeout`, if it is called
    ///   inside the queue's own work, if the bound refuses or drops it, and after a shutdown.
    @discardableResult
    public final func sync<R>(
        barrier: Bool = false, priority: CommandPriority? = nil, timeout: TimeLimit, _ body: () throws -> R
    ) throws -> R {
        try core.sync(rank: core.rankOfWait(priority, barrier: barrier), barrier: barrier, timeout, body)
    }

    /// Suspends the task until its turn, runs `body` on a worker as a part of the task, and returns what `body`
    /// returns.
    ///
    /// `body` sees the task-local values, the priority and the cancellation of the task. The call is never refused and
    /// never dropped: no cancellation, shutdown or `withDeadline` keeps `body` from running. The form with a timeout
    /// can be refused.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - priority: its turn comes before all waiting work of a lower priority. Nil is that of `withPriority`, or the
    ///     queue's own.
    ///   - body: what runs, on a thread of the library's.
    /// - Throws: what `body` throws.
    @discardableResult
    public final func run<T: Sendable, E: Error>(
        barrier: Bool = false, priority: CommandPriority? = nil, _ body: @escaping @Sendable () throws(E) -> T
    ) async throws(E) -> T {
        try await core.run(rank: core.rankOfWait(priority, barrier: barrier), barrier: barrier, body)
    }

    /// Suspends the task until its turn, for at most `timeout`, and runs `body` as a part of the task.
    ///
    /// While the queue has no room, the task waits suspended. With a timeout of zero, `body` runs only if its turn has
    /// come, and on the calling thread. A serial queue may still be busy for a moment after an awaited `run` has
    /// returned: its worker has resumed the task, and ends the work after that.
    ///
    /// - Parameters:
    ///   - barrier: whether `body` runs alone, after all work accepted before it.
    ///   - priority: as in ``run(barrier:priority:_:)``.
    ///   - timeout: how long the task waits, never less; `.never` is no limit but that of `withDeadline`.
    ///   - body: what runs, on a thread of the library's.
    /// - Throws: what `body` throws; and a ``WorkQueueError`` if `body` has not begun after `timeout`, if the task is
    ///   cancelled before, if the bound refuses or drops the call, and after a shutdown.
    @discardableResult
    public final func run<T: Sendable>(
        barrier: Bool = false, priority: CommandPriority? = nil, timeout: TimeLimit,
        _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await core.run(rank: core.rankOfWait(priority, barrier: barrier), barrier: barrier, timeout, body)
    }

    // MARK: - The queue's life

    /// Keeps waiting work from beginning, until ``resume()`` has been called as often as this method. Running work goes
    /// on. After a shutdown this call does nothing. It takes short locks.
    public final func suspend() {
        if unsafe csk_workqueue_suspend(core.queue) != 0 { fatalError("\(core.type) \(name): suspended 65 535 times") }
    }

    /// Ends one ``suspend()``. A call without a matching ``suspend()`` stops the program with a message. It takes short
    /// locks, and waits for a ``SyncInspector`` that reads the queue just then: microseconds, milliseconds at most.
    public final func resume() {
        if unsafe csk_workqueue_resume(core.queue) != 0 {
            fatalError("\(core.type) \(name): resume was called more often than suspend")
        }
    }

    /// Waits until all work that was accepted before has ended. It blocks the thread; a task awaits
    /// ``drain(timeout:)``.
    ///
    /// - Throws: ``WorkQueueError/timedOut`` after `timeout` (never early; `.never` is no limit);
    ///   ``WorkQueueError/wouldDeadlock`` when it is called inside the queue's own work.
    public final func blockingDrain(timeout: TimeLimit) throws(WorkQueueError) {
        try core.drain(timeout)
    }

    /// Waits until all work that was accepted before has ended, without a time limit; it ignores `withDeadline`. It
    /// blocks the thread. Inside the queue's own work it stops the program with a message.
    @available(*, noasync, message: "try await drain()")
    public final func blockingDrain() {
        let status = core.drain(deadline: Deadline.never)
        if status != 0 { core.stop(status, "blockingDrain") }
    }

    /// Suspends the task until all work that was accepted before has ended.
    ///
    /// - Throws: ``WorkQueueError/timedOut`` after `timeout` (never early; `.never` is no limit but that of
    ///   `withDeadline`); ``WorkQueueError/cancelled`` if the task is cancelled first;
    ///   ``WorkQueueError/outOfResources``. Accepted work may still run then.
    public final func drain(timeout: TimeLimit = .never) async throws(WorkQueueError) {
        try await core.drain(timeout)
    }

    /// Shuts the queue down: it refuses later work. Accepted work still runs, and nothing can suspend the queue any
    /// more. Never blocks.
    ///
    /// Delayed work whose time has not come was not accepted yet, so it does not run. Periodic work ends. Jobs of
    /// actors and tasks, and callers of ``sync(barrier:priority:_:)`` and ``run(barrier:priority:_:)``, are never
    /// refused: they still run.
    ///
    /// - Parameter cancelsPending: if true, accepted work that has not begun is dropped, except for those jobs and
    ///   callers. Callers that wait for dropped work get ``WorkQueueError/cancelled``.
    public final func shutdown(cancelsPending: Bool = false) {
        unsafe csk_workqueue_shutdown(core.queue, cancelsPending)
    }

    /// True when it is read inside the queue's own work, on the thread that runs that work.
    public final var isCurrent: Bool {
        unsafe csk_workqueue_is_current(core.queue)
    }

    /// The number of work items that wait to begin, at some instant during the call.
    public final var waitingCount: Int { unsafe Int(csk_workqueue_waiting(core.queue)) }
    /// The number of waiting work items beyond what the bound allows, at some instant during the call. Jobs of actors
    /// and tasks, for example, are never refused, so they can exceed it. It is 0 without a bound.
    public final var beyondBoundCount: Int { unsafe Int(csk_workqueue_beyond_bound(core.queue)) }
    /// The number of work items that run, at some instant during the call.
    public final var runningCount: Int { unsafe Int(csk_workqueue_running(core.queue)) }
}
