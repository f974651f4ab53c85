import CSyncKernel

/// A task that waits for permits of a semaphore.
@safe
final class SemaphoreWait: KernelWait, @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<csk_sem_t>

    private init(_ semaphore: UnsafeMutablePointer<csk_sem_t>, of owner: AnyObject) {
        unsafe self.semaphore = semaphore
        super.init(of: owner)
    }

    override func cancel(_ waiter: UnsafeMutablePointer<csk_gate_waiter_t>) -> Int32 {
        unsafe csk_sem_cancel(semaphore, waiter)
    }

    /// Waits until permits of the semaphore, which `owner` keeps, are the task's. It returns 0 or an errno value.
    static func acquire(
        _ permits: UInt32, at semaphore: UnsafeMutablePointer<csk_sem_t>, of owner: AnyObject, rank: Int64,
        deadline: Int64
    ) async -> Int32 {
        // A wait that only tries must not stand in the queue: it would bar others until the timers' thread came.
        if deadline == Deadline.passed { return unsafe csk_sem_wait_ranked(semaphore, rank, permits, deadline) }
        return await unsafe SemaphoreWait(semaphore, of: owner).acquire(permits, rank, deadline)
    }

    private func acquire(
        _ permits: UInt32, _ rank: Int64, _ deadline: Int64
    ) async -> Int32 {
        await wait() {
            unsafe waiter.lock(owner: self) {
                unsafe csk_sem_wait_async(semaphore, $0, rank, permits, deadline, $1, $2)
            }
        }
    }
}
