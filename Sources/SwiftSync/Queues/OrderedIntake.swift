/// What an ordered queue holds that has not begun, in order, and what it lets in: a pure value, which returns what is to be done.
///
/// Two kinds of entries stand in one order: work that nobody waits for, which a pump runs, and the places and jobs of tasks that run their
/// own work. Only the first kind counts for the capacity. A sender is work whose task waits for room: its entry stands in its order from the
/// beginning, and is accepted once room comes, which it does before the entry's turn, since by then everything before it has begun.
struct OrderedIntake<Work>: ~Copyable {
    /// Work whose task waits for room.
    final class Sender: @unchecked Sendable {
        let work: Work
        let room: OrderedPlace

        init(_ work: Work) {
            self.work = work
            room = OrderedPlace()
        }
    }

    enum Entry {
        case work(Work)
        case place(OrderedPlace)
        /// Of a task that begins its work when the job is run.
        case job(UnownedJob)
        case sender(Sender)
        /// Dropped from among others.
        case gone

        var isPlace: Bool { if case .place = self { true } else { false } }
        var isWork: Bool { if case .work = self { true } else { false } }
    }

    enum Admission {
        case accepted
        /// Accepted in place of older work, which is to be released outside of the lock.
        case replaced(Entry)
        case refused(OrderedQueueError)
    }

    typealias Entries = OrderedChunks<Entry>
    typealias Senders = OrderedChunks<Sender>

    private let capacity: Int?
    private let overflow: OrderedQueueOverflow
    private var pending = Entries()
    private var senders = Senders()
    /// Accepted work that has not begun; kept where there is a capacity.
    private var unbegun = 0
    /// Entries that were dropped from among others and are still there.
    private var gone = 0
    private(set) var isShut = false

    init(capacity: Int?, overflow: OrderedQueueOverflow) {
        self.capacity = capacity
        self.overflow = overflow
    }

    var isEmpty: Bool { pending.isEmpty }
    var count: Int { pending.count }

    // MARK: - Memory, which comes from outside of the lock

    /// Dropping may move entries to the end before it has freed a chunk, so it wants one more.
    var needsChunk: Bool { pending.needsChunk || overflow == .dropOldest && !pending.hasSpare }
    var needsSenderChunk: Bool { senders.needsChunk }
    mutating func supply(_ chunk: Entries.Chunk) { pending.supply(chunk) }
    mutating func supply(_ chunk: Senders.Chunk) { senders.supply(chunk) }

    // MARK: - Letting in

    mutating func admit(_ work: Work) -> Admission {
        if isShut { return .refused(.shutDown) }
        guard let capacity else {
            pending.append(.work(work))
            return .accepted
        }
        if unbegun < capacity {
            unbegun += 1
            pending.append(.work(work))
            return .accepted
        }
        guard overflow == .dropOldest else { return .refused(.full) }
        let oldest = dropOldest()
        pending.append(.work(work))
        return .replaced(oldest)
    }

    /// A sender is accepted at once or waits; `.refused` where the queue does not wait for room.
    mutating func admit(_ sender: Sender) -> Admission {
        if isShut { return .refused(.shutDown) }
        guard overflow == .wait, let capacity, unbegun >= capacity else {
            _ = sender.room.claim()
            return admit(sender.work)
        }
        senders.append(sender)
        pending.append(.sender(sender))
        return .accepted
    }

    /// The place of a task; `evenIfShut` for those that wait for the end.
    mutating func admit(_ place: OrderedPlace, evenIfShut: Bool) -> Admission {
        if isShut && !evenIfShut { return .refused(.shutDown) }
        pending.append(.place(place))
        return .accepted
    }

    /// A job that can't be refused: its task was let in before.
    mutating func admit(_ job: UnownedJob) { pending.append(.job(job)) }

    /// - Complexity: O(1) where the oldest entry is work; else O(entries) for the places before it.
    private mutating func dropOldest() -> Entry {
        if pending.withFirst({ $0.isWork }) == true { return pending.popFirst()! }
        let oldest = pending.firstResult { entry -> Entry? in
            guard entry.isWork else { return nil }
            let oldest = entry
            entry = .gone
            return oldest
        }
        gone += 1
        if gone > pending.count / 2 { removeGone() }
        return oldest ?? .gone
    }

    private mutating func removeGone() {
        for _ in 0..<pending.count {
            let entry = pending.popFirst()!
            if case .gone = entry { continue }
            pending.append(entry)
        }
        gone = 0
    }

    // MARK: - Taking out

    /// Moves what is next into `ready`, which is empty: everything, or one entry where entries are counted until they begin.
    /// A sender that is let in by that and has to be woken is returned.
    mutating func refill(_ ready: inout Entries) -> OrderedPlace? {
        guard capacity != nil else {
            swap(&pending, &ready)
            return nil
        }
        while let entry = pending.popFirst() {
            switch entry {
            case .gone:
                gone -= 1
                continue
            case .sender(let sender) where !sender.room.isGranted: break    // To be released outside of the lock, as user code may be.
            case .work, .sender: unbegun -= 1
            case .place, .job: break
            }
            // Its own chunk has room: it is empty.
            ready.append(entry)
            return letNextSenderIn()
        }
        return nil
    }

    private mutating func letNextSenderIn() -> OrderedPlace? {
        while unbegun < capacity!, let sender = senders.popFirst() {
            switch sender.room.claim() {
            case .lost: continue
            case .won: unbegun += 1
            case .mustResume:
                unbegun += 1
                return sender.room
            }
        }
        return nil
    }

    // MARK: - The end

    /// Refuses what comes from now on. What was accepted stays; senders that wait for room are returned, to be told.
    mutating func shut() -> Senders {
        isShut = true
        var refused = Senders()
        swap(&refused, &senders)
        return refused
    }
}
