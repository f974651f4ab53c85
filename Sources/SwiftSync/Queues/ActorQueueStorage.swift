/// Takes the lock, asks ``ActorQueueState``, drops the lock, then acts. It lives as long as its queue, or work that was accepted.
///
/// It is not generic, since what is generic is slow for users in other modules. It knows its actor by a weak reference, since the
/// actor usually owns the queue. Each pump and each task with a place holds the actor strongly, and where there is accepted work there
/// is one of these.
final class ActorQueueStorage: @unchecked Sendable {
    typealias Work = @Sendable (isolated any Actor) async -> Void
    typealias State = ActorQueueState<Work>
    typealias Entry = State.Intake.Entry

    let name: String?
    private let slot: RecorderSlot
    private let priority: TaskPriority?
    private let box: OrderedQueueBox<State>

    /// Under the lock.
    private weak var actor: (any Actor)?
    private var isAdopted = false

    // Only touched on the actor.
    private var ready = State.Intake.Entries(spareLimit: 2)
    /// A pump has sent a place out. (A place that was granted when it was submitted is not seen here, but then `ready` is empty.)
    private var isPlaceOut = false
    private var stretches = OrderedStretches()

    init(name: String?, priority: TaskPriority?, capacity: Int?, overflow: OrderedQueueOverflow, recorder: EventRecorder? = nil) {
        guard capacity ?? 1 > 0 else { fatalError("ActorQueue: the capacity must be positive, or nil for no bound") }
        self.name = name
        slot = RecorderSlot(recorder)
        self.priority = priority
        box = OrderedQueueBox(State(capacity: capacity, overflow: overflow))
        ready.supply(State.Intake.Entries.Chunk())
    }

    var subject: String { name.map { "ActorQueue \($0)" } ?? "ActorQueue" }

    // MARK: - The actor

    func adopt(_ new: any Actor) {
        let isOther = box.withState { (_: inout State) -> Bool in
            if isAdopted { return actor !== new }
            isAdopted = true
            actor = new
            return false
        }
        if isOther { fatalError("\(subject): it has adopted the execution context of another actor before") }
    }

    func actorOrStop() -> any Actor {
        let (actor, isAdopted) = box.withState { (_: inout State) -> ((any Actor)?, Bool) in (self.actor, self.isAdopted) }
        if let actor { return actor }
        if isAdopted { fatalError("\(subject): work was submitted after the end of its actor") }
        fatalError("\(subject): work was submitted before adoptExecutionContext(of:)")
    }

    // MARK: - The recorder

    var recorder: EventRecorder? {
        get { slot.recorder }
        set { slot.recorder = newValue }
    }

    /// Nil where nothing is recorded.
    func recordedPiece() -> RecordedPiece? { .make(recorder, subject) }

    private func recorded(_ work: @escaping Work) -> Work {
        guard let piece = recordedPiece() else { return work }
        return { actor in 
            piece.begin()
            await work(actor)
            piece.end()
        }
    }

    func sender(_ work: @escaping Work) -> State.Intake.Sender { State.Intake.Sender(recorded(work)) }

    // MARK: - Submitting

    /// Accepts work; nil, or why it was refused.
    func submit(_ work: @escaping Work) -> OrderedQueueError? {
        let work = recorded(work)
        return finish(box.whenSupplied { $0.submit(work) })
    }

    func submit(_ sender: State.Intake.Sender) -> OrderedQueueError? {
        finish(box.whenSupplied(forSender: true) { $0.submit(sender) })
    }

    private func finish(_ outcome: (State.Submission, dropped: Entry?)) -> OrderedQueueError? {
        switch outcome.0 {
        case .queued, .begins: return nil
        case .sendsPump: sendPump(to: actorOrStop())
        case .refused(let error): return error
        }
        return nil
    }

    /// A place for a task; its work must begin on the actor once it is granted. Throws if it is refused.
    func takePlace(evenIfShut: Bool = false) throws(OrderedQueueError) -> OrderedPlace {
        let place = OrderedPlace()
        switch box.whenSupplied({ $0.submit(place, evenIfShut: evenIfShut) }) {
        case .queued: break
        case .sendsPump: sendPump(to: actorOrStop())
        case .begins: _ = place.claim()
        case .refused(let error): throw error
        }
        return place
    }

    func takePlaceOrStop(_ call: String) -> OrderedPlace {
        do { return try takePlace() } catch { OrderedRefusal.stop(error, subject, call) }
    }

    // MARK: - On the actor

    private func sendPump(to actor: any Actor) {
        Task.detached(priority: priority) { await self.pump(on: actor) }
    }

    private func pump(on actor: isolated any Actor) async {
        box.withState { $0.arrive() }
        await OrderedActivation.run(for: self) {
            var untilLeaving = Self.workBeforeLeaving, hasArrived = true
            while untilLeaving > 0 || !box.withState({ $0.isPumpComing }), let work = nextWork(on: actor, hasArrived) {
                hasArrived = false
                // From here to the work's first suspension the actor is not left.
                let stretch = stretches.begin()
                await work(actor)
                stretches.end(stretch).forEach { _ = $0.grant() }
                untilLeaving -= 1
            }
        }
    }

    /// So that short work without end leaves the actor to others: if another pump stands behind them, it goes on.
    private static var workBeforeLeaving: Int { 256 }

    /// The next work in order; nil if there is none, or somebody else sees to it. A pump that goes on after its work knows that what
    /// is `ready` is not forgotten; one that has just arrived, and was the one who would have come for it, does not.
    private func nextWork(on actor: isolated any Actor, _ hasArrived: Bool) -> Work? {
        var mustAsk = hasArrived
        while true {
            if mustAsk || ready.isEmpty || isPlaceOut || isPlaceFirst {
                guard take(on: actor) else { return nil }
                mustAsk = false
            }
            switch ready.popFirst()! {
            case .work(let work): return work
            case .sender(let sender): if sender.room.isGranted { return sender.work }
            case .place, .job, .gone: break
            }
        }
    }

    private var isPlaceFirst: Bool {
        ready.withFirst { $0.isPlace } ?? false
    }

    /// True if the first of `ready` is work that the caller begins.
    private func take(on actor: isolated any Actor) -> Bool {
        var mayLookAgain = true
        while true {
            switch box.withState({ $0.take(&ready) }) {
            case .work(let sendsPump, let sender):
                sender?.resume()
                if sendsPump { sendPump(to: actor) }
                return true
            case .place(let sender):
                sender?.resume()
                if !sendFirstPlaceOut() { seeToWhatFollows(on: actor) }
                return false
            case .nothing(let pumpIsComing):
                guard pumpIsComing && mayLookAgain else { return false }
                mayLookAgain = false
                box.waitBrieflyForMore()
            case .placeIsOut:
                return false
            }
        }
    }

    /// After the place that was out has come back.
    private func seeToWhatFollows(on actor: isolated any Actor) {
        while true {
            isPlaceOut = false
            switch box.withState({ $0.placeIsBack(&ready) }) {
            case .work(let sendsPump, let sender):
                sender?.resume()
                return sendsPump ? sendPump(to: actor) : ()
            case .place(let sender):
                sender?.resume()
                if sendFirstPlaceOut() { return }
            case .nothing, .placeIsOut:
                return
            }
        }
    }

    /// False if its task had given it up.
    private func sendFirstPlaceOut() -> Bool {
        guard case .place(let place)? = ready.popFirst() else { return false }
        isPlaceOut = true
        return place.grant()
    }

    /// Runs `body` in the calling task, whose place was granted.
    func runInPlace(
        on actor: isolated any Actor, _ piece: RecordedPiece?, _ body: @Sendable (isolated any Actor) async throws -> Void
    ) async rethrows {
        try await OrderedActivation.run(for: self) {
            piece?.begin()
            defer { piece?.end() }
            // From here to the first suspension of `body` the actor is not left, so what follows, which may be on its way now, begins
            // later.
            seeToWhatFollows(on: actor)
            let stretch = stretches.begin()
            defer { stretches.end(stretch).forEach { _ = $0.grant() } }
            try await body(actor)
        }
    }

    // MARK: - The end

    /// For a task whose place was granted: a place that is granted once everything that began before has ended, or nil.
    func waitForEnd(on actor: isolated any Actor) -> OrderedPlace? {
        seeToWhatFollows(on: actor)
        return stretches.waitForEnd()
    }

    func shutDown() { box.shutDown() }

    /// Entries that nobody has come for, at some instant during the call; for tests.
    var pendingCount: Int { box.withState { $0.intake.count } }
}
