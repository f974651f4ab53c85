import Synchronization
import Testing

@testable import SwiftSync

/// Requests that are given up before the factory returns, and more of them than resources.
@Suite(.endsInTime)
struct ResourcePoolLoadTests {
    private static let clients = 40

    /// Lets all clients do that so often.
    private static func load(times: Int, _ request: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<clients { group.addTask { for _ in 0..<times { await request() } } }
        }
    }

    /// Where each factory was cancelled with the request that began it, none ever returned.
    @Test
    func requestsWithDeadlinesShorterThanTheFactoryAreServedOnceItHasReturned() async throws {
        let goOn = Door(), calls = Atomic(0), cancelled = Atomic(0), used = Shared([Int]())
        let pool = ResourcePool(maximum: 4, makeTimeout: nil) {
            let call = calls.add(1, ordering: .relaxed).newValue
            await goOn.pass()
            if Task.isCancelled { cancelled.add(1, ordering: .relaxed) }
            return call
        }
        let first = (0..<Self.clients).map { _ in Task { try await pool.withResource { _ in } } }
        await waitUntil { pool.waitingCount == Self.clients }
        for task in first { task.cancel() }
        for task in first { await #expect(throws: ResourcePoolError.cancelled) { try await task.value } }
        await Self.load(times: 4) {
            await #expect(throws: ResourcePoolError.timedOut) {
                try await pool.withResource(timeout: .milliseconds(1)) { _ in }
            }
        }
        #expect(pool.count == 4 && pool.waitingCount == 0)
        goOn.open()
        await waitUntil { pool.idleCount == 4 }
        await Self.load(times: 20) {
            do {
                try await pool.withResource { resource in
                    await Task.yield()
                    used.append(resource)
                }
            } catch { Issue.record(error) }
        }
        #expect(used.value.count == 20 * Self.clients && used.value.allSatisfy { 1...4 ~= $0 })
        #expect(calls.load(ordering: .relaxed) == 4 && cancelled.load(ordering: .relaxed) == 0)
        #expect(await pool.shutdown().isComplete)
    }
}
