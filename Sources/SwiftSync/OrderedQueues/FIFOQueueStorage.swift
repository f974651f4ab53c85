import CSyncKernel
import Synchronization

/// The storage of a ``FIFOQueue``: it takes the lock, asks ``FIFOQueueState``, drops the lock, and then acts. It lives
/// as long as its queue or any accepted work.
final class FIFOQueueStorage: @unchecked Sendable {
    typealias Work = @Sendable () async -> Void
    typealias State = FIFOQueueState<Work>
    typealias Entry = State.Intake.Entry

    let name: String?
    private let slot: RecorderSlot
    private let priority: TaskPriority?
    let capacity: Int?
    private let box: OrderedQueueBox<State>
    /// Owned by the pump or task that holds the turn.
    private var ready = State.Intake.Entries(spareLimit: 2)
    /// The number of entries in `ready`, which any thread may read.
    private let readyCount = Atomic(0)
    /// Tells whether a task whose job the pump runs has borrowed the pump's turn.
    private let loan = Atomic(Loan.none)
    /// The activation that the tasks with the turn use, one after the other.
    private var activation: OrderedActivation!
    private(set) var turnstile: FIFOTurnstile!

    init(name: String?, priority: TaskPriority?, capacity: Int?, overflow: OrderedQueueOverflow, recorder: EventRecorder? = nil) {
        // Unlike a precondition's, this message is printed by optimized programs too.
        guard capacity ?? 1 > 0 else { fatalError("FIFOQueue: the capacity must be positive, or nil for no bound") }
        self.name = name
        slot = RecorderSlot(recorder)
        self.priority = priority
        self.capacity = capacity
        box = OrderedQueueBox(State(capacity: capacity, overflow: overflow))
        ready.supply(State.Intake.Entries.Chunk())
        turnstile = FIFOTurnstile(self)
        activation = OrderedActivation(for: self)
    }

    var subject: String { name.map { "FIFOQueue \($0)" } ?? "FIFOQueue" }

    // MARK: - The recorder

    var recorder: EventRecorder? {
        get { slot.recorder }
        set { slot.recorder = newValue }
    }

    /// Makes the record of one piece of work; nil if the queue has no recorder.
    func recordedPiece() -> RecordedPiece? { .make(recorder, subject) }

    private func recorded(_ work: @escaping Work) -> Work {
        guard let piece = recordedPiece() else { return work }
        return {
            piece.begin()
            await work()
            piece.end()
        }
    }

    // MARK: - Submitting

    /// Accepts work. Returns nil, or why the work was refused.
    func submit(_ work: @escaping Work) -> OrderedQueueError? {
        let work = recorded(work)
        return finish(box.whenSupplied { $0.submit(work) })
    }

    private func finish(_ outcome: (State.Submission, dropped: Entry?)) -> OrderedQueueError? {
        outcome.dropped?.drop()
        switch outcome.0 {
        case .queued: return nil
        case .takesTurn: startPump()
        case .refused(let error): return error
        }
        return nil
    }

    /// Accepts work that keeps the task-local values of the caller. Returns nil, or why the work was refused.
    func submitInheriting(_ work: @escaping Work) -> OrderedQueueError? {
        let piece = recordedPiece(), place = OrderedPlace(.work)
        do throws(OrderedQueueError) { try submit(place) } catch { return error }
        Task(priority: priority) {
            await place.waitForGrant()
            if place.isGranted { await self.runInTurn(piece, work) }
        }
        return nil
    }

    /// Accepts work once there is room.
    func submitWaitingForRoom(_ work: @escaping Work, until deadline: Int64) async throws(OrderedQueueError) {
        let sender = State.Intake.Sender(recorded(work))
        if let error = finish(box.whenSupplied(forSender: true) { $0.submit(sender) }) { throw error }
        if sender.isGranted { return }
        if OrderedActivation.isInside(self) { sender.resolve(EDEADLK) }
        do throws(OrderedQueueError) { try await box.waitForGrant(of: sender, until: deadline) } catch {
            _ = sender.takeWork()
            throw error
        }
    }

    /// Gives the turn to the caller if it is free. Most often it is, and then nothing is allocated.
    func takeTurnIfFree() -> Bool { box.withState { $0.takeTurnIfFree() } }

    /// Submits the place of a task. Once the place is granted, the task must run its work in turn, or pass the turn on.
    /// Throws if the place is refused.
    func submit(_ place: OrderedPlace) throws(OrderedQueueError) {
        let (submission, dropped) = box.whenSupplied { $0.submit(place) }
        dropped?.drop()
        switch submission {
        case .queued: break
        case .takesTurn: _ = place.claim(0)
        case .refused(let error): throw error
        }
    }

    /// Waits for the turn of the calling task. The task must then run its work in turn, or pass the turn on.
    func takeTurn(_ kind: OrderedPlace.Kind, until deadline: Int64) async throws(OrderedQueueError) {
        if OrderedActivation.isInside(self) { throw .wouldDeadlock }
        if Task.isCancelled { throw .cancelled }
        if takeTurnIfFree() { return }
        let place = OrderedPlace(kind)
        try submit(place)
        try await box.waitForGrant(of: place, until: deadline)
    }

    /// Does the same for a task that nothing keeps from its turn. The caller has already checked whether the turn is
    /// free, and whether the task would wait for itself.
    func waitForOwnTurn() async {
        let place = OrderedPlace(.own)
        OrderedRefusal.never { () throws(OrderedQueueError) in try submit(place) }
        await place.waitForGrant()
    }

    #if compiler(>=6.2)
    /// Returns the turnstile at which a task that is being started on the calling thread waits, before it runs its work
    /// in turn. Throws if the task is refused.
    func letIn(_ kind: OrderedPlace.Kind) throws(OrderedQueueError) -> FIFOTurnstile {
        if capacity != nil {
            if let error = box.withState({ $0.reserve(kind) }) { throw error }
        } else if kind.endsWithShutdown && box.isShut {
            throw .shutDown
        }
        return turnstile
    }
    #else
    /// Does the same for a task that comes to wait later, on another thread.
    func letIn(_ kind: OrderedPlace.Kind) throws(OrderedQueueError) -> OrderedPlace {
        let place = OrderedPlace(kind)
        try submit(place)
        return place
    }
    #endif

    /// Submits the job of a task that has come to the turnstile.
    func submit(_ job: UnownedJob) {
        if case .takesTurn = box.whenSupplied({ $0.submit(job) }) { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
    }

    // MARK: - Having the turn

    /// Runs `body` in the calling task, which has the turn, and passes the turn on.
    @inline(__always)
    func runInTurn(_ piece: RecordedPiece?, _ body: () async throws -> Void) async rethrows {
        piece?.begin()
        defer {
            piece?.end()
            passTurnOn()
        }
        try await activation.run(isolation: nil, body)
    }

    /// Gives the turn to the next in order: to a task if the next entry is its place, or to a pump if it is work. A
    /// turn that was borrowed from the pump goes back to it.
    func passTurnOn() {
        // Acquires what the pump has left, or releases the turn to it.
        if loan.compareExchange(expected: .lent, desired: .returned, ordering: .acquiringAndReleasing).exchanged { return }
        while refill() {
            guard ready.withFirst({ $0.isPlace })! else { return startPump() }
            if case .place(let place) = popReady(), place.grant() { return }
        }
    }

    /// Starts a pump, which has the turn from the beginning.
    private func startPump() {
        Task.detached(priority: priority) { await self.pump() }
    }

    private func pump() async {
        await OrderedActivation.run(for: self) {
            var untilYield = Self.workBetweenYields
            while let next = nextWork() {
                switch next {
                case .work(let work): await work()
                case .job(let job): guard lendTurn(to: job) else { return }
                }
                untilYield -= 1
                if untilYield == 0 {
                    untilYield = Self.workBetweenYields
                    await Task.yield()
                }
            }
        }
    }

    /// After this many pieces of work the pump yields, so that endless short work leaves the thread to other tasks now
    /// and then.
    private static var workBetweenYields: Int { 256 }

    private enum Loan: UInt8, AtomicRepresentable {
        case none, lent, returned
    }

    /// Runs the job of a task on this thread, up to the task's next suspension. Returns true if the task's work has
    /// ended; otherwise the task keeps the turn.
    private func lendTurn(to job: UnownedJob) -> Bool {
        loan.store(.lent, ordering: .relaxed)
        FIFOTurnstile.run(job)
        return loan.exchange(.none, ordering: .acquiringAndReleasing) == .returned
    }

    private enum Next {
        case work(Work), job(UnownedJob)
    }

    /// Returns the next work in order; nil once another holder has the turn, or nobody.
    private func nextWork() -> Next? {
        while true {
            if ready.isEmpty { box.waitBrieflyForMore() }
            guard refill() else { return nil }
            switch popReady() {
            case .work(let work): return .work(work)
            case .sender(let sender): if sender.isGranted { return .work(sender.takeWork()!) }
            case .job(let job): return .job(job)
            case .place(let place): if place.grant() { return nil }
            case .gone: break
            }
        }
    }

    /// Returns true if there is an entry in `ready`. Otherwise the turn is free.
    private func refill() -> Bool {
        if !ready.isEmpty { return true }
        let refill = box.withState { $0.refill(&ready) }
        guard case .filled(let sender) = refill else { return false }
        testStep("FIFOQueueStorage: resumes", self)
        sender?.resume()
        readyCount.store(ready.count, ordering: .relaxed)
        return true
    }

    private func popReady() -> Entry {
        let entry = ready.popFirst()!
        readyCount.store(ready.count, ordering: .relaxed)
        return entry
    }

    // MARK: - The end

    func shutDown() { box.shutDown() }

    /// The number of accepted entries that have not begun, at some instant during the call.
    var waitingCount: Int {
        box.withState { capacity == nil ? $0.intake.count + readyCount.load(ordering: .relaxed) : $0.intake.unbegun }
    }

    /// The number of entries still in the intake, at some instant during the call; for tests.
    var pendingCount: Int { box.withState { $0.intake.count } }
}
