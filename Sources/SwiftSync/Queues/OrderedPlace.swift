import Synchronization

/// A task's place in an ordered queue: it waits until the place is granted, unless it gives up before. Exactly one of the two wins.
///
/// | state | what follows |
/// |---|---|
/// | new | the task has not come to wait yet |
/// | waiting | `continuation` is set, and belongs to whoever leaves this state |
/// | granted, given up | final |
final class OrderedPlace: @unchecked Sendable {
    private enum State {
        static let new: UInt8 = 0, waiting: UInt8 = 1, granted: UInt8 = 2, givenUp: UInt8 = 3
    }

    enum Claim {
        /// The task gave up before.
        case lost
        /// The task finds the grant when it comes.
        case won
        /// The task has to be woken by `resume()`, once no lock is held.
        case mustResume
    }

    private let state: Atomic<UInt8>
    private var continuation: UnsafeContinuation<Bool, Never>?

    init(granted: Bool = false) {
        state = Atomic(granted ? State.granted : State.new)
    }

    var isGranted: Bool { state.load(ordering: .acquiring) == State.granted }

    /// Waits; true when the place was granted, false when it was given up.
    func wait() async -> Bool {
        if state.load(ordering: .acquiring) < State.granted { _ = await suspend() }
        return isGranted
    }

    /// Waits for a grant, and in any case not on the calling thread, where the task may have been started on somebody else's behalf.
    func waitElsewhere() async {
        let suspended = await suspend()
        if !suspended { await Task.yield() }
    }

    /// Suspends the task until the place is granted or given up; false if it was before.
    private func suspend() async -> Bool {
        await withUnsafeContinuation { continuation in
            self.continuation = continuation
            // Releases the continuation to whoever resumes it; acquires what was done before a grant that came first.
            let (stored, _) = state.compareExchange(expected: State.new, desired: State.waiting, ordering: .acquiringAndReleasing)
            if !stored { continuation.resume(returning: false) }
        }
    }

    /// The same for a task whose cancellation gives the place up.
    func waitUnlessCancelled() async -> Bool {
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            giveUp()
        }
    }

    /// Decides for the grant, without resuming anybody.
    func claim() -> Claim { leave(for: State.granted) }

    /// Wakes the task after a claim that asked for it.
    func resume() { continuation!.resume(returning: true) }

    /// Grants the place; false if it was given up before.
    func grant() -> Bool {
        let claim = claim()
        if claim == .mustResume { resume() }
        return claim != .lost
    }

    func giveUp() {
        if leave(for: State.givenUp) == .mustResume { resume() }
    }

    private func leave(for final: UInt8) -> Claim {
        var current = state.load(ordering: .relaxed)
        while current < State.granted {
            // Acquires the continuation; releases what the granter did.
            let (left, found) = state.compareExchange(expected: current, desired: final, ordering: .acquiringAndReleasing)
            if left { return current == State.waiting ? .mustResume : .won }
            current = found
        }
        return .lost
    }
}
