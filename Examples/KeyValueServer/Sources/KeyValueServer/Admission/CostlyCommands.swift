import Dispatch
import Synchronization

/// The costly commands of a server: what waits to be admitted and what runs.
final class CostlyCommands: Sendable {
    let kind: AdmissionKind
    let permits: Int
    private let admission: any Admission
    private let isNice: Bool
    private let accepted = DispatchGroup()
    private let waiting = Atomic(0)
    private let running = Atomic(0)
    /// Whether what has not begun will not run any more.
    let isGivenUp = Atomic(false)

    /// - Parameter isNice: whether the threads take the smallest share of a busy processor, so that event loops find
    ///   one at once. They keep it.
    init(_ kind: AdmissionKind, permits: Int, isNice: Bool) {
        self.kind = kind
        self.isNice = isNice
        self.permits = permits
        admission = kind.admission(permits: permits)
    }

    var waitingCount: Int { waiting.load(ordering: .relaxed) }
    var runningCount: Int { running.load(ordering: .relaxed) }

    /// Runs `body` off the event loops when it is admitted.
    func run(_ priority: ClientPriority, _ body: @escaping @Sendable () -> Void) {
        accepted.enter()
        waiting.wrappingAdd(1, ordering: .relaxed)
        admission.run(priority) { [self] in
            waiting.wrappingSubtract(1, ordering: .relaxed)
            running.wrappingAdd(1, ordering: .relaxed)
            if isNice { yieldProcessorToOthers() }
            if !isGivenUp.load(ordering: .relaxed) { body() }
            running.wrappingSubtract(1, ordering: .relaxed)
            accepted.leave()
        }
    }

    /// Lets what was accepted end. Blocks until `deadline` at most. Nothing may be given any more.
    ///
    /// - Returns: whether all of it has ended; the rest is given up.
    func stop(until deadline: ContinuousClock.Instant) -> Bool {
        let hasEnded = accepted.wait(timeout: .now() + max(.zero, deadline - .now) / .seconds(1)) == .success
        if !hasEnded {
            isGivenUp.store(true, ordering: .relaxed)
            // What runs ends on its own, and has an event loop to end on meanwhile.
            _ = accepted.wait(timeout: .now() + 1)
        }
        admission.stop()
        return hasEnded
    }
}
