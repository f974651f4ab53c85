import CSyncKernel
import Synchronization

/// A task that waits for its turn on a work queue, and runs its closure there.
///
/// The kernel decides between the turn, a refusal, the timeout and cancellation. The kernel's work item is a part of
/// this object, since the item may be cancelled at any time. It has a record by which it can be counted: a wait without
/// a named priority has a bypass limit of its own. The kernel holds one reference to this object for the item, and
/// another for the wait for room.
@safe
final class SuspendedWork: TurnWait, @unchecked Sendable {
    /// What a full or closed queue does with the work.
    enum Admission {
        /// The queue never refuses the work and never drops it.
        case always
        /// The bound decides, but no thread blocks: where the bound makes callers wait, the task waits suspended.
        case suspending
        /// The bound decides; a wait for room blocks the thread.
        case blocking
    }

    /// The kernel knows the memory by the address of `counted`.
    @safe
    private struct Memory {
        var counted = unsafe csk_counted_work_t()
        @safe var owner: Unmanaged<SuspendedWork>?
    }

    @exclusivity(unchecked) private var memory = Memory()
    private let kept: KeptWorkQueue
    private var core: WorkQueueCore { kept.core }
    private let rank: Int64
    private let barrier: Bool
    private let admission: Admission
    /// The name in the recorder; nil for that of the queue.
    private let tag: String?
    /// Written when the wait is registered.
    private var piece: RecordedPiece?
    /// The next three are written before the wait is registered.
    @safe private var work: UnsafeMutablePointer<csk_counted_work_t>?
    @safe private var room: UnsafeMutablePointer<csk_workqueue_wait_t>?
    private var waitsForRoom = false
    /// Whether the work has no place yet. Then the queue shows the wait in views, as a wait for room.
    private let hasNoPlace = Atomic(false)

    init(
        _ core: WorkQueueCore, rank: Int64, barrier: Bool, _ admission: Admission, tag: String? = nil,
        deadline: Int64 = Deadline.never
    ) {
        kept = KeptWorkQueue(core)
        self.rank = rank
        self.barrier = barrier
        self.admission = admission
        self.tag = tag
        super.init(deadline: deadline)
    }

    deinit { unsafe room?.deallocate() }

    private func release() { unsafe Unmanaged.passUnretained(self).release() }

    // MARK: - What the queue is asked

    override func register() -> Int32 {
        let reference = unsafe Unmanaged.passUnretained(self)
        let memory = unsafe RuntimeFacts.lastingAddress(of: &memory)
        unsafe memory.pointee.owner = reference
        let work = unsafe memory.pointer(to: \.counted)!
        self.work = unsafe work
        piece = .make(core.recorder, tag ?? core.label)
        _ = unsafe reference.retain()
        let status = unsafe submit(work)
        if status == EINPROGRESS { return 0 }
        if status != 0 { unsafe reference.release() }
        return status
    }

    private func submit(_ work: UnsafeMutablePointer<csk_counted_work_t>) -> Int32 {
        let plain = unsafe work.pointer(to: \.work)!
        var flags = CSK_WORK_COUNTED
        if barrier { flags |= CSK_WORK_BARRIER }
        if case .suspending = admission, core.callersWaitForRoom { return unsafe submitWhenRoom(plain, flags) }
        // Its time is over already: it would drop the oldest work, and not run.
        if Deadline.hasPassedMeanwhile(deadline), core.dropsOldest { return ETIMEDOUT }
        if case .always = admission { flags |= CSK_WORK_OWN_TURN }
        return unsafe csk_workqueue_submit(core.queue, rank, plain, flags, Deadline.never, Self.called)
    }

    private func submitWhenRoom(_ work: UnsafeMutablePointer<csk_work_t>, _ flags: UInt32) -> Int32 {
        let room = UnsafeMutablePointer<csk_workqueue_wait_t>.allocate(capacity: 1)
        unsafe room.initialize(to: csk_workqueue_wait_t())
        self.room = unsafe room
        let reference = unsafe Unmanaged.passRetained(self)
        let context = unsafe reference.toOpaque()
        let status = unsafe csk_workqueue_submit_when_room(
            core.queue, rank, work, flags, Self.called, room, Self.told, context)
        waitsForRoom = status == EINPROGRESS
        if !waitsForRoom {
            hasNoPlace.store(false, ordering: .relaxed)
            unsafe reference.release()
        }
        return status
    }

    override func withdraw(_ cause: Int32) {
        if waitsForRoom, let room { unsafe room.pointee.given_up_as = cause }
        if waitsForRoom, unsafe csk_workqueue_wait_cancel(core.queue, room) == 0 {
            release()
        } else if unsafe csk_workqueue_cancel(core.queue, work!.pointer(to: \.work)!) != 0 {
            return
        }
        release()
        resolve(cause)
    }

    // MARK: - What a view shows

    override func describe(_ told: inout csk_task_wait_t) {
        unsafe told.object = UnsafeRawPointer(core.queue)
        unsafe told.object_kind = UInt32(CSK_OBJECT_WORKQUEUE)
        unsafe told.waits_for = UInt32(CSK_WAITS_FOR_TURN)
        unsafe told.rank = csk_rank_in_order(rank)
        unsafe told.deadline_ns = deadline
        // The queue shows the waiter for room from before the work is submitted until it has a place.
        if case .suspending = admission, core.callersWaitForRoom { hasNoPlace.store(true, ordering: .relaxed) }
        // The queue measures how long works wait.
        unsafe told.is_not_counted = 1
    }

    override var isShown: Bool { !hasNoPlace.load(ordering: .relaxed) && super.isShown }

    // MARK: - What the queue answers

    /// The kernel calls this on a worker in the turn of the work, or with an error on the thread that dropped the work.
    private static let called: csk_work_function_t = { work, status in
        let memory = unsafe UnsafeMutableRawPointer(work!).assumingMemoryBound(to: Memory.self)
        let waiting = unsafe memory.pointee.owner.unsafelyUnwrapped.takeRetainedValue()
        _ = withExtendedLifetime(waiting) { waiting.resolve(status) }
    }

    /// The kernel calls this at the end of the wait for room. Either the work has a place now, and may even have run;
    /// or the queue was shut down, and the work will never run.
    private static let told: @convention(c) (UnsafeMutablePointer<csk_workqueue_wait_t>?) -> Void = { room in
        let room = unsafe room!,
            waiting = unsafe Unmanaged<SuspendedWork>.fromOpaque(room.pointee.context).takeRetainedValue()
        let status = unsafe room.pointee.status
        if status == 0 { return waiting.hasNoPlace.store(false, ordering: .relaxed) }
        waiting.release()
        _ = withExtendedLifetime(waiting) { waiting.resolve(status) }
    }

    // MARK: - The closure

    /// Runs `body`, whose turn has come, and records its start and its end.
    func recorded(_ body: () -> Void) {
        piece?.begin()
        body()
        piece?.end()
    }

    /// Records that the wait has ended, if its work has not begun.
    func recordCancelled(_ status: Int32) { if status != 0 { piece?.cancel() } }

    /// Records that the work was dropped.
    func recordDropped() { piece = nil }
}

extension WorkQueueCore {
    /// True for a queue whose callers wait when it is full.
    var callersWaitForRoom: Bool {
        unsafe csk_workqueue_capacity(queue) != 0 && csk_workqueue_when_full(queue) == Int32(CSK_WORKQUEUE_WAIT)
    }

    /// True for a queue that drops its oldest work when it is full.
    var dropsOldest: Bool { unsafe csk_workqueue_when_full(queue) == Int32(CSK_WORKQUEUE_DROP_OLDEST) }

    /// Runs `body` in the queue, as a part of the calling task. The call is never refused and never dropped.
    @concurrent
    func run<T: Sendable, E: Error>(
        rank: Int64, barrier: Bool, _ body: @escaping @Sendable () throws(E) -> T
    ) async throws(E) -> T {
        let waiting = SuspendedWork(self, rank: rank, barrier: barrier, .always)
        var result: Result<T, E>?
        let status = await waiting.run(isCancellable: false) {
            waiting.recorded {
                do throws(E) { result = .success(try body()) } catch { result = .failure(error) }
            }
        }
        guard let result else { stop(status, "run") }
        return try result.get()
    }

    /// Runs `body` in the queue, as a part of the calling task, in a turn that can be refused, dropped, timed out and
    /// cancelled.
    @concurrent
    func run<T: Sendable>(
        rank: Int64, barrier: Bool, _ limit: TimeLimit, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        let deadline = limit.deadline()
        if deadline == Deadline.passed { return try tryInTurn(rank: rank, barrier: barrier, body) }
        let waiting = SuspendedWork(self, rank: rank, barrier: barrier, .suspending, deadline: deadline)
        var result: Result<T, any Error>?
        let status = await waiting.run(isCancellable: true) {
            waiting.recorded { result = Result(catching: body) }
        }
        if let result { return try result.get() }
        waiting.recordCancelled(status)
        throw error(status)
    }

    /// Runs `body` for a task whose timeout is zero: no worker could reach it in time. A call from inside the queue's
    /// own work has its turn only after that work, so it times out.
    private func tryInTurn<T>(rank: Int64, barrier: Bool, _ body: () throws -> T) throws -> T {
        if Task.isCancelledByOthers { throw WorkQueueError.cancelled }
        if unsafe csk_workqueue_is_current(queue) { throw WorkQueueError.timedOut }
        return try sync(rank: rank, barrier: barrier, nil, body)
    }

    /// Runs `body` in the queue as a separate task, which has the caller's task-local values. Returns false, with a
    /// report, if the work was refused.
    func asyncInheriting(
        rank: Int64, barrier: Bool, tag: String? = nil, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        let waiting = SuspendedWork(self, rank: rank, barrier: barrier, .blocking, tag: tag)
        let status = waiting.start {
            waiting.recorded(body)
        } dropped: { _ in
            waiting.recordDropped()
        }
        if status == 0 { return true }
        reportRefusal(status)
        return false
    }
}
