import SwiftSync

/// Costly commands hold a permit of a `PrioritySemaphore`: the most urgent goes next, then who came first.
struct PriorityAdmission: Admission {
    private let permits: PrioritySemaphore

    init(permits: Int) { self.permits = PrioritySemaphore(value: permits) }

    /// The task begins on the event loop, and asks for the permit there: so it never waits for a thread before it waits
    /// in order. All tasks have one priority: whoever has a permit should find a thread at once, and the one that just
    /// gave its permit back is free.
    func run(_ priority: ClientPriority, _ body: @escaping @Sendable () -> Void) {
        let call = StartingCall()
        defer { call.end() }
        Task.immediate(priority: .medium) {
            try await permits.withPermit(priority: CommandPriority(priority)) {
                await call.leave()
                body()
            }
        }
    }
}

extension CommandPriority {
    init(_ priority: ClientPriority) {
        switch priority {
        case .low: self = .low
        case .normal: self = .normal
        case .high: self = .high
        }
    }
}
