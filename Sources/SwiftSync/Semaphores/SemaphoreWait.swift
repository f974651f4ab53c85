import CSyncKernel
import Synchronization

/// A task that waits for permits of a semaphore.
@safe
final class SemaphoreWait: KernelWait, @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<csk_sem_t>
    /// Whoever has the permit, where that is known.
    private let holder: PermitHolder?
    /// The highest rank to which the task was escalated meanwhile.
    private let escalated = Atomic(Int64.min)

    private init(_ semaphore: UnsafeMutablePointer<csk_sem_t>, of owner: AnyObject, _ holder: PermitHolder?) {
        unsafe self.semaphore = semaphore
        self.holder = holder
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
        if priority != nil || RequestPriority.ofRequest != nil {
            return await wait.acquire(permits, naming: priority, deadline)
        }
        // Whoever calls the handler reads this first, and so sees the object as it was made.
        wait.escalated.store(.min, ordering: .releasing)
        return await withTaskPriorityEscalationHandler {
            await wait.acquire(permits, naming: nil, deadline)
        } onPriorityEscalated: { _, priority in
            wait.escalate(to: CommandRank.of(CommandPriority(priority)))
        }
    }

    /// The rank is read once the escalation handler is in place, so none is missed.
    private func acquire(_ permits: UInt32, naming priority: CommandPriority?, _ deadline: Int64) async -> Int32 {
        await wait() {
            let rank = RequestPriority.rankOfTask(naming: priority)
            testStep("SemaphoreWait: knows its rank", self)
            let status = unsafe waiter.lock(owner: self) {
                unsafe csk_sem_wait_async(semaphore, $0, rank, permits, deadline, $1, $2)
            }
            // An escalation that came before the waiter was queued found none.
            let escalated = escalated.load(ordering: .sequentiallyConsistent)
            if status == 0 {
                if escalated > rank { raise(to: escalated) }
                holder?.raise(to: max(rank, escalated), for: self)
            }
            return status
        }
    }

    private func escalate(to rank: Int64) {
        escalated.max(rank, ordering: .sequentiallyConsistent)
        raise(to: rank)
        holder?.raiseLater(to: rank, for: self)
    }

    /// It does nothing if the task waits no longer.
    private func raise(to rank: Int64) { unsafe waiter.change { unsafe csk_sem_raise(semaphore, $0, rank) } }
}
