import CSyncKernel
import Synchronization

/// What the box of an ordered queue needs from its state.
protocol OrderedQueueState<Work>: ~Copyable {
    associatedtype Work

    var isIntakeEmpty: Bool { get }
    var needsChunk: Bool { get }
    var needsSenderChunk: Bool { get }
    mutating func supply(_ chunk: OrderedIntake<Work>.Entries.Chunk)
    mutating func supply(_ chunk: OrderedIntake<Work>.Senders.Chunk)
    mutating func giveUp(_ place: OrderedPlace) -> OrderedPlace?
    mutating func shut() -> OrderedIntake<Work>.Senders
}

/// The state of an ordered queue under its lock, and the facts about it that can be read without the lock.
final class OrderedQueueBox<State: OrderedQueueState & ~Copyable>: @unchecked Sendable {
    private let box: OwningGateBox<State>
    /// True while the intake may hold an entry. A pump that has run out of entries polls it.
    private let mayHoldMore = Atomic(false)
    private let hasShut = Atomic(false)

    init(_ state: consuming sending State) {
        box = .make(state, .fast, 0)
    }

    /// True once the queue was shut down and refuses what comes.
    var isShut: Bool { hasShut.load(ordering: .relaxed) }

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
                // Other callers may have supplied the queue meanwhile; then the chunks are left over.
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
        of place: OrderedPlace, until deadline: Int64, isolation: isolated (any Actor)? = #isolation
    ) async throws(OrderedQueueError) {
        guard let error = await place.waitForGrant(until: deadline) else { return }
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
