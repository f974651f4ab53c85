import CSyncKernel
import Synchronization

/// A task that waits in an order by priority. If neither the call nor the request names a priority, it waits at the
/// task's own, and an escalation of the task moves it up.
@safe
class RankedWait: TaskWait, @unchecked Sendable {
    /// The highest rank to which the task was escalated during the wait.
    private let escalated = Atomic(Int64.min)

    /// Raises the wait at the object that the task waits for. It does nothing before and after the wait. It is called
    /// on the thread that escalates the task.
    func raise(to rank: Int64) { fatalError("\(Self.self) does not say what a higher rank changes") }

    /// Whether an escalation also raises others, even if the task's own place does not change.
    var isChained: Bool { false }
    /// The task was escalated. The thread holds a lock of the runtime, so a separate task does the raising.
    func isEscalated(to priority: TaskPriority) {}

    /// Runs `body`, which waits. An escalation during that raises the wait, if `isOwn` says that it is at the task's
    /// own priority.
    @inline(__always)
    final func following(ifOwn isOwn: Bool, _ body: () async -> Int32) async -> Int32 {
        if !isOwn && !isChained { return await body() }
        // The handler's caller reads this first, and so sees the initialized object.
        escalated.store(.min, ordering: .releasing)
        return await withTaskPriorityEscalationHandler {
            await body()
        } onPriorityEscalated: { _, priority in
            let before = escalated.load(ordering: .acquiring)
            if isOwn {
                let rank = CommandRank.of(CommandPriority(priority))
                escalated.max(rank, ordering: .sequentiallyConsistent)
                if rank > before { raise(to: rank) }
            }
            isEscalated(to: priority)
        }
    }

    /// Queues the wait at `rank` by `body`, which returns 0 or an errno value. The rank must be read once the handler
    /// is in place, so that no escalation is missed.
    @inline(__always)
    final func queue(at rank: Int64, by body: () -> Int32) -> Int32 {
        let status = body()
        // An escalation that came before the waiter was queued found none.
        let escalated = escalated.load(ordering: .sequentiallyConsistent)
        if status == 0, escalated > rank { raise(to: escalated) }
        return status
    }
}
