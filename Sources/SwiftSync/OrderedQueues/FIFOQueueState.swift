/// Who has the turn of a ``FIFOQueue``: nobody, its pump, or a task that holds a place. A pure value, which returns
/// what is to be done.
///
/// The turn goes from one to the next in order, and with it `ready`, the entries that were taken out of the intake.
/// Whoever has it does one thing at a time, to its end: that is the order of begin and end.
struct FIFOQueueState<Work>: OrderedQueueState, ~Copyable {
    typealias Intake = OrderedIntake<Work>

    enum Submission {
        /// Somebody has the turn, and will come to it.
        case queued
        /// The turn was free: the submitter starts a pump, or begins itself if it submitted a place, or runs its job.
        case takesTurn
        case refused(OrderedQueueError)
    }

    enum Refill {
        /// There is something in `ready`; the place, if any, is a sender to be resumed.
        case filled(OrderedPlace?)
        /// Nothing was there, and the turn is free again.
        case turnIsFree
    }

    private(set) var intake: Intake
    private(set) var isTurnTaken = false

    init(capacity: Int? = nil, overflow: OrderedQueueOverflow = .refuse) {
        intake = Intake(capacity: capacity, overflow: overflow)
    }

    mutating func submit(_ work: Work) -> (Submission, dropped: Intake.Entry?) { follow(intake.admit(work)) }
    mutating func submit(_ sender: Intake.Sender) -> (Submission, dropped: Intake.Entry?) { follow(intake.admit(sender)) }

    /// A task that gets the turn at once leaves no entry.
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

    /// Room for the job of a task that is let in, which then has to be submitted. Why it is refused, or nil.
    mutating func reserve(_ kind: OrderedPlace.Kind) -> OrderedQueueError? { intake.reserve(kind) }

    /// The job of a task that was let in before, whatever has come meanwhile. One that gets the turn at once leaves no
    /// entry.
    mutating func submit(_ job: UnownedJob) -> Submission {
        if isTurnTaken { intake.admit(job) } else { intake.beginReserved() }
        return startIfFree()
    }

    /// For a task that runs its own work.
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

    /// For who has the turn and finds `ready` empty.
    mutating func refill(_ ready: inout Intake.Entries) -> Refill {
        let sender = intake.refill(&ready)
        if ready.isEmpty {
            isTurnTaken = false
            return .turnIsFree
        }
        return .filled(sender)
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
