import CSyncKernel
import Dispatch

/// A task that waits, as an asynchronous waiter, at a kernel object: a gate, a semaphore or a priority queue. The
/// kernel decides between grant, timeout and cancellation.
///
/// A subclass says how its object queues the waiter, and how it takes the waiter out.
@safe
class KernelWait: RankedWait, GateWaiterOwner, @unchecked Sendable {
    final let owner: AnyObject
    @exclusivity(unchecked) private final var memory = GateWaiter.Memory()
    /// The waiter's address, taken once: taking it counts as an access to the memory, which the kernel's threads use.
    final let waiter: GateWaiter

    /// - Parameter owner: keeps the object, as long as a withdrawal of the wait may use it.
    init(of owner: AnyObject) {
        self.owner = owner
        waiter = unsafe GateWaiter(in: &memory)
        super.init()
    }

    final var resolvingQueue: DispatchQueue? { nil }

    final func gateResolved(_ status: Int32) {
        if isDecided(status) { resolve(status) }
    }

    /// The kernel has decided the wait, and the task does not go on before this returns. The thread holds no lock of
    /// the library, but may hold others, and may be the timers' thread. Returns false if the override resolves the wait
    /// itself, later.
    func isDecided(_ status: Int32) -> Bool { true }

    /// Resolves the wait with `ECANCELED` at the object, if it has not been granted. It returns the kernel's status.
    func cancel(_ waiter: UnsafeMutablePointer<csk_waiter_t>) -> Int32 {
        fatalError("KernelWait: a subclass must override cancel(_:)")
    }

    /// If the grant came first, the grant resolves the wait.
    override func withdraw(_ cause: Int32) {
        unsafe waiter.change { unsafe cancel($0) }
    }
}
