import CSyncKernel

/// The task that has the one permit of a semaphore, and says so. Of a semaphore of several permits, the one that was
/// the last to say so and has them still. Tasks that wait for permits raise its priority to theirs: else a holder of a
/// low priority, which gets no thread, holds them up.
///
/// The holder may end as soon as it has given the permit back, and its memory may be its parent's. So the kernel pins
/// it while it is raised: it can't give the permit back meanwhile.
///
/// A task has this raise others only while no lock is held, since raising calls the handlers of users. So a handler of
/// an escalation, which runs under a lock of the runtime, leaves it to a task of its own. For the same reason a chain
/// of holders, each of which waits for the next, is raised link by link, without nesting.
@safe
struct PermitHolder: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<csk_sem_t>
    /// Keeps the semaphore.
    private let owner: AnyObject

    init(of semaphore: UnsafeMutablePointer<csk_sem_t>, _ owner: AnyObject) {
        unsafe self.semaphore = semaphore
        self.owner = owner
    }

    /// A task that waited has been granted permits, and is suspended still. Returns the highest priority of those that
    /// wait behind it, which it is to get; who comes later pins it.
    func begin(_ task: UInt) -> TaskPriority? {
        let highest = unsafe csk_sem_begin_holding(semaphore, UInt64(task))
        return highest == .min ? nil : CommandRank.taskPriority(of: highest)
    }

    /// Raises the holder for the calling task, which waits.
    func raise(to priority: TaskPriority, for wait: SemaphoreWait, followsUp: Bool) {
        if !isTold(of: priority) || followsUp { raiseLater(to: priority, for: wait, followsUp: followsUp) }
    }

    /// Raises the holder from anywhere; and where it `followsUp`, each later one for as long as the task waits.
    ///
    /// Who takes the permit without waiting says shortly after who it is. If it loses its processor in between, it is
    /// looked for again.
    func raiseLater(to priority: TaskPriority, for wait: SemaphoreWait, followsUp: Bool) {
        Task.detached(priority: priority) {
            var pause = Duration.milliseconds(1)
            while wait.outcome == nil, !isTold(of: priority) || followsUp {
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .milliseconds(100))
            }
        }
    }

    /// Returns false where somebody has the permit who has not said so yet. No lock may be held.
    private func isTold(of priority: TaskPriority) -> Bool {
        let holder = unsafe csk_sem_pin_holder(semaphore, priority.rawValue)
        if holder == 0 || holder == CSK_SEM_HOLDER_NOT_TOLD { return holder == 0 }
        RuntimeFacts.escalate(taskAt: UInt(holder), to: priority)
        withExtendedLifetime(owner) { unsafe csk_sem_unpin_holder(semaphore) }
        return true
    }
}
