/// Who has the turn of a ``FIFOQueue``, and how urgent those are that wait behind it. It is a value behind the queue's
/// lock.
///
/// A task that waits for its turn waits for all that stands before it. So whoever has the turn runs at the priority of
/// those that wait, at least: it is raised when a more urgent one comes to wait, and raises itself when it gets the
/// turn. That lasts as long as any of them waits. (Which of them stands behind whom is not looked at.)
///
/// Whoever gets the turn says so itself, before its work, and learns the priority that is wanted. So nobody is to be
/// raised in between.
///
/// A task may end as soon as it has passed the turn on, or has left its place, and its memory may be its parent's. So
/// whoever raises it pins it under the lock. Whoever finds a pin when it changes `holder`, or leaves its place, waits for
/// the end of the pin before it goes on.
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
    /// Somebody is being raised, and must not end.
    private(set) var isPinned = false

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

    /// A task waits no more, and leaves `place`. It returns whether it must wait for the end of a pin.
    mutating func endWait(of place: OrderedPlace) -> Bool {
        waiting -= 1
        if waiting == 0 { wanted = Self.none }
        place.task = 0
        return isPinned
    }

    // MARK: - The holder

    /// A task has taken the turn, which was free.
    mutating func take(_ task: UInt) { (holder, told) = (task, Self.none) }

    /// A task has got the turn from another one. It returns the priority that it has to have.
    mutating func begin(_ task: UInt) -> TaskPriority {
        (holder, told) = (task, wanted)
        return wanted
    }

    /// The task `borrower` has borrowed the turn of the holder `pump`, which goes on without it, and may have passed the
    /// turn on. It returns whether the new holder is to be raised, and whether the pump must wait for the end of a pin.
    mutating func leave(to borrower: UInt, from pump: UInt) -> (mustRaise: Bool, mustWait: Bool) {
        if holder == pump { take(borrower) }
        return (holder == borrower && told < wanted, isPinned)
    }

    /// The holder gives the turn away. It returns whether it must wait for the end of a pin.
    mutating func end() -> Bool {
        holder = 0
        return isPinned
    }

    // MARK: - Raising

    /// Pins the holder, if it is to be raised.
    mutating func pinHolder() -> Raise? {
        if holder == 0 || told >= wanted { return nil }
        (told, isPinned) = (wanted, true)
        return (holder, wanted)
    }

    /// Whether the task that waits at `place`, which gets the turn next, is to be raised.
    func wants(_ place: OrderedPlace) -> Bool { place.task != 0 && place.priority < wanted }

    /// Pins that task.
    mutating func pin(_ place: OrderedPlace) -> Raise? {
        if !wants(place) { return nil }
        isPinned = true
        return (place.task, wanted)
    }

    mutating func unpin() { isPinned = false }

    /// What a pump begins with.
    func priority(of pump: TaskPriority?) -> TaskPriority? { wanted > pump ?? .medium ? wanted : pump }
}
