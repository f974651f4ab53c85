import CSyncKernel

/// A task that waits for permits of a semaphore.
@safe
final class SemaphoreWait: KernelWait, @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<csk_sem_t>
    /// Whoever has the permit, where that is known.
    private let holder: PermitHolder?
    private let task: UInt
    /// At which it was queued.
    private var rank = Int64.min

    private init(_ semaphore: UnsafeMutablePointer<csk_sem_t>, of owner: AnyObject, _ holder: PermitHolder?) {
        unsafe self.semaphore = semaphore
        self.holder = holder
        task = holder == nil ? 0 : RuntimeFacts.addressOfTask()
        super.init(of: owner)
    }

    override func cancel(_ waiter: UnsafeMutablePointer<csk_gate_waiter_t>) -> Int32 {
        unsafe csk_sem_cancel(semaphore, waiter)
    }

    /// Waits until permits of the semaphore, which `owner` keeps, are the task's. It returns 0 or an errno value.
    ///
    /// The rank is that of `priority`, or of the request, or else the task's own, which an escalation raises. `holder`
    /// is raised with it.
    static func acquire(
        _ permits: UInt32, at semaphore: UnsafeMutablePointer<csk_sem_t>, of owner: AnyObject,
        heldBy holder: PermitHolder? = nil, naming priority: CommandPriority?, deadline: Int64
    ) async -> Int32 {
        // A wait that only tries must not stand in the queue: it would bar others until the timers' thread came.
        if deadline == Deadline.passed {
            return unsafe csk_sem_wait_ranked(
                semaphore, RequestPriority.rankOfTask(naming: priority), permits, deadline)
        }
        let wait = unsafe SemaphoreWait(semaphore, of: owner, holder)
        return await wait.following(ifOwn: RequestPriority.isOfTask(naming: priority)) {
            await wait.acquire(permits, naming: priority, deadline)
        }
    }

    private func acquire(_ permits: UInt32, naming priority: CommandPriority?, _ deadline: Int64) async -> Int32 {
        await wait() {
            let rank = RequestPriority.rankOfTask(naming: priority)
            self.rank = rank
            testStep("SemaphoreWait: knows its rank", self)
            let status = queue(at: rank) {
                unsafe waiter.lock(owner: self) {
                    unsafe csk_sem_wait_async(semaphore, $0, rank, permits, deadline, $1, $2)
                }
            }
            if status == 0 { holder?.raise(to: rank, of: self) }
            return status
        }
    }

    override func raise(to rank: Int64) { unsafe waiter.change { unsafe csk_sem_raise(semaphore, $0, rank) } }

    override var isChained: Bool { holder != nil }
    override func isEscalated(to priority: TaskPriority) { holder?.raiseLater(to: priority, for: self) }

    /// The task holds the permit from now on. It is raised while it is suspended still: a task that is enqueued has its
    /// place there.
    override func isGranted() { holder?.begin(task, rank) }
}
