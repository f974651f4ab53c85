/// The factory's calls and checks that are under way at a pool. The pool's lock guards it.
struct ResourcePreparations {
    /// All of them: whoever escalates their tasks finds them here.
    private var list = ResourceList<ResourcePreparation>()
    /// Those that may last for too long, the oldest first.
    private var deadlines = ResourceHeap<ResourcePreparation>()
    /// How many are not late.
    private(set) var count = 0
    /// How many of these call the factory.
    private(set) var makingCount = 0
    /// How many of these were begun for low priorities.
    private(set) var commonCount = 0

    var tasks: [Task<Void, Never>] { list.members.compactMap(\.task) }

    /// When the first of them will have lasted for too long.
    var firstDeadline: Int64? { mutating get { deadlines.first?.deadline } }

    mutating func append(_ preparation: ResourcePreparation) {
        list.append(preparation)
        count(preparation, 1)
        if preparation.deadline != Deadline.never { deadlines.insert(preparation, rank: -preparation.deadline) }
    }

    mutating func remove(_ preparation: ResourcePreparation) {
        list.remove(preparation)
        if preparation.isLate { return }
        deadlines.remove(preparation)
        count(preparation, -1)
    }

    /// Gives one up that has lasted for too long. It is in the list until it ends.
    mutating func giveUpLate(at now: Int64) -> ResourcePreparation? {
        guard let first = deadlines.first, first.deadline <= now else { return nil }
        deadlines.remove(first)
        first.isLate = true
        count(first, -1)
        return first
    }

    private mutating func count(_ preparation: ResourcePreparation, _ difference: Int) {
        count += difference
        if preparation.isCommon { commonCount += difference }
        if preparation.checked == nil { makingCount += difference }
    }
}
