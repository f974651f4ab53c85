/// Tells who has the turn of a ``FIFOQueue``: nobody, its pump, or a task that holds a place. It is a pure value, whose
/// methods return the action to take.
///
/// The turn passes from one holder to the next in order, and with it `ready`, the entries that were taken out of the
/// intake. The holder of the turn does one thing at a time, to its end. So work begins and ends in order.
struct FIFOQueueState<Work>: OrderedQueueState, ~Copyable {
    typealias Intake = OrderedIntake<Work>

    enum Submission {
        /// The turn is taken, and its holder will come to the entry.
        case queued
        /// The turn was free. The submitter starts a pump; or it begins itself if it submitted a place; or it has the
        /// job run that it submitted.
        case takesTurn
        case refused(OrderedQueueError)
    }

    enum Refill {
        /// There are entries in `ready`. The place, if there is one, is a sender to be resumed.
        case filled(OrderedPlace?)
        /// There were no entries, and the turn is free again.
        case turnIsFree
    }

    private(set) var intake: Intake
    private(set) var isTurnTaken = false

    init(capacity: Int? = nil, overflow: OrderedQueueOverflow = .refuse) {
        intake = Intake(capacity: capacity, overflow: overflow)
    }

    mutating func submit(_ work: Work) -> (Submission, dropped: Intake.Entry?) { follow(intake.admit(work)) }
    mutating func submit(_ sender: Intake.Sender) -> (Submission, dropped: Intake.Entry?) { follow(intake.admit(sender)) }

    /// Submits a place. A task that gets the turn at once leaves no entry.
    mutating func submit(_ place: OrderedPlace) -> (Submission, dropped: Intake.Entry?) {
        if isTurnTaken { return follow(intake.admit(place)) }
        if intake.isShut && place.kind.endsWithShutdown { return (.refused(.shutDown), nil) }
        return (startIfFree(), nil)
    }

    private mutating func follow(_ admission: Intake.Admission) -> (Submission, dropped: Intake.Entry?) {
        switch admission {
        case .accepted: (startIfFree(), nil)
        case .replaced(let entry): (startIfFree(), entry)
        case .refused(let error): (.refused(error), nil)
        }
    }

    /// Reserves room for the job of a task that is let in; the job then has to be submitted. Returns why the task is
    /// refused, or nil.
    mutating func reserve(_ kind: OrderedPlace.Kind) -> OrderedQueueError? { intake.reserve(kind) }

    /// Submits the job of a task that was let in before. It is accepted whatever has come meanwhile. A job that gets
    /// the turn at once leaves no entry.
    mutating func submit(_ job: UnownedJob) -> Submission {
        if isTurnTaken { intake.admit(job) } else { intake.beginReserved() }
        return startIfFree()
    }

    /// Takes the turn, if it is free, for a task that runs its own work.
    mutating func takeTurnIfFree() -> Bool {
        if isTurnTaken || intake.isShut { return false }
        isTurnTaken = true
        return true
    }

    private mutating func startIfFree() -> Submission {
        if isTurnTaken { return .queued }
        isTurnTaken = true
        return .takesTurn
    }

    /// The holder of the turn calls this when it finds `ready` empty.
    mutating func refill(_ ready: inout Intake.Entries) -> Refill {
        let sender = intake.refill(&ready)
        if ready.isEmpty {
            isTurnTaken = false
            return .turnIsFree
        }
        return .filled(sender)
    }

    /// A task has given up its place. Returns the sender that gets the room and has to be resumed, if there is one.
    mutating func giveUp(_ place: OrderedPlace) -> OrderedPlace? { intake.giveUp(place) }

    // MARK: - Memory, and the end

    var isIntakeEmpty: Bool { intake.isEmpty }
    var needsChunk: Bool { intake.needsChunk }
    var needsSenderChunk: Bool { intake.needsSenderChunk }
    mutating func supply(_ chunk: Intake.Entries.Chunk) { intake.supply(chunk) }
    mutating func supply(_ chunk: Intake.Senders.Chunk) { intake.supply(chunk) }
    mutating func shut() -> Intake.Senders { intake.shut() }
}
