/// Records the holder of a ``FIFOQueue``'s turn, and the priority of the waiters behind it. It is a value behind the
/// queue's lock.
///
/// A task that waits for its turn waits for everything before it. So the holder of the turn runs at no less than the
/// priority of the waiters: a more urgent waiter raises it on arrival, and it raises itself when it gets the turn. That
/// lasts while any of them waits. (The order among the waiters is not considered.)
///
/// A place is raised before it is granted the turn, since its task is suspended then. Any other new holder records
/// itself before its work, and gets the priority to take. (A resumed task without a thread can't be raised any more:
/// the runtime leaves its job in place.)
///
/// A task may end as soon as it has passed the turn on, or has left its place, and its memory may be its parent's. So a
/// raiser pins it under the lock. A pinned task that passes the turn on, or leaves its place, waits for the end of its
/// pin before it continues. Nothing else waits for a pin.
struct FIFOTurnPriority {
    typealias Raise = (task: UInt, priority: TaskPriority)

    /// The address of the task that has the turn; 0 if the turn is free, or its holder is not recorded.
    private var holder: UInt = 0
    /// The priority that the holder was given.
    private var told = Self.none
    /// The number of waiting tasks.
    private var waiting = 0
    /// The highest priority of the tasks that have waited since the queue last had no waiter.
    private var wanted = Self.none
    /// The holder and the waiter that are being raised; 0: none.
    private var pinnedHolder: UInt = 0, pinnedWaiter: UInt = 0
    /// The semaphores at which such tasks wait for the end of their pins.
    private var holderEnd: PrioritySemaphore?, waiterEnd: PrioritySemaphore?

    private static let none = TaskPriority(rawValue: 0)

    // MARK: - Those that wait

    /// Records a waiter of that priority. Returns whether the holder is to be raised.
    mutating func wait(at priority: TaskPriority) -> Bool {
        waiting += 1
        return rise(to: priority)
    }

    /// Records that a waiter was raised. Returns whether the holder is to be raised too.
    mutating func rise(to priority: TaskPriority) -> Bool {
        wanted = max(wanted, priority)
        return holder != 0 && told < wanted
    }

    /// Records that a task has stopped waiting, and leaves `place`. Returns whether the task is pinned.
    mutating func endWait(of place: OrderedPlace) -> Bool {
        waiting -= 1
        if waiting == 0 { wanted = Self.none }
        return isPinned(take(&place.task))
    }

    // MARK: - The holder

    /// Records a task that has taken the free turn.
    mutating func take(_ task: UInt) { (holder, told) = (task, Self.none) }

    /// Records a task that has received the turn. Returns the priority that it must have.
    mutating func begin(_ task: UInt) -> TaskPriority {
        (holder, told) = (task, wanted)
        return wanted
    }

    /// Records that the task `borrower` has borrowed the turn of the holder `pump`, which goes on without it, and may
    /// have passed the turn on. Returns whether the new holder is to be raised, and whether the pump is pinned.
    mutating func leave(to borrower: UInt, from pump: UInt) -> (mustRaise: Bool, isPinned: Bool) {
        if holder == pump { take(borrower) }
        return (holder == borrower && told < wanted, isPinned(pump))
    }

    /// Records that the holder passes the turn on. Returns whether it is pinned.
    mutating func end() -> Bool { isPinned(take(&holder)) }

    private func take(_ task: inout UInt) -> UInt {
        defer { task = 0 }
        return task
    }

    // MARK: - Raising

    /// Pins the holder, if it is to be raised. It also returns nil while another raiser is at work, which rechecks.
    mutating func pinHolder() -> Raise? {
        if holder == 0 || told >= wanted || pinnedHolder != 0 { return nil }
        (told, pinnedHolder) = (wanted, holder)
        return (holder, wanted)
    }

    /// Whether the task that waits at `place`, which gets the turn next, is to be raised.
    func wants(_ place: OrderedPlace) -> Bool { (place.task != 0 || place.handle != nil) && place.priority < wanted }

    /// Pins that task. Only the holder of the turn calls this.
    mutating func pin(_ place: OrderedPlace) -> Raise? {
        if place.task == 0 || !wants(place) { return nil }
        pinnedWaiter = place.task
        return (place.task, wanted)
    }

    /// Both return the waiter for the end of the pin.
    mutating func unpinHolder() -> PrioritySemaphore? {
        pinnedHolder = 0
        return holderEnd.take()
    }
    mutating func unpinWaiter() -> PrioritySemaphore? {
        pinnedWaiter = 0
        return waiterEnd.take()
    }

    private func isPinned(_ task: UInt) -> Bool { task != 0 && (task == pinnedHolder || task == pinnedWaiter) }

    /// Registers `end`, to be signalled at the end of the task's pin. Returns false if the task is no longer pinned.
    mutating func awaitUnpinned(_ task: UInt, _ end: PrioritySemaphore) -> Bool {
        if !isPinned(task) { return false }
        if task == pinnedHolder { holderEnd = end } else { waiterEnd = end }
        return true
    }

    /// The priority that a pump begins with.
    func priority(of pump: TaskPriority?) -> TaskPriority? { wanted > pump ?? .medium ? wanted : pump }

    /// The priority to which a task that waits with a handle is to be raised.
    mutating func raise(byHandle place: OrderedPlace) -> (Task<Void, Never>, TaskPriority)? {
        guard let handle = place.handle.take() else { return nil }
        return place.priority < wanted ? (handle, wanted) : nil
    }
}
