import CSyncKernel
import Synchronization

/// The state of an ordered queue under its lock, and the facts about the queue that can be read without the lock.
final class OrderedQueueBox<State: OrderedQueueState & ~Copyable>: WaitedObject, @unchecked Sendable {
    private let type: String
    /// The priority of the tasks that run the work that no call waits for.
    let priority: TaskPriority?
    let capacity: Int?
    private let box: OwningGateBox<State>
    /// True while the intake may hold an entry. A pump that has run out of entries polls it.
    private let mayHoldMore = Atomic(false)
    private let hasShut = Atomic(false)
    /// The number of entries that were taken out of the intake and have not begun. The code that takes them out stores
    /// it.
    let readyCount = Atomic(0)
    /// The number of entries that were taken from those to begin. The code that takes them out stores it.
    let begunCount = Atomic<UInt64>(0)

    init(
        _ state: consuming sending State, of type: String, _ place: csk_place_t, priority: TaskPriority?
    ) {
        capacity = state.intake.capacity
        // Unlike a precondition's, this message is printed by optimized programs too.
        guard capacity ?? 1 > 0 else { fatalError("\(type): the capacity must be positive, or nil for no bound") }
        self.type = type
        self.priority = priority
        box = unsafe .make(state, .fast, 0, place)
    }

    /// The queue's name in messages and reports.
    var subject: String { "\(type) \(name)" }

    /// The name of the queue, or the place where it was made. The gate of the state has it.
    var name: String { unsafe box.name }

    var toldKind: UInt32 { UInt32(State.toldKind) }
    var toldPlace: csk_place_t { unsafe box.place }

    /// True once the queue was shut down and refuses later work.
    var isShut: Bool { hasShut.load(ordering: .relaxed) }

    /// True while entries may wait for their turn. A wait that was given up counts until its turn.
    var mayHaveWaiting: Bool { readyCount.load(ordering: .relaxed) > 0 || mayHoldMore.load(ordering: .relaxed) }

    /// Calls `body` under the lock.
    func withState<R>(_ body: (inout State) -> R) -> R {
        box.withLock { state in
            let result = body(&state)
            if state.isIntakeEmpty { mayHoldMore.store(false, ordering: .relaxed) }
            return result
        }
    }

    /// Calls `body`, which submits something, under the lock, once there is memory for it. The memory is allocated
    /// outside of the lock.
    func whenSupplied<R>(forSender: Bool = false, _ body: (inout State) -> R) -> R {
        typealias Intake = OrderedIntake<State.Work>
        var chunk: Intake.Entries.Chunk?, senderChunk: Intake.Senders.Chunk?
        while true {
            let result: R? = box.withLock { state in
                if state.needsChunk {
                    guard let supplied = chunk.take() else { return nil }
                    state.supply(supplied)
                }
                if forSender, state.needsSenderChunk {
                    guard let supplied = senderChunk.take() else { return nil }
                    state.supply(supplied)
                }
                let result = body(&state)
                if !state.isIntakeEmpty { mayHoldMore.store(true, ordering: .relaxed) }
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

    /// Returns once something may have been submitted, or after 1.5 us. That is about the cost of starting another
    /// pump, so polling never costs much more than not polling.
    func waitBrieflyForMore() {
        if mayHoldMore.load(ordering: .relaxed) { return }
        let end = csk_now() + 1500
        while !mayHoldMore.load(ordering: .relaxed), csk_now() < end {}
    }

    func shutDown() {
        var senders = box.withLock { $0.shut() }
        hasShut.store(true, ordering: .relaxed)
        while let sender = senders.popFirst() { sender.resolve(ESHUTDOWN) }
    }

    /// Waits for the grant of `place`, which the queue holds. If the task is cancelled or `deadline` passes, it gives
    /// back the room of the place.
    func waitForGrant(
        of place: OrderedPlace, until deadline: Int64
    ) async throws(OrderedQueueError) {
        if place.isGranted { return }
        guard let error = await place.waitForGrant(until: deadline, at: self) else { return }
        giveUp(place)
        throw error
    }

    /// Gives back the room of `place`, which was resolved otherwise than by a grant.
    func giveUp(_ place: OrderedPlace) {
        let sender = withState { $0.giveUp(place) }
        testStep("OrderedQueueBox: resumes", self)
        sender?.resume()
    }
}
