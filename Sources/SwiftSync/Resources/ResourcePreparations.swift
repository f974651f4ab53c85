/// The factory's calls and checks that are under way at a pool. The pool's lock guards it.
struct ResourcePreparations {
    /// All preparations; escalations find them here.
    private var list = ResourceList<ResourcePreparation>()
    /// The preparations with a timeout that are not slow yet, in the order in which they get slow.
    private var quick = ResourceHeap<ResourcePreparation>()
    /// The slow preparations, the earliest timeout first.
    private var deadlines = ResourceHeap<ResourcePreparation>()
    /// The number that are neither slow nor late: each of them counts for one request.
    private(set) var count = 0
    /// The number of these that were begun for low priorities.
    private(set) var commonCount = 0
    /// The number that call the factory and are not late.
    private(set) var makingCount = 0
    /// The number of these that were begun for low priorities.
    private(set) var commonMakingCount = 0

    /// The part of its timeout after which a preparation is slow, and others are begun for the waiting requests.
    /// Otherwise a hanging one would count for each request that comes until its timeout.
    private static let quickPart: Int64 = 3

    var tasks: [Task<Void, Never>] { list.members.compactMap(\.task) }

    /// Raises the preparations among the first `raisedAtOnce` to that priority, and returns their tasks. The result of
    /// any goes to the first request in order.
    mutating func raise(to priority: TaskPriority) -> [Task<Void, Never>] {
        list.members.lazy.filter { !$0.isLate }.prefix(Self.raisedAtOnce).compactMap { preparation in
            if preparation.priority >= priority { return nil }
            preparation.priority = priority
            return preparation.task
        }
    }

    private static let raisedAtOnce = 64

    /// The time at which the first of them will be slow, or will have lasted for too long.
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

    /// Preparations that have become slow no longer count for a request.
    mutating func noteSlow(at now: Int64) {
        while let first = quick.first, first.slowTime <= now {
            quick.remove(first)
            first.isSlow = true
            stand(first, -1)
            deadlines.insert(first, rank: -first.deadline)
        }
    }

    /// Gives up a preparation that has lasted for too long. It stays in the list until it ends.
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
