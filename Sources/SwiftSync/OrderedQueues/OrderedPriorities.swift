/// Decides at what priority work of an ``ActorQueue`` runs, so that it can't overtake earlier work at another actor
/// that both call. It is a pure value.
///
/// The work of an actor queue begins in order, and may be suspended at another actor while later work begins. Swift's
/// actors serve their waiters by priority. So later work of a higher priority would overtake earlier work there. An
/// escalation of the earlier work does not help: it does not move a job that is already queued.
///
/// Therefore, in the order in which it began, the priorities of the work that has not ended never rise. Work runs at
/// the priority of its task, but at no less than `least`, the priority of the queue's own tasks, and at no more than
/// the lowest of the work that runs. That is never below `least`, so the tasks of the queue run at `least` in any case.
/// A task that waits for its own work on an idle queue keeps a higher priority.
struct OrderedPriorities {
    let least: TaskPriority
    /// The number of pieces of work that have begun and not ended.
    private var running = 0
    /// The lowest priority of the work that has begun since none ran. Work that ends before earlier work leaves it
    /// unchanged, so that no state is kept for each piece of work.
    private var lowest: TaskPriority

    init(least: TaskPriority) {
        self.least = least
        lowest = least
    }

    /// Returns the priority of the next work, whose task has the priority `own`. It holds until other work begins.
    func next(_ own: TaskPriority) -> TaskPriority {
        let priority = max(own, least)
        return running == 0 ? priority : min(priority, lowest)
    }

    /// Work begins at a priority that ``next(_:)`` has returned.
    mutating func begin(at priority: TaskPriority) {
        lowest = next(priority)
        running += 1
    }

    /// Work ends.
    mutating func end() { running -= 1 }
}
