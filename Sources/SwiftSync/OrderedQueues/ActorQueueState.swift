/// Who comes next for the entries of an ``ActorQueue``: a pure value, which returns what is to be done.
///
/// Pumps run on the actor. A pump takes an entry and begins it with no suspension in between, so entries begin in
/// order, however many pumps there are. A pump that is in the middle of work may be suspended there for long; so before
/// it begins work and leaves entries behind, another pump is sent, which waits for the actor behind it. If the work
/// does not suspend, the first goes on with the next entry, and the second finds little or nothing to do: a burst costs
/// two tasks, not one for each entry.
///
/// **Nobody is forgotten, and nobody passes**: where entries are left in the intake or in `ready`, either a pump is
/// coming or a place is out. Submitting, arriving, taking and a place's coming back each restore that in one step,
/// under one lock; a pump that goes on after its work needs no look at it. So a place that finds neither knows that
/// nothing is before it.
struct ActorQueueState<Work>: OrderedQueueState, ~Copyable {
    typealias Intake = OrderedIntake<Work>

    enum Submission {
        /// Somebody will come to it.
        case queued
        /// The submitter sends a pump.
        case sendsPump
        /// The submitted place was granted.
        case begins
        case refused(OrderedQueueError)
    }

    enum Take {
        /// The first of `ready` is work to be begun, once a pump was sent if so; the place, if any, is a sender to be
        /// resumed.
        case work(sendsPump: Bool, OrderedPlace?)
        /// The first of `ready` is a place, which is out from now on, and is to be claimed; the same for a sender.
        case place(OrderedPlace?)
        /// Nothing is there; while another pump is coming it pays to look again before leaving.
        case nothing(pumpIsComing: Bool)
        /// A task has been granted its place and has not begun: it will see to what follows.
        case placeIsOut
    }

    private(set) var intake: Intake
    /// A pump was sent and has not arrived.
    private(set) var isPumpComing = false
    /// A place was granted whose task has not begun on the actor. Nothing else begins meanwhile.
    private(set) var isPlaceOut = false

    init(capacity: Int? = nil, overflow: OrderedQueueOverflow = .refuse) {
        intake = Intake(capacity: capacity, overflow: overflow)
    }

    mutating func submit(_ work: Work) -> (Submission, dropped: Intake.Entry?) { follow(intake.admit(work)) }
    mutating func submit(_ sender: Intake.Sender) -> (Submission, dropped: Intake.Entry?) { follow(intake.admit(sender)) }

    private mutating func follow(_ admission: Intake.Admission) -> (Submission, dropped: Intake.Entry?) {
        switch admission {
        case .accepted: (sendPumpIfNobodyComes(), nil)
        case .replaced(let entry): (sendPumpIfNobodyComes(), entry)
        case .refused(let error): (.refused(error), nil)
        }
    }

    /// A place that nothing stands before is granted and leaves no entry.
    mutating func submit(_ place: OrderedPlace) -> (Submission, dropped: Intake.Entry?) {
        guard intake.isEmpty && !isPumpComing && !isPlaceOut else { return follow(intake.admit(place)) }
        if intake.isShut && place.kind.endsWithShutdown { return (.refused(.shutDown), nil) }
        isPlaceOut = true
        return (.begins, nil)
    }

    private mutating func sendPumpIfNobodyComes() -> Submission {
        if isPumpComing || isPlaceOut { return .queued }
        isPumpComing = true
        return .sendsPump
    }

    /// For the pump that was sent, on the actor. It arrives and takes in one step: in between, nobody would come,
    /// though there may be entries in `ready`, and a place that was submitted then would begin before them.
    mutating func arrive(_ ready: inout Intake.Entries) -> Take {
        isPumpComing = false
        return take(&ready)
    }

    /// For a pump on the actor that is about to begin something.
    mutating func take(_ ready: inout Intake.Entries) -> Take {
        isPlaceOut ? .placeIsOut : next(&ready, isBegun: true)
    }

    /// For the task whose place was out, on the actor, or for who found that it had given up: what follows is not begun
    /// by the caller, but left to the pump that it sends, or to the next place's task.
    mutating func placeIsBack(_ ready: inout Intake.Entries) -> Take {
        isPlaceOut = false
        return next(&ready, isBegun: false)
    }

    private mutating func next(_ ready: inout Intake.Entries, isBegun: Bool) -> Take {
        let sender = ready.isEmpty ? intake.refill(&ready) : nil
        guard let isPlace = ready.withFirst({ $0.isPlace }) else {
            return .nothing(pumpIsComing: isPumpComing)
        }
        if isPlace {
            isPlaceOut = true
            return .place(sender)
        }
        return .work(sendsPump: sendPump(if: !isBegun || ready.count > 1 || !intake.isEmpty), sender)
    }

    private mutating func sendPump(if isLeft: Bool) -> Bool {
        guard isLeft, !isPumpComing else { return false }
        isPumpComing = true
        return true
    }

    /// A task has given up its place. A sender that gets its room and has to be resumed is returned.
    mutating func giveUp(_ place: OrderedPlace) -> OrderedPlace? { intake.giveUp(place) }

    // MARK: - Memory, and the end

    var isIntakeEmpty: Bool { intake.isEmpty }
    var needsChunk: Bool { intake.needsChunk }
    var needsSenderChunk: Bool { intake.needsSenderChunk }
    mutating func supply(_ chunk: Intake.Entries.Chunk) { intake.supply(chunk) }
    mutating func supply(_ chunk: Intake.Senders.Chunk) { intake.supply(chunk) }
    mutating func shut() -> Intake.Senders { intake.shut() }
}
