/// What tasks wait at until the test opens it.
final class Door: Sendable {
    private let state = Shared((isOpen: false, waiting: [UnsafeContinuation<Void, Never>]()))

    func open() {
        let waiting = state.access { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        waiting.forEach { $0.resume() }
    }

    func pass() async {
        await withUnsafeContinuation { continuation in
            let isOpen = state.access { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// Waits until the calling task has at least that priority.
func untilRaised(to priority: TaskPriority = .high) async {
    let isRaised = Door()
    await withTaskPriorityEscalationHandler {
        if Task.currentPriority < priority { await isRaised.pass() }
    } onPriorityEscalated: { _, new in
        if new >= priority { isRaised.open() }
    }
}
