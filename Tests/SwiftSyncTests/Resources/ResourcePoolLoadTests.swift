import Synchronization
import Testing

@testable import SwiftSync

/// Requests whose deadlines are shorter than what the factory takes, and more of them than resources.
@Suite(.endsInTime)
struct ResourcePoolLoadTests {
    /// How the requests of a stretch of time ended.
    private final class Stretch: Sendable {
        let served = Atomic(0), refused = Atomic(0)

        var share: Double {
            let served = served.load(ordering: .relaxed), all = served + refused.load(ordering: .relaxed)
            return all == 0 ? 0 : Double(served) / Double(all)
        }
    }

    /// Lets 40 clients make requests with deadlines of 50 ms for that long.
    private static func load(_ pool: ResourcePool<Int>, for time: Duration) async -> Stretch {
        let stretch = Stretch(), end = ContinuousClock.now + time
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    while ContinuousClock.now < end {
                        do {
                            try await pool.withResource(timeout: .milliseconds(50)) { _ in
                                try await Task.sleep(for: .milliseconds(1))
                            }
                            stretch.served.add(1, ordering: .relaxed)
                        } catch {
                            stretch.refused.add(1, ordering: .relaxed)
                        }
                    }
                }
            }
        }
        return stretch
    }

    /// Where each factory was cancelled with the request that began it, none ever returned. It runs in a process of its
    /// own, where no other test keeps the tasks' threads busy. On a machine that does other things besides, a stretch
    /// may be bad all the same; so it is repeated until one is good.
    @Test
    func requestsWithDeadlinesShorterThanTheFactoryAreServedOnceItHasReturned() async {
        await #expect(processExitsWith: .success) {
            let pool = ResourcePool(maximum: 4) {
                try await Task.sleep(for: .milliseconds(100))
                return 1
            }
            _ = await Self.load(pool, for: .milliseconds(300))
            let end = ContinuousClock.now + .seconds(60)
            var share = 0.0
            repeat {
                share = await Self.load(pool, for: .milliseconds(200)).share
            } while share < 0.95 && ContinuousClock.now < end
            mustHold(share >= 0.95)
            mustHold(pool.count <= 4 && pool.inUseCount == 0)
            let report = await pool.shutdown()
            mustHold(report.isComplete)
        }
    }
}
