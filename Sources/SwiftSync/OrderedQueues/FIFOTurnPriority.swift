/// Who has the turn of a ``FIFOQueue``, and how urgent those are that wait behind it. It is a value behind the queue's
/// lock.
///
/// A task that waits for its turn waits for all that stands before it. So whoever has the turn runs at the priority of
/// those that wait, at least: it is raised when a more urgent one comes to wait, and raises itself when it gets the
/// turn. That lasts as long as any of them waits. (Which of them stands behind whom is not looked at.)
///
/// A place is raised before it is granted the turn, since the task is suspended then. What gets the turn elsewhere says
/// so itself, before its work, and learns the priority that is wanted. (A task that was resumed, and has no thread yet,
/// is moved by nothing: the runtime leaves its job where it is.)
///
/// A task may end as soon as it has passed the turn on, or has left its place, and its memory may be its parent's. So
/// whoever raises it pins it under the lock. A task that gives the turn away, or leaves its place, and is pinned, waits
/// for the end of its pin before it goes on. Nobody else waits for a pin.
struct FIFOTurnPriority {
    typealias Raise = (task: UInt, priority: TaskPriority)

    /// The address of the task that has the turn; 0: nobody has it, or has said so.
    private var holder: UInt = 0
    /// What the holder was told of.
    private var told = Self.none
    /// How many tasks wait.
    private var waiting = 0
    /// The highest priority of those that have waited since any waits.
    private var wanted = Self.none
    /// The holder that is being raised, and the one that waits and is being raised; 0: none.
    private var pinnedHolder: UInt = 0, pinnedWaiter: UInt = 0
    /// Where such a task waits for the end of its pin.
    private var holderEnd: PrioritySemaphore?, waiterEnd: PrioritySemaphore?

    private static let none = TaskPriority(rawValue: 0)

    // MARK: - Those that wait

    /// A task of that priority waits from now on. It returns whether the holder is to be raised.
    mutating func wait(at priority: TaskPriority) -> Bool {
        waiting += 1
        return rise(to: priority)
    }

    /// A task that waits was raised. It returns whether the holder is to be raised too.
    mutating func rise(to priority: TaskPriority) -> Bool {
        wanted = max(wanted, priority)
        return holder != 0 && told < wanted
    }

    /// A task waits no more, and leaves `place`. It returns whether the task is pinned.
    mutating func endWait(of place: OrderedPlace) -> Bool {
        waiting -= 1
        if waiting == 0 { wanted = Self.none }
        return isPinned(take(&place.task))
    }

    // MARK: - The holder

    /// A task has taken the turn, which was free.
    mutating func take(_ task: UInt) { (holder, told) = (task, Self.none) }

    /// A task has got the turn from another one. It returns the priority that it has to have.
    mutating func begin(_ task: UInt) -> TaskPriority {
        (holder, told) = (task, wanted)
        return wanted
    }

    /// The task `borrower` has borrowed the turn of the holder `pump`, which goes on without it, and may have passed
    /// the turn on. It returns whether the new holder is to be raised, and whether the pump is pinned.
    mutating func leave(to borrower: UInt, from pump: UInt) -> (mustRaise: Bool, isPinned: Bool) {
        if holder == pump { take(borrower) }
        return (holder == borrower && told < wanted, isPinned(pump))
    }

    /// The holder gives the turn away. It returns whether it is pinned.
    mutating func end() -> Bool { isPinned(take(&holder)) }

    private func take(_ task: inout UInt) -> UInt {
        defer { task = 0 }
        return task
    }

    // MARK: - Raising

    /// Pins the holder, if it is to be raised. Nil also says that somebody else is raising one, and looks again.
    mutating func pinHolder() -> Raise? {
        if holder == 0 || told >= wanted || pinnedHolder != 0 { return nil }
        (told, pinnedHolder) = (wanted, holder)
        return (holder, wanted)
    }

    /// Whether the task that waits at `place`, which gets the turn next, is to be raised.
    func wants(_ place: OrderedPlace) -> Bool { (place.task != 0 || place.handle != nil) && place.priority < wanted }

    /// Pins that task. Only who has the turn calls this.
    mutating func pin(_ place: OrderedPlace) -> Raise? {
        if place.task == 0 || !wants(place) { return nil }
        pinnedWaiter = place.task
        return (place.task, wanted)
    }

    /// Both return the one that waits for the end of the pin.
    mutating func unpinHolder() -> PrioritySemaphore? {
        pinnedHolder = 0
        return holderEnd.take()
    }
    mutating func unpinWaiter() -> PrioritySemaphore? {
        pinnedWaiter = 0
        return waiterEnd.take()
    }

    private func isPinned(_ task: UInt) -> Bool { task != 0 && (task == pinnedHolder || task == pinnedWaiter) }

    /// Has `end` signalled once the pin of the task ends. It returns false if the task is not pinned any more.
    mutating func awaitUnpinned(_ task: UInt, _ end: PrioritySemaphore) -> Bool {
        if !isPinned(task) { return false }
        if task == pinnedHolder { holderEnd = end } else { waiterEnd = end }
        return true
    }

    /// What a pump begins with.
    func priority(of pump: TaskPriority?) -> TaskPriority? { wanted > pump ?? .medium ? wanted : pump }

    /// What a task that waits with a handle is to be raised to.
    mutating func raise(byHandle place: OrderedPlace) -> (Task<Void, Never>, TaskPriority)? {
        guard let handle = place.handle.take() else { return nil }
        return place.priority < wanted ? (handle, wanted) : nil
    }
}
