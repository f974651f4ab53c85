import Testing

@testable import SwiftSync

/// A resource that knows its pool's ledger: it is made once, used by one task at a time, and closed once.
final class Item: Sendable {
    enum Failure: Error { case expected }

    struct Ledger {
        var made = 0
        var closed: [Int] = []
        var inUse: Set<Int> = []
        var faults: [String] = []
    }

    let number: Int
    private let ledger: Shared<Ledger>

    init(_ ledger: Shared<Ledger>) {
        self.ledger = ledger
        number = ledger.access {
            $0.made += 1
            return $0.made
        }
    }

    /// Stands for a use that suspends.
    func use(_ body: () async -> Void = { await Task.yield() }) async {
        ledger.access { if !$0.inUse.insert(number).inserted { $0.faults.append("\(number) is used by two") } }
        defer { ledger.access { _ = $0.inUse.remove(number) } }
        await body()
    }

    func close() {
        ledger.access {
            if $0.inUse.contains(number) { $0.faults.append("\(number) is closed while it is used") }
            if $0.closed.contains(number) { $0.faults.append("\(number) is closed twice") }
            $0.closed.append(number)
        }
    }
}

/// Starts a task that uses a resource until `leave` is raised, and returns once it does.
func occupy(
    _ pool: ResourcePool<Item>, _ priority: CommandPriority = .normal, until leave: Flag
) async -> Task<Void, any Error> {
    let entered = Flag()
    let task = Task {
        try await pool.withResource(priority: priority) { item in
            await item.use {
                entered.raise()
                await waitUntil { leave.isRaised }
            }
        }
    }
    await waitUntil { entered.isRaised }
    return task
}

/// Starts a task, and returns once it waits for a place.
func start<Resource>(
    at pool: ResourcePool<Resource>, _ body: @escaping @Sendable () async throws -> Void
) async -> Task<Void, any Error> {
    let waiting = pool.waitingCount
    let task = Task { try await body() }
    await waitUntil { pool.waitingCount == waiting + 1 }
    return task
}
