import Testing

@testable import SwiftSync

/// A thread that ends when it ends: for what blocks until the test lets it go.
func onThread(_ body: @escaping @Sendable () -> Void) {
    Thread(body).detach()
}

/// The same for a call that tasks should not make: this one waits for it.
func onThreadThatIsWaitedFor(_ body: @escaping @Sendable () -> Void) {
    Thread(body).join()
}

/// Holds a value by a manual completion; the closure that is returned lets go of it.
func hold<Value: Sendable>(_ value: QueueSafeValue<Value>) async -> @Sendable () -> Void {
    let completion = Shared<CommandCompletionClosure?>(nil)
    // The command, not the value: its owner may go meanwhile.
    let command = value.wait.highestPriority
    onThread { command.get { _, done in completion.access { $0 = done } } }
    await waitUntil { completion.value != nil }
    return { completion.access { done in (done.take())?() } }
}
