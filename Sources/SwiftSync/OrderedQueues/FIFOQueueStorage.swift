import CSyncKernel
import Synchronization

/// The storage of a ``FIFOQueue``, with ``FIFOQueueState`` as its state.
final class FIFOQueueStorage: OrderedQueueStorage<FIFOQueueState<FIFOWork>>, StallableQueue,
    @unchecked Sendable
{
    typealias State = FIFOQueueState<Work>

    /// Owned by the pump or task that holds the turn.
    @safe @exclusivity(unchecked) private var ready = State.Intake.Entries(spareLimit: 2)
    /// Work that a cancelled pump has left to the pump that comes in its place. Owned as `ready` is.
    @safe @exclusivity(unchecked) private var handedOver: Work?
    /// Records whether a task whose job the pump runs has borrowed the pump's turn.
    private let loan = Atomic(Loan.none)
    /// The queue's lock protects it.
    @safe @exclusivity(unchecked) private var turn = FIFOTurnPriority()
    /// The activation that the tasks with the turn use, one after the other.
    private var activation: OrderedActivation!
    private(set) var turnstile: FIFOTurnstile!

    init(
        _ place: csk_place_t, priority: TaskPriority? = nil, capacity: Int? = nil, overflow: OverflowPolicy = .refuse,
        recorder: EventRecorder? = nil
    ) {
        unsafe super.init(
            State(capacity: capacity, overflow: overflow), of: "FIFOQueue", place, priority: priority, recorder)
        ready.supply(State.Intake.Entries.Chunk())
        turnstile = FIFOTurnstile(self)
        activation = OrderedActivation(for: self)
    }

    // MARK: - Submitting

    override func recorded(_ work: Work, as piece: RecordedPiece) -> Work {
        let body = work.body
        return work.with {
            piece.begin()
            await body()
            piece.end()
        }
    }

    override func inTurn(_ work: Work, _ piece: RecordedPiece?) -> @Sendable () async -> Void {
        let body = work.body
        return {
            self.beginTurn()
            await self.runInTurn(piece, body)
        }
    }

    override func track(_ work: Work) -> TrackedTasks.Entry? { work.track() }

    override var wouldWaitForItself: Bool { OrderedActivation.isInside(self) }

    /// Takes the turn for the caller if it is free. It usually is, and then nothing is allocated.
    func takeTurnIfFree() -> Bool {
        let task = RuntimeFacts.addressOfTask()
        return withState { state in
            guard state.takeTurnIfFree() else { return false }
            turn.take(task)
            return true
        }
    }

    /// Waits for the turn of the calling task. The task must then run its work in turn, or pass the turn on.
    /// The deadline is read only if the turn is not free.
    func takeTurn(
        _ kind: OrderedPlace.Kind, until deadline: @autoclosure () -> Int64
    ) async throws(OrderedQueueError) {
        if wouldWaitForItself { throw .wouldDeadlock }
        if Task.isCancelledByOthers { throw .cancelled }
        if takeTurnIfFree() { return }
        let place = self.place(kind), deadline = deadline()
        try submit(place)
        try await hurrying(at: place) { () throws(OrderedQueueError) in
            try await waitForGrant(of: place, until: deadline)
        }
    }

    /// Waits for the turn of a task that is never refused. The caller has already checked whether the turn is free, and
    /// whether the task would wait for itself.
    func waitForOwnTurn() async {
        let place = self.place(.own)
        OrderedQueueError.never { () throws(OrderedQueueError) in try submit(place) }
        await hurrying(at: place) { await place.waitForGrant(at: self) }
    }

    /// The place of the calling task.
    private func place(_ kind: OrderedPlace.Kind) -> OrderedPlace {
        let place = OrderedPlace(kind)
        place.task = RuntimeFacts.addressOfTask()
        place.priority = Task.currentPriority
        return place
    }

    override func drain(until deadline: Int64) async throws(OrderedQueueError) {
        try await takeTurn(.end, until: deadline)
        passTurnOn()
    }

    // MARK: - How urgent it is

    /// Waits for the turn of the calling task, and begins it. Meanwhile the holder of the turn has at least this task's
    /// priority.
    private func hurrying<Failure: Error>(
        at place: OrderedPlace, _ wait: () async throws(Failure) -> Void
    ) async throws(Failure) {
        let priority = place.priority
        if withState({ _ in turn.wait(at: priority) }) { raiseHolder() }
        do throws(Failure) {
            try await withTaskPriorityEscalationHandler {
                () async throws(Failure) in
                // The task may have been escalated before there was a handler.
                if Task.currentPriority > priority { rise(to: Task.currentPriority) }
                try await wait()
            } onPriorityEscalated: { _, priority in
                self.rise(to: priority)
            }
        } catch {
            if withState({ _ in turn.endWait(of: place) }) { awaitUnpinned() }
            throw error
        }
        beginTurn(at: place)
    }

    /// A waiting task was escalated. A separate task raises the holder: this call comes under a lock of the runtime,
    /// and the holder may have users' handlers.
    private func rise(to priority: TaskPriority) {
        if withState({ _ in turn.rise(to: priority) }) {
            Task.detached(priority: priority) { self.raiseHolder() }
        }
    }

    /// Raises the holder of the turn, which can't end meanwhile, while there is one to be raised. The caller must hold
    /// no lock.
    private func raiseHolder() {
        while let raise = withState({ _ in turn.pinHolder() }) {
            RuntimeFacts.escalate(taskAt: raise.task, to: raise.priority)
            signal(withState { _ in turn.unpinHolder() })
        }
    }

    private func signal(_ end: PrioritySemaphore?) { if let end { try! end.signal() } }

    /// Waits until the pin of the calling task ends. Other threads run its escalation handlers, as the runtime does,
    /// where it would wait likewise. The deadline of its request does not bound this wait.
    private func awaitUnpinned() {
        let task = RuntimeFacts.addressOfTask(), end = PrioritySemaphore(value: 0)
        if withState({ _ in turn.awaitUnpinned(task, end) }) {
            _ = unsafe end.box.withSemaphore { unsafe csk_sem_wait($0, 0, 1) }
        }
    }

    /// The calling task has the turn, and from now on the priority of the waiters behind it. It leaves the place at
    /// which it waited. It is not pinned there: the previous holder raised it before handing the turn over.
    private func beginTurn(at place: OrderedPlace? = nil) {
        let task = RuntimeFacts.addressOfTask()
        let priority = withState { _ in
            if let place { _ = turn.endWait(of: place) }
            return turn.begin(task)
        }
        if priority > Task.currentPriority { RuntimeFacts.escalate(taskAt: task, to: priority) }
    }

    private func endTurn() { if withState({ _ in turn.end() }) { awaitUnpinned() } }

    /// Hands the turn to `place`, after raising its task to the priority of the waiters behind it. Returns false if the
    /// place was given up: then the caller still has the turn, and records itself again if it goes on.
    private func giveTurn(to place: OrderedPlace) -> Bool {
        let (isPinned, mustRaise) = withState { _ in (turn.end(), turn.wants(place)) }
        if isPinned { awaitUnpinned() }
        if mustRaise { raiseNext(place) }
        return place.grant()
    }

    private func raiseNext(_ place: OrderedPlace) {
        if let (task, priority) = withState({ _ in turn.raise(byHandle: place) }) {
            task.escalatePriority(to: priority)
        } else if let raise = withState({ _ in turn.pin(place) }) {
            RuntimeFacts.escalate(taskAt: raise.task, to: raise.priority)
            signal(withState { _ in turn.unpinWaiter() })
        }
    }

    override func keep(_ task: Task<Void, Never>, at place: OrderedPlace) {
        withState { _ in
            if place.outcome != nil { return }
            place.priority = self.priority ?? .medium
            place.handle = task
        }
    }

    /// Returns the turnstile at which a task that is being started on the calling thread waits, before it runs its work
    /// in turn. Throws if the task is refused.
    func letIn(_ kind: OrderedPlace.Kind) throws(OrderedQueueError) -> FIFOTurnstile {
        if capacity != nil {
            if let error = withState({ $0.reserve(kind) }) { throw error }
        } else if kind.endsWithShutdown && isShut {
            throw .shutDown
        }
        return turnstile
    }

    /// Submits the job of a task that has come to the turnstile.
    func submit(_ job: UnownedJob) {
        let submission = whenSupplied { state in
            let submission = state.submit(job)
            if case .begins = submission { turn.take(RuntimeFacts.addressOfTask(of: job)) }
            return submission
        }
        if case .begins = submission {
            globalConcurrentExecutor.enqueue(ExecutorJob(job))
        } else if StalledQueues.areWatched {
            lookAfter()
        }
    }

    // MARK: - The deadlock watch

    let isLookedAt = Atomic(false)

    override func lookAfter() { StalledQueues.add(self) }

    /// A holder that took the turn while the queue was free is not counted, and a pump that was sent may not have
    /// begun. Still the number changes as soon as the first waiting entry begins.
    var standstill: Standstill {
        mayHaveWaiting ? .some(begun: begunCount.load(ordering: .relaxed)) : .nothing
    }

    // MARK: - Having the turn

    /// Runs `body` in the calling task, on its executor, in its turn, and passes the turn on.
    @inline(__always)
    func runInTurn(_ piece: RecordedPiece?, _ body: () async throws -> Void) async rethrows {
        piece?.begin()
        defer {
            piece?.end()
            passTurnOn()
        }
        try await activation.run(isolation: #isolation, body)
    }

    /// Gives the turn to the next in order: to a task if the next entry is its place, or to a pump if it is work. A
    /// turn that was borrowed from the pump goes back to it.
    func passTurnOn() {
        // Acquires the pump's state, or releases the turn to it.
        if loan.compareExchange(expected: .lent, desired: .returned, ordering: .acquiringAndReleasing).exchanged {
            return
        }
        while refill() {
            guard ready.withFirst({ $0.isPlace })! else {
                endTurn()
                return sendPump()
            }
            if case .place(let place) = popFirst(of: &ready), giveTurn(to: place) { return }
        }
    }

    /// Starts a pump, which has the turn from the beginning.
    override func sendPump() {
        let priority = withState { _ in turn.priority(of: self.priority) }
        Task.detached(priority: priority) { await self.pump() }
    }

    private func pump() async {
        beginTurn()
        await OrderedActivation.run(for: self) {
            var untilYield = Self.workBetweenYields, cancellation = FIFOPumpCancellation()
            defer { cancellation.end() }
            while let next = nextWork() {
                switch next {
                case .work(let work):
                    guard cancellation.begin(work) else {
                        handedOver = work
                        endTurn()
                        return sendPump()
                    }
                    await work.body()
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
        let borrower = RuntimeFacts.addressOfTask(of: job), pump = RuntimeFacts.addressOfTask()
        FIFOTurnstile.run(job)
        if loan.exchange(.none, ordering: .acquiringAndReleasing) == .returned { return true }
        let (mustRaise, isPinned) = withState { _ in turn.leave(to: borrower, from: pump) }
        if isPinned { awaitUnpinned() }
        if mustRaise { raiseHolder() }
        return false
    }

    private enum Next {
        case work(Work), job(UnownedJob)
    }

    /// Returns the next work in order; nil once another holder has the turn, or it is free.
    private func nextWork() -> Next? {
        if let work = handedOver.take() { return .work(work) }
        while true {
            if ready.isEmpty { waitBrieflyForMore() }
            guard refill() else { return nil }
            switch popFirst(of: &ready) {
            case .work(let work): return .work(work)
            case .sender(let sender): if sender.isGranted { return .work(sender.takeWork()!) }
            case .job(let job): return .job(job)
            case .place(let place):
                if giveTurn(to: place) { return nil }
                beginTurn()
            case .gone: break
            }
        }
    }

    /// Returns true if there is an entry in `ready`. Otherwise the turn is free.
    private func refill() -> Bool {
        if !ready.isEmpty { return true }
        let (refill, isPinned) = withState { state in
            let refill = state.refill(&ready)
            if case .turnIsFree = refill { return (refill, turn.end()) }
            return (refill, false)
        }
        if isPinned { awaitUnpinned() }
        guard case .filled(let sender) = refill else { return false }
        testStep("FIFOQueueStorage: resumes", self)
        sender?.resume()
        readyCount.store(ready.count, ordering: .relaxed)
        return true
    }
}
