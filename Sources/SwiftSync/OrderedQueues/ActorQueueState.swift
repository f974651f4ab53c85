import CSyncKernel

/// Decides which pump or task serves the entries of an ``ActorQueue`` next. It is a pure value, whose methods return
/// the action to take.
///
/// Pumps are tasks that run on the actor. A pump takes an entry and begins it with no suspension in between, so entries
/// begin in order, however many pumps there are. A pump may be suspended in its work for long. So before a pump begins
/// work and leaves entries behind, it sends another pump, which waits for the actor behind it. If the work does not
/// suspend, the first pump goes on with the next entry, and the second finds little or nothing to do. So a burst costs
/// two tasks, not one for each entry.
///
/// **No entry is forgotten, and none overtakes another**: while entries are left in the intake or in `ready`, either a
/// pump is coming or a place is out. Four operations each restore this invariant, in one step under one lock:
/// submitting, arriving, taking, and the return of a place. A pump that goes on after its work need not check it. So a
/// place that finds no pump coming and no place out is first in order.
struct ActorQueueState<Work>: OrderedQueueState, ~Copyable {
    typealias Intake = OrderedIntake<Work>

    static var toldKind: Int { Int(CSK_OBJECT_ACTOR_QUEUE) }

    enum Take {
        /// The first of `ready` is work to begin. If `sendsPump` is true, the caller sends a pump before. The place, if
        /// there is one, is a sender to be resumed.
        case work(sendsPump: Bool, OrderedPlace?)
        /// The first of `ready` is a place. It is out from now on, and the caller has to grant it. The place here, if
        /// there is one, is a sender to be resumed.
        case place(OrderedPlace?)
        /// There is no entry. While another pump is coming, the pump should recheck before it leaves.
        case nothing(pumpIsComing: Bool)
        /// A task has been granted its place and has not begun. That task will handle the entries that follow.
        case placeIsOut
    }

    var intake: Intake
    /// True while a pump was sent and has not arrived.
    private(set) var isPumpComing = false
    /// True while a place is out: it was granted, and its task has not begun on the actor. Nothing else begins
    /// meanwhile.
    private(set) var isPlaceOut = false

    init(capacity: Int? = nil, overflow: OverflowPolicy = .refuse) {
        intake = Intake(capacity: capacity, overflow: overflow)
    }

    /// Submits a place. A place with nothing before it is granted at once and leaves no entry.
    mutating func submit(_ place: OrderedPlace) -> (OrderedSubmission, dropped: Intake.Entry?) {
        guard intake.isEmpty && !isPumpComing && !isPlaceOut else { return follow(intake.admit(place)) }
        if intake.isShut && place.kind.endsWithShutdown { return (.refused(.shutDown), nil) }
        isPlaceOut = true
        return (.begins, nil)
    }

    mutating func seeToEntry() -> OrderedSubmission {
        if isPumpComing || isPlaceOut { return .queued }
        isPumpComing = true
        return .sendsPump
    }

    /// The pump that was sent calls this, on the actor. It arrives and takes in one step. Between two separate steps no
    /// pump would be coming although there may be entries in `ready`, and a place that was submitted then would begin
    /// before them.
    mutating func arrive(_ ready: inout Intake.Entries) -> Take {
        isPumpComing = false
        return take(&ready)
    }

    /// A pump on the actor calls this when it is about to begin something.
    mutating func take(_ ready: inout Intake.Entries) -> Take {
        isPlaceOut ? .placeIsOut : next(&ready, isBegun: true)
    }

    /// The task whose place was out calls this, on the actor; so does the caller that found that the task had given up.
    /// The caller does not begin the entries that follow: it leaves them to the pump that it sends, or to the next
    /// place's task.
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
}
