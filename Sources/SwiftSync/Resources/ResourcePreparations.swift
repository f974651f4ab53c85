/// The factory's calls and checks that are under way at a pool. The pool's lock guards it.
struct ResourcePreparations {
    /// All of them: whoever escalates their tasks finds them here.
    private var list = ResourceList<ResourcePreparation>()
    /// Those that may last for too long, in the order in which they get slow, until they are.
    private var quick = ResourceHeap<ResourcePreparation>()
    /// Those that are slow, the first to last for too long first.
    private var deadlines = ResourceHeap<ResourcePreparation>()
    /// How many are neither slow nor late: each of them stands for one request.
    private(set) var count = 0
    /// How many of these were begun for low priorities.
    private(set) var commonCount = 0
    /// How many call the factory and are not late.
    private(set) var makingCount = 0
    /// How many of these were begun for low priorities.
    private(set) var commonMakingCount = 0

    /// After this part of the time that it has, one is slow, and others are begun for those who wait still. One that
    /// hangs would stand for each request that comes until its time is over.
    private static let quickPart: Int64 = 3

    var tasks: [Task<Void, Never>] { list.members.compactMap(\.task) }

    /// Those to be raised to that priority, of the first so many. What comes of any goes to whoever is first in order.
    mutating func raise(to priority: TaskPriority) -> [Task<Void, Never>] {
        list.members.lazy.filter { !$0.isLate }.prefix(Self.raisedAtOnce).compactMap { preparation in
            if preparation.priority >= priority { return nil }
            preparation.priority = priority
            return preparation.task
        }
    }

    private static let raisedAtOnce = 64

    /// When the first of them will be slow, or will have lasted for too long.
    var firstDeadline: Int64? {
        mutating get {
            let slow = quick.first?.slowTime ?? Deadline.never, late = deadlines.first?.deadline ?? Deadline.never
            return min(slow, late) == Deadline.never ? nil : min(slow, late)
        }
    }

    mutating func append(_ preparation: ResourcePreparation, at now: Int64) {
        list.append(preparation)
        stand(preparation, 1)
        countMaking(preparation, 1)
        if preparation.deadline == Deadline.never { return }
        preparation.slowTime = now + (preparation.deadline - now) / Self.quickPart
        quick.insert(preparation, rank: -preparation.slowTime)
    }

    mutating func remove(_ preparation: ResourcePreparation) {
        list.remove(preparation)
        if preparation.isLate { return }
        countMaking(preparation, -1)
        if preparation.isSlow {
            deadlines.remove(preparation)
        } else {
            quick.remove(preparation)
            stand(preparation, -1)
        }
    }

    /// Those that have become slow stand for no request any more.
    mutating func noteSlow(at now: Int64) {
        while let first = quick.first, first.slowTime <= now {
            quick.remove(first)
            first.isSlow = true
            stand(first, -1)
            deadlines.insert(first, rank: -first.deadline)
        }
    }

    /// Gives one up that has lasted for too long. It is in the list until it ends.
    mutating func giveUpLate(at now: Int64) -> ResourcePreparation? {
        noteSlow(at: now)
        guard let first = deadlines.first, first.deadline <= now else { return nil }
        deadlines.remove(first)
        first.isLate = true
        countMaking(first, -1)
        return first
    }

    private mutating func stand(_ preparation: ResourcePreparation, _ difference: Int) {
        count += difference
        if preparation.isCommon { commonCount += difference }
    }

    private mutating func countMaking(_ preparation: ResourcePreparation, _ difference: Int) {
        if preparation.checked != nil { return }
        makingCount += difference
        if preparation.isCommon { commonMakingCount += difference }
    }
}
