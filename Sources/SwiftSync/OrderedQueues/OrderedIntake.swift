import CSyncKernel

/// What an ordered queue holds that has not begun, in order, and what it lets in: a pure value, which returns what is
/// to be done.
///
/// Two kinds of entries stand in one order: work that nobody waits for, which a pump runs, and the places and jobs of
/// tasks that run their own work. Where there is a capacity, all of them take room until they begin. Who can't be
/// refused stands in the order beyond it.
///
/// A sender is work whose task waits for room: its entry stands in its order from the beginning, and is accepted once
/// room comes, or when its turn has come, whichever is first.
struct OrderedIntake<Work>: ~Copyable {
    /// Work whose task waits for room, and what it waits with.
    final class Sender: OrderedPlace, @unchecked Sendable {
        /// Belongs to who begins it once the room is granted, and to the task once it has given up.
        private(set) var work: Work?

        init(_ work: Work) {
            self.work = work
            super.init(.refusable)
        }

        func takeWork() -> Work? { work.take() }
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
        /// Whether it is work that nobody waits for.
        var isDroppable: Bool {
            switch self {
            case .work: true
            case .place(let place): place.kind == .work
            case .job, .sender, .gone: false
            }
        }

        /// Tells the task whose entry was dropped, if there is one.
        func drop() {
            if case .place(let place) = self { place.resolve(ECANCELED) }
        }
    }

    enum Admission {
        case accepted
        /// Accepted in place of older work, which is to be released outside of the lock.
        case replaced(Entry)
        case refused(OrderedQueueError)
    }

    typealias Entries = OrderedChunks<Entry>
    typealias Senders = OrderedChunks<Sender>

    let capacity: Int?
    private let overflow: OrderedQueueOverflow
    private var pending = Entries()
    private var senders = Senders()
    /// What takes room: accepted, and not begun. Kept where there is a capacity.
    private(set) var unbegun = 0
    /// What of that may be dropped.
    private var droppable = 0
    /// Entries that were dropped from among others and are still there.
    private var gone = 0
    /// Waits that were given up since the list was last cleared of them.
    private var givenUp = 0
    private(set) var isShut = false

    init(capacity: Int?, overflow: OrderedQueueOverflow) {
        self.capacity = capacity
        self.overflow = overflow
    }

    var isEmpty: Bool { pending.isEmpty }
    var count: Int { pending.count }

    // MARK: - Memory, which comes from outside of the lock

    var needsChunk: Bool { pending.needsChunk }
    var needsSenderChunk: Bool { senders.needsChunk }
    mutating func supply(_ chunk: Entries.Chunk) { pending.supply(chunk) }
    mutating func supply(_ chunk: Senders.Chunk) { senders.supply(chunk) }

    // MARK: - Room

    /// Whether there is none for what takes some. Where the oldest is dropped, only what can be dropped fills the
    /// queue.
    private var isFull: Bool {
        guard let capacity else { return false }
        return (overflow == .dropOldest ? droppable : unbegun) >= capacity
    }

    private mutating func takeRoom(isDroppable: Bool = false) {
        guard capacity != nil else { return }
        unbegun += 1
        if isDroppable { droppable += 1 }
    }

    private mutating func leaveRoom(isDroppable: Bool = false) {
        guard capacity != nil else { return }
        unbegun -= 1
        if isDroppable { droppable -= 1 }
    }

    private mutating func leaveRoom(of place: OrderedPlace) {
        if !place.takesRoom { return }
        place.takesRoom = false
        leaveRoom(isDroppable: place.kind == .work)
    }

    /// Why one of `kind` is not let in; nil if it is.
    private func refusal(of kind: OrderedPlace.Kind) -> OrderedQueueError? {
        if !kind.endsWithShutdown { return nil }
        if isShut { return .shutDown }
        return isFull && overflow == .refuse ? .full : nil
    }

    // MARK: - Letting in

    mutating func admit(_ work: Work) -> Admission {
        if isShut { return .refused(.shutDown) }
        return admitDroppable(.work(work))
    }

    private mutating func admitDroppable(_ entry: Entry) -> Admission {
        guard isFull else {
            takeRoom(isDroppable: true)
            pending.append(entry)
            return .accepted
        }
        guard overflow == .dropOldest else { return .refused(.full) }
        let oldest = dropOldest()
        pending.append(entry)
        return .replaced(oldest)
    }

    /// A sender is accepted at once or waits; `.refused` where the queue does not wait for room.
    mutating func admit(_ sender: Sender) -> Admission {
        if isShut { return .refused(.shutDown) }
        guard overflow == .wait, isFull else {
            let admission = admitDroppable(.work(sender.work!))
            if case .refused = admission { return admission }
            _ = sender.takeWork()
            _ = sender.claim(0)
            return admission
        }
        senders.append(sender)
        pending.append(.sender(sender))
        return .accepted
    }

    /// The place of a task, in a queue where something is before it.
    mutating func admit(_ place: OrderedPlace) -> Admission {
        if let error = refusal(of: place.kind) { return .refused(error) }
        if place.kind == .work {
            let admission = admitDroppable(.place(place))
            if case .refused = admission { return admission }
            place.takesRoom = true
            return admission
        }
        if place.kind != .end {
            takeRoom()
            place.takesRoom = true
        }
        pending.append(.place(place))
        return .accepted
    }

    /// Takes the room of a task that is about to submit its job. Why it is refused, or nil.
    mutating func reserve(_ kind: OrderedPlace.Kind) -> OrderedQueueError? {
        if let error = refusal(of: kind) { return error }
        takeRoom()
        return nil
    }

    /// A job that can't be refused: its task was let in before, and has room.
    mutating func admit(_ job: UnownedJob) { pending.append(.job(job)) }

    /// The same for a job before which nothing is: it begins.
    mutating func beginReserved() { leaveRoom() }

    /// - Complexity: O(1) where the oldest entry is work; else O(entries) for the places before it.
    private mutating func dropOldest() -> Entry {
        if pending.withFirst({ $0.isDroppable }) == true { return pending.popFirst()! }
        let oldest = pending.firstResult { entry -> Entry? in
            guard entry.isDroppable else { return nil }
            let oldest = entry
            entry = .gone
            return oldest
        }
        gone += 1
        if gone > pending.count / 2 { removeGone() }
        return oldest ?? .gone
    }

    private mutating func removeGone() {
        pending.removeAll { entry in
            switch entry {
            case .gone: true
            case .place(let place): place.isGivenUp
            case .sender(let sender): sender.isGivenUp
            case .work, .job: false
            }
        }
        gone = 0
        givenUp = 0
    }

    // MARK: - Taking out

    /// Moves what is next into `ready`, which is empty: everything, or one entry where entries are counted until they
    /// begin. A sender that is let in by that and has to be woken is returned.
    mutating func refill(_ ready: inout Entries) -> OrderedPlace? {
        guard capacity != nil else {
            swap(&pending, &ready)
            return nil
        }
        while let entry = pending.popFirst() {
            if case .gone = entry {
                gone -= 1
                continue
            }
            let sender = leave(entry)
            // Its own chunk has room: it is empty. (What has given up is released outside of the lock, as user code may
            // be.)
            ready.append(entry)
            return sender ?? letNextSenderIn()
        }
        return nil
    }

    /// An entry's turn has come. A sender that is let in by that and has to be woken is returned.
    private mutating func leave(_ entry: Entry) -> OrderedPlace? {
        switch entry {
        case .work: leaveRoom(isDroppable: true)
        case .job: leaveRoom()
        case .place(let place): leaveRoom(of: place)
        case .sender(let sender):
            // Where tasks beyond the capacity have kept the room from it, its turn comes first.
            let claim = sender.claim(0)
            if claim == .lost && sender.isGranted { leaveRoom() }
            return claim == .mustResume ? sender : nil
        case .gone: break
        }
        return nil
    }

    /// A task has given up its place. A sender that gets its room and has to be woken is returned.
    ///
    /// - Complexity: O(1) on average: its entry stays, until half of all are such.
    mutating func giveUp(_ place: OrderedPlace) -> OrderedPlace? {
        leaveRoom(of: place)
        givenUp += 1
        if givenUp > 16, givenUp > pending.count / 2 {
            senders.removeAll { $0.isGivenUp }
            removeGone()
        }
        return letNextSenderIn()
    }

    private mutating func letNextSenderIn() -> OrderedPlace? {
        while !senders.isEmpty, !isFull, let sender = senders.popFirst() {
            switch sender.claim(0) {
            case .lost: continue
            case .won: takeRoom()
            case .mustResume:
                takeRoom()
                return sender
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
