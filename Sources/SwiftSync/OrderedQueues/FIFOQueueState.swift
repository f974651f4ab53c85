import CSyncKernel

/// Tracks the holder of a ``FIFOQueue``'s turn: none, its pump, or a task that holds a place. It is a pure value, whose
/// methods return the action to take.
///
/// The turn passes from one holder to the next in order, and with it `ready`, the entries that were taken out of the
/// intake. The holder of the turn does one thing at a time, to its end. So work begins and ends in order.
struct FIFOQueueState<Work>: OrderedQueueState, ~Copyable {
    typealias Intake = OrderedIntake<Work>

    static var toldKind: Int { Int(CSK_OBJECT_FIFO_QUEUE) }

    enum Refill {
        /// There are entries in `ready`. The place, if there is one, is a sender to be resumed.
        case filled(OrderedPlace?)
        /// There were no entries, and the turn is free again.
        case turnIsFree
    }

    var intake: Intake
    private(set) var isTurnTaken = false

    init(capacity: Int? = nil, overflow: OverflowPolicy = .refuse) {
        intake = Intake(capacity: capacity, overflow: overflow)
    }

    /// Submits a place. A task that gets the turn at once leaves no entry.
    mutating func submit(_ place: OrderedPlace) -> (OrderedSubmission, dropped: Intake.Entry?) {
        if isTurnTaken { return follow(intake.admit(place)) }
        if intake.isShut && place.kind.endsWithShutdown { return (.refused(.shutDown), nil) }
        isTurnTaken = true
        return (.begins, nil)
    }

    /// Reserves room for the job of an admitted task; the job then has to be submitted. Returns why the task is
    /// refused, or nil.
    mutating func reserve(_ kind: OrderedPlace.Kind) -> OrderedQueueError? { intake.reserve(kind) }

    /// Submits the job of a task that was admitted before. It is accepted even if the queue has filled meanwhile. A job
    /// that gets the turn at once leaves no entry.
    mutating func submit(_ job: UnownedJob) -> OrderedSubmission {
        if isTurnTaken {
            intake.admit(job)
            return .queued
        }
        intake.beginReserved()
        isTurnTaken = true
        return .begins
    }

    /// Takes the turn, if it is free, for a task that runs its own work.
    mutating func takeTurnIfFree() -> Bool {
        if isTurnTaken || intake.isShut { return false }
        isTurnTaken = true
        return true
    }

    /// The pump that is sent has the turn from the beginning.
    mutating func seeToEntry() -> OrderedSubmission {
        if isTurnTaken { return .queued }
        isTurnTaken = true
        return .sendsPump
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
}
