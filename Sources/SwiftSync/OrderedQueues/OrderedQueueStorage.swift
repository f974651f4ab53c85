import CSyncKernel
import Synchronization

/// The common part of the storages of ``FIFOQueue`` and ``ActorQueue``: they take the lock, take a step of the state,
/// drop the lock, and then act. A storage lives as long as its queue or any accepted work.
///
/// Each storage overrides the first four members. None of them is called where an entry is merely queued and the
/// deadlock watch is off.
class OrderedQueueStorage<State: OrderedQueueState & ~Copyable>: @unchecked Sendable {
    typealias Work = State.Work
    typealias Entry = State.Intake.Entry

    final let box: OrderedQueueBox<State>
    /// It is here, not in the box, because every submission reads it.
    fileprivate final let slot: RecorderSlot

    init(_ box: OrderedQueueBox<State>, _ recorder: EventRecorder?) {
        self.box = box
        slot = RecorderSlot(recorder)
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

    /// Why the queue refuses work that it will never accept.
    var endText: String { "the queue was shut down" }

    /// The task waits at the place, and does nothing else before that is granted.
    func keep(_ task: Task<Void, Never>, at place: OrderedPlace) {}

    /// Called when an entry was queued behind other work while the deadlock watch is on.
    func lookAfter() {}

    private static func isMissing() -> Never { fatalError("SwiftSync: the storage of a queue lacks a member") }
}

extension OrderedQueueStorage where State: ~Copyable {
    final var subject: String { box.subject }
    final var name: String { box.name }
    final var capacity: Int? { box.capacity }

    // MARK: - The recorder

    final var recorder: EventRecorder? {
        get { slot.recorder }
        set { slot.recorder = newValue }
    }

    /// Makes the record of one piece of work; nil if the queue has no recorder.
    final func recordedPiece() -> RecordedPiece? { .make(recorder, subject) }

    @inline(__always)
    private final func recorded(_ work: consuming Work) -> Work {
        guard let piece = recordedPiece() else { return work }
        return recorded(work, as: piece)
    }

    // MARK: - Submitting

    /// Submits work. Returns true if it was accepted; otherwise makes a report, and returns false.
    final func accepts(_ work: consuming Work) -> Bool { reports(submit(work)) }

    /// Submits work that keeps the task-local values of the caller.
    final func acceptsInheriting(_ work: Work) -> Bool { reports(submitInheriting(work)) }

    private final func reports(_ refusal: OrderedQueueError?) -> Bool {
        OrderedRefusal.report(refusal, subject, capacity: capacity, endText)
    }

    private final func submit(_ work: consuming Work) -> OrderedQueueError? {
        let work = recorded(work)
        return finish(box.whenSupplied { $0.submit(work) })
    }

    private final func submitInheriting(_ work: Work) -> OrderedQueueError? {
        let place = OrderedPlace(.work), run: @Sendable () async -> Void
        do throws(OrderedQueueError) {
            run = try inTurn(work, recordedPiece())
            try submit(place)
        } catch { return error }
        let object: any WaitedObject = box
        let task = Task(priority: box.priority) {
            await place.waitForGrant(at: object)
            if place.isGranted { await run() }
        }
        keep(task, at: place)
        return nil
    }

    /// Accepts work once there is room. The deadline is read only if there is none.
    final func submitWaitingForRoom(
        _ work: Work, until deadline: @autoclosure () -> Int64
    ) async throws(OrderedQueueError) {
        let sender = State.Intake.Sender(recorded(work))
        if let error = finish(box.whenSupplied(forSender: true) { $0.submit(sender: sender) }) { throw error }
        if sender.isGranted { return }
        if wouldWaitForItself { sender.resolve(EDEADLK) }
        do throws(OrderedQueueError) { try await box.waitForGrant(of: sender, until: deadline()) } catch {
            _ = sender.takeWork()
            throw error
        }
    }

    /// Submits the place of a task. Once the place is granted, the task must run its work in turn, or pass the turn on.
    /// Throws if the place is refused.
    final func submit(_ place: OrderedPlace) throws(OrderedQueueError) {
        if let error = finish(box.whenSupplied { $0.submit(place) }, place) { throw error }
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

    // MARK: - Entries that were taken out

    /// Takes the first entry out of `ready`, which is not empty.
    final func popFirst(of ready: inout State.Intake.Entries) -> Entry {
        let entry = ready.popFirst()!
        box.readyCount.store(ready.count, ordering: .relaxed)
        box.begunCount.store(box.begunCount.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
        return entry
    }

    // MARK: - Counting, and the end

    /// The number of accepted entries that have not begun, at some instant during the call.
    final var waitingCount: Int {
        box.withState {
            capacity == nil ? $0.intake.count + box.readyCount.load(ordering: .relaxed) : $0.intake.unbegun
        }
    }

    /// The excess of `waitingCount` over the capacity; 0 without one.
    final var beyondBoundCount: Int { capacity.map { max(0, waitingCount - $0) } ?? 0 }

    /// The number of entries still in the intake, at some instant during the call; for tests.
    final var pendingCount: Int { box.withState { $0.intake.count } }

    final func shutDown() { box.shutDown() }
}
