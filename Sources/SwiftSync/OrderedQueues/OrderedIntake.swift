import CSyncKernel

/// The entries of an ordered queue that have not begun, in order, and the rules by which the queue lets entries in. It
/// is a pure value, whose methods return the action to take.
///
/// Two kinds of entries are in one order: work that no call waits for, which a pump runs, and the places and jobs of
/// tasks that run their own work. Where there is a capacity, all of them take room until they begin. An entry that
/// can't be refused may exceed the capacity.
///
/// A sender is work whose task waits for room. Its entry has its place in the order from the beginning. It is accepted
/// when room comes or when its turn comes, whichever is first.
struct OrderedIntake<Work>: ~Copyable {
    /// Work whose task waits for room, together with the object that the task waits on.
    final class Sender: OrderedPlace, @unchecked Sendable {
        /// Once the room is granted, the caller that begins the work owns it. Once the task has given up, the task owns
        /// it.
        private(set) var work: Work?

        init(_ work: Work) {
            self.work = work
            super.init(.refusable)
        }

        func takeWork() -> Work? { work.take() }

        override var purpose: Int { Int(CSK_WAITS_FOR_ROOM) }
    }

    enum Entry {
        case work(Work)
        case place(OrderedPlace)
        /// The job of a task that begins its work when the job is run.
        case job(UnownedJob)
        case sender(Sender)
        /// An entry that was dropped from among others.
        case gone

        var isPlace: Bool { if case .place = self { true } else { false } }
        /// True for work that no call waits for.
        var isDroppable: Bool {
            switch self {
            case .work: true
            case .place(let place): place.kind == .work
            case .job, .sender, .gone: false
            }
        }

        /// Notifies the task whose entry was dropped, if there is one.
        func drop() {
            if case .place(let place) = self { place.resolve(ECANCELED) }
        }
    }

    enum Admission {
        case accepted
        /// The entry was accepted in place of older work, which the caller has to release outside of the lock.
        case replaced(Entry)
        case refused(OrderedQueueError)
    }

    typealias Entries = OrderedChunks<Entry>
    typealias Senders = OrderedChunks<Sender>

    let capacity: Int?
    private let overflow: OverflowPolicy
    private var pending = Entries()
    private var senders = Senders()
    /// The number of entries that take room: they were accepted and have not begun. It is maintained only where there
    /// is a capacity.
    private(set) var unbegun = 0
    /// The number of those that may be dropped.
    private var droppable = 0
    /// The number of entries that were dropped from among others and are still in the list.
    private var gone = 0
    /// The number of waits that were given up since the list was last cleared of them.
    private var givenUp = 0
    private(set) var isShut = false

    init(capacity: Int?, overflow: OverflowPolicy) {
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

    /// True if there is no room for an entry that takes room. Where the queue drops its oldest work, only entries that
    /// can be dropped fill it.
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

    /// Returns why a place of `kind` is refused; nil if it is admitted.
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

    /// Admits a sender. It is accepted at once, or it waits. The result is `.refused` where the queue does not make
    /// senders wait for room.
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

    /// Admits the place of a task, in a queue where something is before it.
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

    /// Takes room for a task that is about to submit its job. Returns why the task is refused, or nil.
    mutating func reserve(_ kind: OrderedPlace.Kind) -> OrderedQueueError? {
        if let error = refusal(of: kind) { return error }
        takeRoom()
        return nil
    }

    /// Admits a job. It can't be refused: its task was admitted before, and has room.
    mutating func admit(_ job: UnownedJob) { pending.append(.job(job)) }

    /// Admits a job with nothing before it: the job begins.
    mutating func beginReserved() { leaveRoom() }

    /// - Complexity: O(1) if the first entry may be dropped; otherwise O(entries), for the entries before the oldest
    ///   that may.
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

    /// Moves the next entries into `ready`, which is empty: all entries, or a single one where entries are counted
    /// until they begin. Returns the sender that this admits and that has to be woken, if there is one.
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
            // The chunk of `ready` has room, since `ready` is empty. (An entry that has given up is released outside of
            // the lock, since its release may run users' code.)
            ready.append(entry)
            return sender ?? letNextSenderIn()
        }
        return nil
    }

    /// An entry's turn has come. Returns the sender that this admits and that has to be woken, if there is one.
    private mutating func leave(_ entry: Entry) -> OrderedPlace? {
        switch entry {
        case .work: leaveRoom(isDroppable: true)
        case .job: leaveRoom()
        case .place(let place): leaveRoom(of: place)
        case .sender(let sender):
            // If tasks beyond the capacity have kept the room from the sender, its turn comes before its room.
            let claim = sender.claim(0)
            if claim == .lost && sender.isGranted { leaveRoom() }
            return claim == .mustResume ? sender : nil
        case .gone: break
        }
        return nil
    }

    /// A task has given up its place. Returns the sender that gets the room and has to be woken, if there is one.
    ///
    /// - Complexity: O(1) on average. The entry stays until half of all entries are such.
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

    /// Refuses all later entries. Accepted entries stay. Returns the senders that wait for room, which the caller must
    /// notify.
    mutating func shut() -> Senders {
        isShut = true
        var refused = Senders()
        swap(&refused, &senders)
        return refused
    }
}
