import CSyncKernel
import Synchronization

/// A task that waits for permits of a semaphore.
///
/// It is counted there at the urgency of its task, whatever priority the call names, until its wait is decided. An
/// escalation moves it to a higher level. It is counted before it looks for the holder: whoever begins to hold before
/// that is found and raised, and whoever begins later finds the count.
@safe
final class SemaphoreWait: KernelWait, @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<csk_sem_t>
    /// The recorded holder of the permit, or of some permits.
    private let holder: PermitHolder
    /// The task, if it will record itself as the holder; else 0.
    private let task: UInt
    /// The task's own priority when it was queued.
    private var ownPriority = TaskPriority.background
    /// The level at which it is counted; `noLevel`, from where it may move up; or `decided`.
    private let counted = Atomic(SemaphoreWait.noLevel)
    private static let noLevel: Int32 = -1, decided: Int32 = -2

    private init(_ semaphore: UnsafeMutablePointer<csk_sem_t>, of owner: AnyObject, _ task: UInt) {
        unsafe self.semaphore = semaphore
        holder = unsafe PermitHolder(of: semaphore, owner)
        self.task = task
        super.init(of: owner)
    }

    override func cancel(_ waiter: UnsafeMutablePointer<csk_waiter_t>) -> Int32 {
        unsafe csk_sem_cancel(semaphore, waiter)
    }

    /// Waits until permits of the semaphore, which `owner` keeps, are the task's. It returns 0 or an errno value.
    ///
    /// The rank is that of `priority`, or of the request, or else the task's own, which an escalation raises. The
    /// recorded holder is raised to the task's own priority. `task` is the calling task, if it will record itself too.
    static func acquire(
        _ permits: UInt32, at semaphore: UnsafeMutablePointer<csk_sem_t>, of owner: AnyObject,
        for task: UInt = 0, naming priority: CommandPriority?, deadline: Int64
    ) async -> Int32 {
        // A wait that only tries is not queued: it would block later waiters until the timers' thread removes it.
        if deadline == Deadline.passed {
            return unsafe csk_sem_wait_ranked(
                semaphore, RequestPriority.rankOfTask(naming: priority), permits, deadline)
        }
        let wait = unsafe SemaphoreWait(semaphore, of: owner, task)
        return await wait.following(ifOwn: RequestPriority.isOfTask(naming: priority)) {
            await wait.acquire(permits, naming: priority, deadline)
        }
    }

    private func acquire(_ permits: UInt32, naming priority: CommandPriority?, _ deadline: Int64) async -> Int32 {
        let status = await wait() {
            let rank = RequestPriority.rankOfTask(naming: priority)
            ownPriority = Task.currentPriority
            testStep("SemaphoreWait: knows its rank", self)
            let status = queue(at: rank) {
                unsafe waiter.lock(owner: self) {
                    unsafe csk_sem_wait_async(semaphore, rank, $0, permits, deadline, $1, $2)
                }
            }
            if status == 0 { raiseHolder() }
            return status
        }
        // A wait that was given up before it was queued is decided by nobody, and an escalation may have counted it.
        if status != 0 { endCounting() }
        return status
    }

    override func raise(to rank: Int64) { unsafe waiter.change { unsafe csk_sem_raise(semaphore, rank, $0) } }

    /// An escalation that came before the task was queued has found nobody waiting, and has counted the task.
    private func raiseHolder() {
        count(at: ownPriority)
        guard let urgency = WaiterUrgency(rawValue: counted.load(ordering: .acquiring)) else { return }
        holder.raise(to: max(ownPriority, urgency.priority), for: self)
    }

    override var isChained: Bool { true }
    override func isEscalated(to priority: TaskPriority) {
        count(at: priority)
        holder.raiseLater(to: priority, for: self)
    }

    /// The task has the permits from now on. If more urgent waiters are behind it, it is raised while it is still
    /// suspended: an enqueued task keeps its place there. Raising calls users' handlers, so a separate task does it,
    /// not under the granter's locks.
    override func isDecided(_ status: Int32) -> Bool {
        endCounting()
        guard status == 0, task != 0, let priority = holder.begin(task), priority > ownPriority else { return true }
        Task.detached(priority: priority) { [self] in
            RuntimeFacts.escalate(taskAt: task, to: priority)
            resolve(0)
        }
        return false
    }

    // MARK: - Its count

    /// Counts it at the level of that priority, if it is counted at none or a lower one.
    private func count(at priority: TaskPriority) {
        guard let level = WaiterUrgency(priority)?.rawValue else { return }
        var before = counted.load(ordering: .acquiring)
        while before != Self.decided, before < level {
            change(level, by: 1)
            let (exchanged, found) = counted.compareExchange(
                expected: before, desired: level, ordering: .acquiringAndReleasing)
            change(exchanged ? before : level, by: -1)
            before = exchanged ? level : found
        }
    }

    private func endCounting() {
        change(counted.exchange(Self.decided, ordering: .acquiringAndReleasing), by: -1)
    }

    private func change(_ level: Int32, by change: Int32) {
        if level != Self.noLevel, level != Self.decided { unsafe csk_sem_count_urgent(semaphore, level, change) }
    }
}
