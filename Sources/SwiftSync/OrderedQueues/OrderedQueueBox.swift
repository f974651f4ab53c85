import CSyncKernel
import Synchronization

/// What the box of an ordered queue needs of its state.
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

/// The state of an ordered queue under its lock, and what can be seen of it without.
final class OrderedQueueBox<State: OrderedQueueState & ~Copyable>: @unchecked Sendable {
    private let box: OwningGateBox<State>
    /// True while the intake may hold something: what a pump that has run dry looks at.
    private let mayHoldMore = Atomic(false)
    private let hasShut = Atomic(false)

    init(_ state: consuming sending State) {
        box = .make(state, .fast, 0)
    }

    /// True once what comes is refused.
    var isShut: Bool { hasShut.load(ordering: .relaxed) }

    /// Calls `body` under the lock.
    func withState<R>(_ body: (inout State) -> R) -> R {
        box.withLock { state in
            let result = body(&state)
            if state.isIntakeEmpty { mayHoldMore.store(false, ordering: .relaxed) }
            return result
        }
    }

    /// Calls `body`, which submits something, under the lock and once there is memory for it, which is allocated
    /// outside.
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
                // Others supplied the queue meanwhile.
                chunk?.free()
                senderChunk?.free()
                return result
            }
            if chunk == nil { chunk = .init() }
            if forSender && senderChunk == nil { senderChunk = .init() }
        }
    }

    /// Returns once something may have been submitted, or after 1.5 us: about what it costs to start another pump, so
    /// that looking never costs much more than not looking.
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
    /// the room of the place back.
    func waitForGrant(
        of place: OrderedPlace, until deadline: Int64, isolation: isolated (any Actor)? = #isolation
    ) async throws(OrderedQueueError) {
        guard let error = await place.waitForGrant(until: deadline) else { return }
        giveUp(place)
        throw error
    }

    /// `place` was resolved otherwise than by a grant.
    func giveUp(_ place: OrderedPlace) {
        let sender = withState { $0.giveUp(place) }
        testStep("OrderedQueueBox: resumes", self)
        sender?.resume()
    }
}
