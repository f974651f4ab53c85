import CSyncKernel
import Synchronization

/// Work of an ``ActorQueue`` that no call waits for. (A closure by itself would be wrapped in another wherever it is
/// stored as a generic element, and each time that it is taken out.)
struct ActorWork: Sendable {
    let body: @Sendable (isolated any Actor) async -> Void
}

/// The storage of an ``ActorQueue``, with ``ActorQueueState`` as its state.
///
/// The class is not generic, since generic code is slow for users in other modules. It refers to its actor weakly,
/// since the actor usually owns the queue. Each pump and each task with a place holds the actor strongly, and while
/// there is accepted work there is such a pump or task.
final class ActorQueueStorage:
    OrderedQueueStorage<ActorQueueState<ActorWork>>, @unchecked Sendable
{
    typealias State = ActorQueueState<Work>

    /// The lock protects this field and the next.
    private weak var actor: (any Actor)?
    private var isAdopted = false

    /// The priority of the tasks that run the work that no call waits for.
    private let least: TaskPriority

    // The next four fields are used on the actor only.
    @safe @exclusivity(unchecked) private var ready = State.Intake.Entries(spareLimit: 2)
    /// True while a place that was granted from `ready` is out. (A place that was granted when it was submitted is not
    /// recorded here, but then `ready` is empty.)
    @safe @exclusivity(unchecked) private var isPlaceOut = false
    @safe @exclusivity(unchecked) private var stretches = OrderedStretches()
    @safe @exclusivity(unchecked) private var priorities: OrderedPriorities

    init(
        _ place: csk_place_t, priority: TaskPriority? = nil, capacity: Int? = nil, overflow: OverflowPolicy = .refuse,
        recorder: EventRecorder? = nil
    ) {
        // A detached task has this priority where none is named.
        least = priority ?? .medium
        priorities = OrderedPriorities(least: least)
        unsafe super.init(
            State(capacity: capacity, overflow: overflow), of: "ActorQueue", place, priority: priority, recorder)
        ready.supply(State.Intake.Entries.Chunk())
    }

    // MARK: - The actor

    func adopt(_ new: any Actor) {
        let isOther = withState { (_: inout State) -> Bool in
            if isAdopted { return actor !== new }
            isAdopted = true
            actor = new
            return false
        }
        if isOther { fatalError("\(subject): it has adopted the execution context of another actor before") }
    }

    func actorOrStop() -> any Actor {
        if let actor = actorIfThere() { return actor }
        fatalError("\(subject): work was submitted after the end of its actor")
    }

    func actorOrThrow() throws(OrderedQueueError) -> any Actor {
        if let actor = actorIfThere() { return actor }
        throw .shutDown
    }

    /// Returns the actor; nil after its end, and already in its `deinit`. Before the adoption it stops the program.
    private func actorIfThere() -> (any Actor)? {
        let (actor, isAdopted) = adopted
        if isAdopted { return actor }
        fatalError("\(subject): work was submitted before adoptExecutionContext(of:)")
    }

    private var adopted: (actor: (any Actor)?, isAdopted: Bool) {
        withState { (_: inout State) in (actor, isAdopted) }
    }

    override var endText: String {
        let (actor, isAdopted) = adopted
        return isAdopted && actor == nil ? "the queue's actor has ended" : super.endText
    }

    // MARK: - Submitting

    override func recorded(_ work: Work, as piece: RecordedPiece) -> Work {
        Work { actor in
            piece.begin()
            await work.body(actor)
            piece.end()
        }
    }

    override func inTurn(
        _ work: Work, _ piece: RecordedPiece?
    ) throws(OrderedQueueError) -> @Sendable () async -> Void {
        let actor = try actorOrThrow()
        return { await self.runInPlace(on: actor, piece, work.body) }
    }

    func letIn(_ kind: OrderedPlace.Kind) throws(OrderedQueueError) -> OrderedPlace {
        let place = OrderedPlace(kind)
        try submit(place)
        return place
    }

    /// Waits for the turn of the calling task. Its work must begin on the actor then.
    func takeTurn(_ kind: OrderedPlace.Kind, until deadline: Int64) async throws(OrderedQueueError) {
        if Task.isCancelledByOthers { throw .cancelled }
        try await waitForGrant(of: letIn(kind), until: deadline)
    }

    /// Submits a place that can't be refused.
    func takeOwnPlace() -> OrderedPlace {
        OrderedQueueError.never { () throws(OrderedQueueError) in try letIn(.own) }
    }

    // MARK: - On the actor

    override func sendPump() throws(OrderedQueueError) {
        guard let actor = actorIfThere() else {
            releaseAccepted()
            throw .shutDown
        }
        sendPump(to: actor)
    }

    /// The actor has ended, so no pump runs the accepted work: that of the call that was to send the pump, and what
    /// other threads have queued behind it meanwhile. Work that was accepted earlier has retained the actor, and so has
    /// each waiting caller; so there are no places. The work is released outside of the lock, and not in `ready`, which
    /// is the actor's.
    private func releaseAccepted() {
        var released = State.Intake.Entries(spareLimit: 1), isLeft = true
        while isLeft {
            released.supply(State.Intake.Entries.Chunk())
            guard case .work(let more, let sender) = withState({ $0.arrive(&released) }) else { return }
            sender?.resume()
            while let entry = released.popFirst() { if case .sender(let sender) = entry { _ = sender.takeWork() } }
            isLeft = more
        }
    }

    private func sendPump(to actor: any Actor) {
        Task.detached(priority: least) { await self.pump(on: actor) }
    }

    private func pump(on actor: isolated any Actor) async {
        await OrderedActivation.run(for: self) {
            var untilLeaving = Self.workBeforeLeaving, hasArrived = true
            while untilLeaving > 0 || !withState({ $0.isPumpComing }), let work = nextWork(on: actor, hasArrived) {
                hasArrived = false
                // From here to the work's first suspension, nothing else runs on the actor.
                let stretch = begin(at: least, on: actor)
                await work.body(actor)
                end(stretch, on: actor)
                untilLeaving -= 1
            }
        }
    }

    /// After this many pieces of work a pump leaves the actor to others, so that endless short work does not monopolize
    /// it. The pump leaves only if another pump is coming, which then continues.
    private static var workBeforeLeaving: Int { 256 }

    /// Returns the next work in order; nil if there is none, or if another task handles it. A pump that goes on after
    /// its work knows that the entries in `ready` are not forgotten. A pump that has just arrived must check, since it
    /// was the pump that would have come for them.
    private func nextWork(on actor: isolated any Actor, _ hasArrived: Bool) -> Work? {
        var mustArrive = hasArrived
        while true {
            if mustArrive || ready.isEmpty || isPlaceOut || isPlaceFirst {
                guard take(on: actor, arrives: mustArrive) else { return nil }
                mustArrive = false
            }
            switch popFirst(of: &ready) {
            case .work(let work): return work
            case .sender(let sender): if sender.isGranted { return sender.takeWork() }
            case .place, .job, .gone: break
            }
        }
    }

    private var isPlaceFirst: Bool {
        ready.withFirst { $0.isPlace } ?? false
    }

    /// Returns true if the first of `ready` is work that the caller has to begin.
    private func take(on actor: isolated any Actor, arrives: Bool) -> Bool {
        var mayLookAgain = true, isArriving = arrives
        if arrives { testStep("ActorQueue: pump takes", self) }
        while true {
            let take = withState { isArriving ? $0.arrive(&ready) : $0.take(&ready) }
            isArriving = false
            readyCount.store(ready.count, ordering: .relaxed)
            switch take {
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
                waitBrieflyForMore()
            case .placeIsOut:
                return false
            }
        }
    }

    /// Handles the entries that follow, after the place that was out has come back.
    private func seeToWhatFollows(on actor: isolated any Actor) {
        while true {
            isPlaceOut = false
            let take = withState { $0.placeIsBack(&ready) }
            readyCount.store(ready.count, ordering: .relaxed)
            switch take {
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

    /// Grants the first place of `ready`. Returns false if its task had given it up.
    private func sendFirstPlaceOut() -> Bool {
        guard case .place(let place) = popFirst(of: &ready) else { return false }
        isPlaceOut = true
        return place.grant()
    }

    /// Runs `body` in the calling task, whose place was granted, or in a part of it that has another priority.
    func runInPlace(
        on actor: isolated any Actor, _ piece: RecordedPiece?, _ body: @Sendable (isolated any Actor) async -> Void
    ) async {
        let own = Task.currentPriority, priority = priorities.next(own)
        if priority == own { return await runInPlace(at: own, on: actor, piece, body) }
        // The place stays out until the part has begun, so nothing else begins meanwhile.
        await PartOfTask.run(at: priority, on: actor) { await runInPlace(at: priority, on: actor, piece, body) }
    }

    @inline(__always)
    private func runInPlace(
        at priority: TaskPriority, on actor: isolated any Actor, _ piece: RecordedPiece?,
        _ body: @Sendable (isolated any Actor) async -> Void
    ) async {
        await OrderedActivation.run(for: self) {
            piece?.begin()
            // From here to the first suspension of `body`, nothing else runs on the actor. So the entries that follow
            // begin later, though a pump or task may already be on its way to them.
            seeToWhatFollows(on: actor)
            let stretch = begin(at: priority, on: actor)
            await body(actor)
            end(stretch, on: actor)
            piece?.end()
        }
    }

    private func begin(at priority: TaskPriority, on actor: isolated any Actor) -> Int {
        priorities.begin(at: priority)
        return stretches.begin()
    }

    private func end(_ stretch: Int, on actor: isolated any Actor) {
        priorities.end()
        stretches.end(stretch).forEach { _ = $0.grant() }
    }

    // MARK: - The end

    override func drain(until deadline: Int64) async throws(OrderedQueueError) {
        if OrderedActivation.isInside(self) { throw .wouldDeadlock }
        // Accepted work retains the actor. So without an actor there is no such work.
        guard let actor = actorIfThere() else { return }
        try await takeTurn(.end, until: deadline)
        if let error = await waitForEnd(on: actor)?.waitForGrant(until: deadline, at: self) { throw error }
    }

    /// A task whose place was granted calls this. Returns a place that is granted once everything that began before has
    /// ended; nil if it has ended already.
    private func waitForEnd(on actor: isolated any Actor) -> OrderedPlace? {
        seeToWhatFollows(on: actor)
        return stretches.waitForEnd()
    }
}
