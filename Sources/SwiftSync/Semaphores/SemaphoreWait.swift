import CSyncKernel

/// A task that waits for permits of a semaphore.
@safe
final class SemaphoreWait: KernelWait, @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<csk_sem_t>
    /// The recorded holder of the permit, or of some permits.
    private let holder: PermitHolder
    /// The task, if it will record itself as the holder; else 0.
    private let task: UInt
    /// The task's own priority when it was queued.
    private var ownPriority = TaskPriority.background
    /// Whether it waits at a named priority, and so keeps its place.
    private var isNamed = false

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
    /// recorded holder is raised with it. `task` is the calling task, if it will record itself too.
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
        wait.isNamed = !RequestPriority.isOfTask(naming: priority)
        return await wait.following(ifOwn: !wait.isNamed) {
            await wait.acquire(permits, naming: priority, deadline)
        }
    }

    private func acquire(_ permits: UInt32, naming priority: CommandPriority?, _ deadline: Int64) async -> Int32 {
        await wait() {
            let rank = RequestPriority.rankOfTask(naming: priority)
            ownPriority = Task.currentPriority
            testStep("SemaphoreWait: knows its rank", self)
            let status = queue(at: rank) {
                unsafe waiter.lock(owner: self) {
                    unsafe csk_sem_wait_async(semaphore, rank, $0, permits, deadline, $1, $2)
                }
            }
            if status == 0 { raiseHolder(from: CommandRank.taskPriority(of: rank)) }
            return status
        }
    }

    override func raise(to rank: Int64) { unsafe waiter.change { unsafe csk_sem_raise(semaphore, rank, $0) } }

    /// A hand-off before this call sees the priority of the wait, but not a higher one of the task.
    private func raiseHolder(from priority: TaskPriority) {
        holder.raise(to: max(priority, ownPriority), for: self, followsUp: ownPriority > priority)
    }

    override var isChained: Bool { true }
    override func isEscalated(to priority: TaskPriority) {
        holder.raiseLater(to: priority, for: self, followsUp: isNamed)
    }

    /// The task has the permits from now on. If more urgent waiters are behind it, it is raised while it is still
    /// suspended: an enqueued task keeps its place there. Raising calls users' handlers, so a separate task does it,
    /// not under the granter's locks.
    override func isGranted() -> Bool {
        guard task != 0, let priority = holder.begin(task), priority > ownPriority else { return true }
        Task.detached(priority: priority) { [self] in
            RuntimeFacts.escalate(taskAt: task, to: priority)
            resolve(0)
        }
        return false
    }
}
