import Glibc
import Synchronization
import Testing

@testable import SwiftSync

/// Tasks at one pool, some of which give up or are cancelled just as a resource comes back or is made, give it up, or
/// fail: no resource is lost, doubled, or closed twice.
///
/// Half of the calls race with a timeout, the others with a cancellation: a hundred thousand each here, a hundredth of
/// what `SWIFTSYNC_RESOURCES=1250000` has, which asks so often for each of sixteen. `SWIFTSYNC_SEED=7` makes other
/// choices.
@Suite(.endsInTime)
struct ResourcePoolStressTests {
    private static let tasks = 16
    private static let isLong = number("SWIFTSYNC_RESOURCES") != nil
    private static let rounds = number("SWIFTSYNC_RESOURCES") ?? 12_500
    private static let seed = UInt64(number("SWIFTSYNC_SEED") ?? 0)
    private static let maximum = 3

    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    /// A resource that tells when two use it, and when it is closed twice or in use.
    private final class Token: Sendable {
        let users = Atomic(0), isClosed = Atomic(false)
    }

    private final class Counts: Sendable {
        let made = Atomic(0), closed = Atomic(0), open = Atomic(0), faults = Atomic(0)
        let served = Atomic(0), timedOut = Atomic(0), cancelled = Atomic(0), failed = Atomic(0)

        func check(_ isRight: Bool) { if !isRight { faults.add(1, ordering: .relaxed) } }

        func make() -> Token {
            made.add(1, ordering: .relaxed)
            check(open.add(1, ordering: .relaxed).newValue <= maximum)
            return Token()
        }

        func close(_ token: Token) {
            check(token.users.load(ordering: .acquiring) == 0)
            check(!token.isClosed.exchange(true, ordering: .acquiringAndReleasing))
            open.subtract(1, ordering: .relaxed)
            closed.add(1, ordering: .relaxed)
        }

        func use(_ token: Token) async {
            check(token.users.add(1, ordering: .acquiringAndReleasing).newValue == 1)
            served.add(1, ordering: .relaxed)
            await Task.yield()
            check(token.users.subtract(1, ordering: .acquiringAndReleasing).newValue == 0)
        }

        func ended(with error: any Error) {
            switch error {
            case ResourcePoolError.timedOut: timedOut.add(1, ordering: .relaxed)
            case ResourcePoolError.cancelled: cancelled.add(1, ordering: .relaxed)
            case Item.Failure.expected: failed.add(1, ordering: .relaxed)
            default: check(false)
            }
        }
    }

    private static func visit(_ pool: ResourcePool<Token>, _ counts: Counts, _ index: Int) async {
        var random = Seeded(seed << 8 | UInt64(index))
        for _ in 0..<rounds {
            let choice = Int.random(in: 0..<1024, using: &random)
            let priority = CommandPriority(rawValue: Int32.random(in: 0..<3, using: &random))
            let timeout: TimeLimit =
                choice % 2 == 0 ? .microseconds(Int.random(in: 0..<200, using: &random)) : .never
            let task = Task {
                do {
                    try await pool.withResource(priority: priority, timeout: timeout) { token, lease in
                        await counts.use(token)
                        if choice % 31 == 0 { lease.discard() }
                        if choice % 37 == 0 { throw Item.Failure.expected }
                    }
                } catch { counts.ended(with: error) }
            }
            if choice % 2 == 1 {
                for _ in 0..<choice / 2 % 4 { await Task.yield() }
                task.cancel()
            }
            await task.value
        }
    }

    @Test
    func noResourceIsLostOrDoubled() async throws {
        let counts = Counts(), calls = Atomic(0)
        let pool = ResourcePool(
            maximum: Self.maximum, minimum: 1, reserved: 1, reservedFor: CommandPriority(rawValue: 2),
            idleTimeout: .milliseconds(1), close: { counts.close($0) },
            make: {
                // Some take a while, and some of these fail.
                let call = calls.add(1, ordering: .relaxed).newValue
                if call % 3 == 0 { await Task.yield() }
                if call % 7 == 0 { throw Item.Failure.expected }
                return counts.make()
            })
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<Self.tasks { group.addTask { await Self.visit(pool, counts, index) } }
        }
        // What a factory still makes for nobody is idle in the end.
        await waitUntil { pool.count == pool.idleCount }
        #expect(pool.inUseCount == 0 && pool.waitingCount == 0 && pool.count <= Self.maximum)
        #expect(await pool.shutdown().isComplete)
        let (made, closed) = (counts.made.load(ordering: .relaxed), counts.closed.load(ordering: .relaxed))
        #expect(counts.faults.load(ordering: .relaxed) == 0 && made == closed)
        let ends = (
            served: counts.served.load(ordering: .relaxed), timedOut: counts.timedOut.load(ordering: .relaxed),
            cancelled: counts.cancelled.load(ordering: .relaxed), failed: counts.failed.load(ordering: .relaxed)
        )
        // The race that it is about took place.
        if Self.rounds >= 1000 { #expect(min(ends.served, ends.timedOut, ends.cancelled, ends.failed) > 0, "\(ends)") }
        if Self.isLong { print("ResourcePool: \(ends), made \(made)") }
    }
}
