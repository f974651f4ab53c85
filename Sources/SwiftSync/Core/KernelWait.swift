import CSyncKernel
import Dispatch

/// A task that waits, as an asynchronous waiter, in the line of a kernel's object that hands over what it waits for: a
/// semaphore or a priority queue. The kernel decides between grant, timeout and cancellation.
///
/// A subclass says how its object queues the waiter, and how it takes the waiter out.
@safe
class KernelWait: RankedWait, GateWaiterOwner, @unchecked Sendable {
    private let owner: AnyObject
    @exclusivity(unchecked) private final var memory = GateWaiter.Memory()
    /// Taken once: each taking of the address is an access to the memory, which the kernel's threads use.
    final let waiter: GateWaiter

    /// - Parameter owner: keeps the object, as long as somebody who withdraws the wait may use it.
    init(of owner: AnyObject) {
        self.owner = owner
        waiter = unsafe GateWaiter(in: &memory)
        super.init()
    }

    final var resolvingQueue: DispatchQueue? { nil }

    final func gateResolved(_ status: Int32) {
        if status != 0 || isGranted() { resolve(status) }
    }

    /// The kernel has granted what the task waits for, and the task does not go on before this returns. No lock of the
    /// library's is held, but others' may be, and the thread may be the timers'. It returns false where the override
    /// resolves the wait itself, later.
    func isGranted() -> Bool { true }

    /// Has the object resolve the wait with `ECANCELED`, if it has not been granted. It returns the kernel's status.
    func cancel(_ waiter: UnsafeMutablePointer<csk_gate_waiter_t>) -> Int32 {
        fatalError("KernelWait: a subclass must override cancel(_:)")
    }

    /// If the grant came first, the grant resolves the wait.
    final override func withdraw(_ cause: Int32) {
        unsafe waiter.change { unsafe cancel($0) }
    }
}
