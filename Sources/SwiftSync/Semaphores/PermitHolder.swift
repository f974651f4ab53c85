import CSyncKernel

/// The recorded holder of a semaphore's permit: with several permits, the last task that recorded itself and still has
/// some. Tasks that wait for permits raise the holder's priority to their own task priority; otherwise a holder of low
/// priority that gets no thread would hold them up. The priority that a call names counts for the order alone: it gives
/// the caller no thread sooner, so it gives the holder none. (A task that is raised goes on in other threads, and each
/// hand-over between these and the others' wakes one.)
///
/// The holder may end as soon as it has returned the permit, and its memory may be its parent's. So the kernel pins it
/// while it is raised: it can't return the permit meanwhile.
///
/// Raising calls users' handlers, so a task raises others only while it holds no lock. An escalation handler runs under
/// a lock of the runtime, so it leaves the raising to a separate task. For the same reason a chain of holders, each
/// waiting for the next, is raised link by link, without nesting.
@safe
struct PermitHolder: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<csk_sem_t>
    /// Keeps the semaphore.
    private let owner: AnyObject

    init(of semaphore: UnsafeMutablePointer<csk_sem_t>, _ owner: AnyObject) {
        unsafe self.semaphore = semaphore
        self.owner = owner
    }

    /// Records a waiting task that was granted permits and is still suspended. Returns the highest priority of the
    /// waiters behind it, which it is to get; later waiters pin it.
    func begin(_ task: UInt) -> TaskPriority? {
        unsafe WaiterUrgency(rawValue: csk_sem_begin_holding(semaphore, UInt64(task)))?.priority
    }

    /// Raises the holder for the calling task, which waits.
    func raise(to priority: TaskPriority, for wait: SemaphoreWait) {
        if !isTold(of: priority) { raiseLater(to: priority, for: wait) }
    }

    /// Raises the holder from any context.
    ///
    /// A task that takes the permit without waiting records itself shortly after. If it is preempted in between, the
    /// check for it is repeated.
    func raiseLater(to priority: TaskPriority, for wait: SemaphoreWait) {
        Task.detached(priority: priority) {
            var pause = Duration.milliseconds(1)
            while wait.outcome == nil, !isTold(of: priority) {
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(100))
            }
        }
    }

    /// Returns false if the holder of the permit is not recorded yet. The caller must hold no lock.
    private func isTold(of priority: TaskPriority) -> Bool {
        let holder = unsafe csk_sem_pin_holder(semaphore, priority.rawValue)
        if holder == 0 || holder == CSK_SEM_HOLDER_NOT_TOLD { return holder == 0 }
        RuntimeFacts.escalate(taskAt: UInt(holder), to: priority)
        withExtendedLifetime(owner) { unsafe csk_sem_unpin_holder(semaphore) }
        return true
    }
}
