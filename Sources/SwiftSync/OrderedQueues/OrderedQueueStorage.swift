import CSyncKernel
import Synchronization

/// The common part of the storages of ``FIFOQueue`` and ``ActorQueue``: the state of the queue under its lock, and the
/// facts about the queue that can be read without the lock. A storage takes the lock, takes a step of the state, drops
/// the lock, and then acts. It lives as long as its queue or any accepted work.
///
/// Each storage overrides the first seven members. None of them is called where an entry is merely queued and the
/// deadlock watch is off.
class OrderedQueueStorage<State: OrderedQueueState & ~Copyable>: OrderedStorage, WaitedObject, @unchecked Sendable {
    typealias Work = State.Work
    typealias Entry = State.Intake.Entry

    private final let type: String
    /// The priority of the tasks that run the work that no call waits for.
    final let priority: TaskPriority?
    final let capacity: Int?
    private final let box: OwningGateBox<State>
    fileprivate final let slot: RecorderSlot
    /// True while the intake may hold an entry. A pump that has run out of entries polls it.
    private final let mayHoldMore = Atomic(false)
    private final let hasShut = Atomic(false)
    /// The number of entries that were taken out of the intake and have not begun. The code that takes them out stores
    /// it.
    final let readyCount = Atomic(0)
    /// The number of entries that were taken from those to begin. The code that takes them out stores it.
    final let begunCount = Atomic<UInt64>(0)

    init(
        _ state: consuming sending State, of type: String, _ place: csk_place_t, priority: TaskPriority?,
        _ recorder: EventRecorder?
    ) {
        capacity = state.intake.capacity
        self.type = type
        self.priority = priority
        box = unsafe .make(state, .fast, 0, place)
        slot = RecorderSlot(recorder)
        // Unlike a precondition's, this message is printed by optimized programs too.
        guard capacity ?? 1 > 0 else { fatalError("\(subject): the capacity must be positive, or nil for no bound") }
    }

    /// True if a task that waits for room here would wait for itself. It is false where work may begin while other work
    /// is suspended.
    var wouldWaitForItself: Bool { false }

    /// Starts the task that runs the work that no call waits for. Throws if no task can be started: then the accepted
    /// work is released.
    func sendPump() throws(OrderedQueueError) { Self.isMissing() }

    /// Wraps `work`, so that `piece` records its beginning and end.
    func recorded(_ work: Work, as piece: RecordedPiece) -> Work { Self.isMissing() }

    /// Makes a closure that runs `work` in the calling task, whose place was granted. Throws if it can't be run.
    func inTurn(_ work: Work, _ piece: RecordedPiece?) throws(OrderedQueueError) -> @Sendable () async -> Void {
        Self.isMissing()
    }

    /// Makes the entry by which a cancellable queue can cancel the task that is about to run `work`; nil if none can.
    func track(_ work: Work) -> TrackedTasks.Entry? { nil }

    /// Waits until all work that was submitted before has ended.
    func drain(until deadline: Int64) async throws(OrderedQueueError) { Self.isMissing() }

    /// Why the queue refuses work that it will never accept.
    var endText: String { "the queue was shut down" }

    /// The task waits at the place, and does nothing else before that is granted.
    func keep(_ task: Task<Void, Never>, at place: OrderedPlace) {}

    /// Called when an entry was queued behind other work while the deadlock watch is on.
    func lookAfter() {}

    private static func isMissing() -> Never { fatalError("SwiftSync: the storage of a queue lacks a member") }
}

extension OrderedQueueStorage where State: ~Copyable {
    /// The name of the queue, or the place where it was made. The gate of the state has it.
    final var name: String { unsafe box.name }
    /// The queue's name in messages and reports.
    final var subject: String { "\(type) \(name)" }

    final var toldKind: UInt32 { UInt32(State.toldKind) }
    final var toldPlace: csk_place_t { unsafe box.place }

    final var recorder: EventRecorder? {
        get { slot.recorder }
        set { slot.recorder = newValue }
    }

    // MARK: - The lock

    /// Calls `body` under the lock.
    final func withState<R>(_ body: (inout State) -> R) -> R {
        box.withLock { state in
            let result = body(&state)
            if state.intake.isEmpty { mayHoldMore.store(false, ordering: .relaxed) }
            return result
        }
    }

    /// Calls `body`, which submits something, under the lock, once there is memory for it. The memory is allocated
    /// outside of the lock.
    final func whenSupplied<R>(forSender: Bool = false, _ body: (inout State) -> R) -> R {
        var chunk: State.Intake.Entries.Chunk?, senderChunk: State.Intake.Senders.Chunk?
        while true {
            let result: R? = box.withLock { state in
                if state.intake.needsChunk {
                    guard let supplied = chunk.take() else { return nil }
                    state.intake.supply(supplied)
                }
                if forSender, state.intake.needsSenderChunk {
                    guard let supplied = senderChunk.take() else { return nil }
                    state.intake.supply(supplied)
                }
                let result = body(&state)
                if !state.intake.isEmpty { mayHoldMore.store(true, ordering: .relaxed) }
                return result
            }
            if let result {
                // Other callers may have supplied chunks meanwhile; then these are left over.
                chunk?.free()
                senderChunk?.free()
                return result
            }
            if chunk == nil { chunk = .init() }
            if forSender && senderChunk == nil { senderChunk = .init() }
        }
    }

    // MARK: - Submitting

    /// Makes the record of one piece of work; nil if the queue has no recorder.
    final func recordedPiece() -> RecordedPiece? { .make(recorder, subject) }

    @inline(__always)
    private final func recorded(_ work: consuming Work) -> Work {
        guard let piece = recordedPiece() else { return work }
        return recorded(work, as: piece)
    }

    /// Submits work. Returns true if it was accepted; otherwise makes a report, and returns false. Work that inherits
    /// the task-local values of the caller runs in a task of its own.
    @inline(__always)
    final func accepts(inheriting: Bool, _ work: consuming Work) -> Bool {
        guard let error = inheriting ? submitInheriting(work) : submit(work) else { return true }
        report(error)
        return false
    }

    private final func report(_ error: OrderedQueueError) {
        let kind: SyncDiagnostics.Report.Kind = error == .full ? .refusedWhenFull : .refusedAfterShutdown
        let reason = error == .full ? "the queue is full" : endText
        SyncDiagnostics.report(
            kind, subject: subject, message: "work was refused, and released without having run: \(reason)",
            bound: error == .full ? capacity : nil)
    }

    private final func submit(_ work: consuming Work) -> OrderedQueueError? {
        let work = recorded(work)
        return finish(whenSupplied { $0.submit(work) })
    }

    private final func submitInheriting(_ work: Work) -> OrderedQueueError? {
        let place = OrderedPlace(.work), run: @Sendable () async -> Void
        do throws(OrderedQueueError) {
            run = try inTurn(work, recordedPiece())
            try submit(place)
        } catch { return error }
        let object: any WaitedObject = self, tracked = track(work)
        let task = Task(priority: priority) {
            tracked?.begin()
            defer { tracked?.end() }
            await place.waitForGrant(at: object)
            tracked?.catchUp()
            if place.isGranted { await run() }
        }
        keep(task, at: place)
        return nil
    }

    /// Accepts work once there is room. The deadline is read only if there is none.
    final func submitWaitingForRoom(
        _ work: Work, until deadline: @autoclosure () -> Int64
    ) async throws(OrderedQueueError) {
        if Task.isCancelledByOthers { throw .cancelled }
        let sender = State.Intake.Sender(recorded(work))
        if let error = finish(whenSupplied(forSender: true) { $0.submit(sender: sender) }) { throw error }
        if sender.isGranted { return }
        if wouldWaitForItself { sender.resolve(EDEADLK) }
        do throws(OrderedQueueError) { try await waitForGrant(of: sender, until: deadline()) } catch {
            _ = sender.takeWork()
            throw error
        }
    }

    /// Submits the place of a task. Once the place is granted, the task must run its work in turn, or pass the turn on.
    /// Throws if the place is refused.
    final func submit(_ place: OrderedPlace) throws(OrderedQueueError) {
        if let error = finish(whenSupplied { $0.submit(place) }, place) { throw error }
    }

    @inline(__always)
    private final func finish(
        _ outcome: (OrderedSubmission, dropped: Entry?), _ place: OrderedPlace? = nil
    ) -> OrderedQueueError? {
        outcome.dropped?.drop()
        switch outcome.0 {
        case .queued: if StalledQueues.areWatched { lookAfter() }
        case .sendsPump: do throws(OrderedQueueError) { try sendPump() } catch { return error }
        case .begins: _ = place?.claim(0)
        case .refused(let error): return error
        }
        return nil
    }

    // MARK: - Waiting

    /// Waits for the grant of `place`, which the queue holds. If the task is cancelled or `deadline` passes, it gives
    /// back the room of the place.
    final func waitForGrant(of place: OrderedPlace, until deadline: Int64) async throws(OrderedQueueError) {
        guard let error = await place.waitForGrant(until: deadline, at: self) else { return }
        giveUp(place)
        throw error
    }

    /// Gives back the room of `place`, which was resolved otherwise than by a grant.
    private final func giveUp(_ place: OrderedPlace) {
        let sender = withState { $0.intake.giveUp(place) }
        testStep("OrderedQueueStorage: resumes", self)
        sender?.resume()
    }

    // MARK: - Entries that were taken out

    /// Takes the first entry out of `ready`, which is not empty.
    final func popFirst(of ready: inout State.Intake.Entries) -> Entry {
        let entry = ready.popFirst()!
        readyCount.store(ready.count, ordering: .relaxed)
        begunCount.store(begunCount.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        return entry
    }

    /// Returns once something may have been submitted, or after 1.5 us. That is about the cost of starting another
    /// pump, so polling never costs much more than not polling.
    final func waitBrieflyForMore() {
        if mayHoldMore.load(ordering: .relaxed) { return }
        let end = csk_now() + 1500
        while !mayHoldMore.load(ordering: .relaxed), csk_now() < end {}
    }

    // MARK: - Counting, and the end

    /// The number of accepted entries that have not begun, at some instant during the call.
    final var waitingCount: Int {
        withState {
            capacity == nil ? $0.intake.count + readyCount.load(ordering: .relaxed) : $0.intake.unbegun
        }
    }

    /// The excess of `waitingCount` over the capacity; 0 without one.
    final var beyondBoundCount: Int { capacity.map { max(0, waitingCount - $0) } ?? 0 }

    /// The number of entries still in the intake, at some instant during the call; for tests.
    final var pendingCount: Int { withState { $0.intake.count } }

    /// True while entries may wait for their turn. A wait that was given up counts until its turn.
    final var mayHaveWaiting: Bool {
        readyCount.load(ordering: .relaxed) > 0 || mayHoldMore.load(ordering: .relaxed)
    }

    /// True once the queue was shut down and refuses later work.
    final var isShut: Bool { hasShut.load(ordering: .relaxed) }

    final func shutDown() {
        var senders = box.withLock { $0.intake.shut() }
        hasShut.store(true, ordering: .relaxed)
        while let sender = senders.popFirst() { sender.resolve(ESHUTDOWN) }
    }
}
