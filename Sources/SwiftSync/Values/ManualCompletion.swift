import CSyncKernel
import Synchronization

/// A closure that tells a command with manual completion that its section may end. Call it exactly once. Any thread may
/// call it.
///
/// ```swift
/// let value = QueueSafeValue(value: 0)
/// value.wait.lowestPriority.set { current, done in
///     current += 1
///     DispatchQueue.global().async { done() }    // the section lasts until here
/// }
/// ```
///
/// It never blocks. A second call does nothing and is reported to ``SyncDiagnostics``. If its last copy is released
/// without a call, that completes the command and is reported too. When a command fails, the closure that comes with
/// the failure does nothing.
public typealias CommandCompletionClosure = @Sendable () -> Void

/// The object behind the `done` of a command. Only the first call counts. When the last copy of `done` is released
/// without a call, the object completes by itself, so that no waiter waits for ever. Either mistake is reported.
///
/// The completing call takes the action, and no other code touches it afterwards. So a `done` that outlives its call
/// keeps nothing of the value alive but its name, for a report.
@safe
final class ManualCompletion: @unchecked Sendable {
    private let isComplete = Atomic(false)
    private var action: (@Sendable () -> Void)?
    private let place: csk_place_t
    /// The value's address, which is its name if it has no other.
    private let address: UInt

    /// Makes the closure for the user. Only that closure keeps the object alive. The gate is a value's, and has a place
    /// behind it.
    static func closure(
        at gate: UnsafeMutablePointer<csk_gate_t>, then action: @escaping @Sendable () -> Void
    ) -> CommandCompletionClosure {
        let completion = unsafe ManualCompletion(gate, action)
        return { completion.complete() }
    }

    private init(_ gate: UnsafeMutablePointer<csk_gate_t>, _ action: @escaping @Sendable () -> Void) {
        self.action = action
        unsafe place = Layout.first(of: gate, as: csk_placed_gate_t.self).pointee.place.copied()
        address = UInt(bitPattern: gate)
    }

    private func complete() {
        if wasComplete() {
            report(.completionCalledTwice, "done() was called again; only the first call counts")
        } else {
            action.take()?()
        }
    }

    /// Returns false to the first caller of all threads.
    private func wasComplete() -> Bool {
        testStep("ManualCompletion: counts", self)
        return isComplete.exchange(true, ordering: .acquiringAndReleasing)
    }

    deinit {
        if !isComplete.load(ordering: .acquiring) {
            report(
                .completionDropped, "the last copy of done was released without a call; the command was completed")
            action?()
        }
        unsafe place.end()
    }

    private func report(_ kind: SyncDiagnostics.Report.Kind, _ message: String) {
        let name = unsafe place.name(of: UnsafeRawPointer(bitPattern: address)!)
        SyncDiagnostics.report(kind, subject: "QueueSafeValue \(name)", message: message)
    }
}

/// Two events end a section with manual completion: its closure returns, which ends `inout` access, and its completion
/// is called. Whichever comes second does the remaining work.
final class SectionEnd: Sendable {
    private let firstHasEnded = Atomic(false)

    /// Returns true for the second call.
    func isSecond() -> Bool {
        firstHasEnded.exchange(true, ordering: .acquiringAndReleasing)
    }
}
