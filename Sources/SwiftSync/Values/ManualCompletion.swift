import Synchronization

/// A closure that tells a command with manual completion that its section may end. Call it exactly once, from any
/// thread.
///
/// ```swift
/// let value = QueueSafeValue(value: 0)
/// value.wait.lowestPriority.set { current, done in
///     current += 1
///     DispatchQueue.global().async { done() }    // the section lasts until here
/// }
/// ```
///
/// It never blocks. A second call does nothing and is reported to ``SyncDiagnostics``; so is the release of its last
/// copy without a call, which completes the command. Where a command fails, the closure that comes with the failure
/// does nothing.
public typealias CommandCompletionClosure = @Sendable () -> Void

/// Behind the `done` of a command: it counts once, and completes by itself when its last copy goes away without a call,
/// so that nobody waits for ever. Either mistake is reported.
final class ManualCompletion: Sendable {
    private let isComplete = Atomic(false)
    private let action: @Sendable () -> Void

    /// The closure for the user; it alone keeps the object alive.
    static func closure(then action: @escaping @Sendable () -> Void) -> CommandCompletionClosure {
        let completion = ManualCompletion(action)
        return { completion.complete() }
    }

    private init(_ action: @escaping @Sendable () -> Void) {
        self.action = action
    }

    private func complete() {
        if wasComplete() {
            SyncDiagnostics.report(
                .completionCalledTwice, subject: "QueueSafeValue",
                message: "done() was called again; only the first call counts")
        } else {
            action()
        }
    }

    /// False for the first who asks, of all threads.
    private func wasComplete() -> Bool {
        testStep("ManualCompletion: counts", self)
        return isComplete.exchange(true, ordering: .acquiringAndReleasing)
    }

    deinit {
        if !isComplete.load(ordering: .acquiring) {
            SyncDiagnostics.report(
                .completionDropped, subject: "QueueSafeValue",
                message: "the last copy of done was released without a call; the command was completed")
            action()
        }
    }
}

/// Two things must have happened before a section with manual completion ends: its closure, since `inout` access ends
/// with that, and its completion. Whoever is second does what is left.
final class SectionEnd: Sendable {
    private let firstHasEnded = Atomic(false)

    /// True for the second call.
    func isSecond() -> Bool {
        firstHasEnded.exchange(true, ordering: .acquiringAndReleasing)
    }
}
