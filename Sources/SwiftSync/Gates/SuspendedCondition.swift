import CSyncKernel
import Dispatch
import Synchronization

/// A task that waits until a predicate is true, and then for the gate. It is one suspension for both.
///
/// 1. The task holds the gate, has found the predicate false, registers it, and leaves the gate.
/// 2. Some thread that leaves the gate finds the predicate true. Holding the gate still, it queues the task's waiter,
///    which has the condition's place. So the task gets the gate in its turn, and no later waiter takes what it waits
///    for.
/// 3. The task is granted the gate like every ``SuspendedWaiter``. Cancellation and deadlines end the first part of the
///    wait only: a task whose predicate was found true must enter the gate, since the predicates behind it are
///    evaluated when it leaves.
@safe
final class SuspendedCondition: SuspendedWaiter, @unchecked Sendable {
    private let isTrue: () -> Bool
    private let rank: Int64?
    @safe @exclusivity(unchecked) private var condition = unsafe csk_gate_condition_t()
    @safe private let kernelCondition: UnsafeMutablePointer<csk_gate_condition_t>
    /// The thread that is removing the condition. It holds no gate, and resolves the wait itself.
    private let withdrawer = Atomic<UInt64>(0)
    @exclusivity(unchecked) private var isWithdrawn = false

    init(
        _ gate: UnsafeMutablePointer<csk_gate_t>, of box: AnyObject, rank: Int64?, isolation: (any Actor)?,
        isTrue: @escaping () -> Bool
    ) {
        self.isTrue = isTrue
        self.rank = rank
        kernelCondition = unsafe RuntimeFacts.lastingAddress(of: &condition)
        unsafe super.init(gate, of: box, isolation: isolation)
    }

    /// Leaves the gate, which the calling thread holds, and waits. It returns 0 with the gate held and, unless another
    /// was faster, the predicate true; or an errno value with the gate left.
    func acquireWhenTrue(deadline: Int64) async -> Int32 {
        // A task that is cancelled at this moment may go on as another thread, which leaves the gate then.
        unsafe csk_gate_disown(gate)
        return await following(ifOwn: rank == nil && RequestPriority.isOfTask(naming: nil)) {
            var isInside = true
            let status = await wait(until: deadline) {
                let status = watch()
                isInside = false
                unsafe csk_gate_unlock(gate)
                return status
            }
            if isInside { unsafe csk_gate_unlock(gate) }
            return await adopt(status)
        }
    }

    private func watch() -> Int32 {
        let rank = rank ?? RequestPriority.rankOfTask(naming: nil)
        testStep("SuspendedCondition: knows its rank", self)
        let reference = unsafe Unmanaged.passRetained(self)
        let status = queue(at: rank) {
            let status = unsafe csk_gate_watch(
                gate, rank, kernelCondition, Self.ask, reference.toOpaque(), Self.ended, reference.toOpaque())
            if status != 0 { unsafe reference.release() }
            return status
        }
        testStep("SuspendedCondition: is queued", self)
        return status
    }

    /// The task waits for the predicate, or for the gate, or no longer.
    override func raise(to rank: Int64) {
        unsafe csk_gate_raise_watch(gate, rank, kernelCondition)
        super.raise(to: rank)
    }

    private static let ask: csk_gate_predicate_t = { context in
        unsafe Unmanaged<SuspendedCondition>.fromOpaque(context!)._withUnsafeGuaranteedRef { $0.isTrue() }
    }

    private static let ended: csk_gate_condition_function_t = { _, context, status in
        let condition = unsafe Unmanaged<SuspendedCondition>.fromOpaque(context!).takeRetainedValue()
        condition.ended(status)
    }

    /// While this thread holds the gate it must run no users' code. So it must not release the last reference here. It
    /// doesn't: the task has another reference, and is resumed elsewhere or by the grant.
    private func ended(_ status: Int32) {
        let refusal = status == 0 ? queueInPlace() : status
        if refusal == 0 { return }
        if withdrawer.load(ordering: .relaxed) == csk_self() {
            unsafe isWithdrawn = true
        } else {
            DispatchQueue.global().async { self.resolve(self.cause ?? refusal) }
        }
    }

    /// Queues the waiter at the condition's present rank, and so in its place.
    private func queueInPlace() -> Int32 {
        unsafe queue(rank: csk_gate_condition_rank(kernelCondition), deadline: Deadline.never)
    }

    override func withdraw(_ cause: Int32) {
        withdrawer.store(csk_self(), ordering: .relaxed)
        unsafe csk_gate_unwatch(gate, kernelCondition)
        withdrawer.store(0, ordering: .relaxed)
        if unsafe isWithdrawn { resolve(cause) }
    }
}
