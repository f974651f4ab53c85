import Glibc
import Testing

@testable import SwiftSync

/// Threads and tasks at one semaphore, which ask for one permit or for several, give up and are cancelled, while its
/// size changes: no permit is lost or doubled.
///
/// A short form; `SWIFTSYNC_PERMITS=100000` asks so often for each of sixteen, and `SWIFTSYNC_SEED=7` makes other
/// choices.
@Suite(.endsInTime)
struct PrioritySemaphoreStressTests {
    private static let rounds = number("SWIFTSYNC_PERMITS") ?? 300
    private static let seed = UInt64(number("SWIFTSYNC_SEED") ?? 0)
    /// The size is never less than what anybody asks for, so that everybody is served in the end.
    private static let least = 3, most = 8

    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    /// The permits that are out.
    private final class Out: Sendable {
        private let count = Shared(0), isTooMany = Flag()

        var wereTooMany: Bool { isTooMany.isRaised }
        func take(_ permits: Int) {
            let now = count.access { number in
                number += permits
                return number
            }
            if now > most { isTooMany.raise() }
        }
        func give(_ permits: Int) { count.access { $0 -= permits } }
    }

    private struct Request {
        let permits: Int, priority: CommandPriority, timeout: TimeLimit, isCancelled: Bool

        init(_ random: inout Seeded) {
            permits = Int.random(in: 1...least, using: &random)
            priority = CommandPriority(rawValue: Int32.random(in: 0..<3, using: &random))
            let isPatient = Int.random(in: 0..<3, using: &random) > 0
            timeout = isPatient ? .never : .microseconds(Int.random(in: 0..<100, using: &random))
            isCancelled = Int.random(in: 0..<3, using: &random) == 0
        }
    }

    private static func block(_ semaphore: PrioritySemaphore, _ out: Out, _ index: Int) {
        var random = Seeded(seed << 8 | UInt64(index))
        for _ in 0..<rounds {
            let request = Request(&random)
            try? semaphore.blockingWithPermit(
                permits: request.permits, priority: request.priority, timeout: request.timeout
            ) {
                out.take(request.permits)
                if request.isCancelled { sched_yield() }
                out.give(request.permits)
            }
            if request.permits == 1 { try? semaphore.resize(to: Int.random(in: least...most, using: &random)) }
        }
    }

    private static func suspend(_ semaphore: PrioritySemaphore, _ out: Out, _ index: Int) async {
        var random = Seeded(seed << 8 | UInt64(index))
        for _ in 0..<rounds {
            let request = Request(&random)
            let task = Task {
                try await semaphore.withPermit(
                    permits: request.permits, priority: request.priority, timeout: request.timeout
                ) {
                    out.take(request.permits)
                    await Task.yield()
                    out.give(request.permits)
                }
            }
            if request.isCancelled { task.cancel() }
            _ = await task.result
        }
    }

    @Test
    func noPermitIsLostOrDoubledWhileTheSizeChanges() async throws {
        let semaphore = PrioritySemaphore(value: Self.least, most: Self.most), out = Out()
        let threads = (0..<8).map { index in Thread { Self.block(semaphore, out, index) } }
        await withTaskGroup(of: Void.self) { group in
            for index in 8..<16 { group.addTask { await Self.suspend(semaphore, out, index) } }
        }
        threads.forEach { $0.join() }
        try semaphore.resize(to: Self.most)
        #expect(semaphore.availablePermits == Self.most && semaphore.waitingCount == 0)
        #expect(!out.wereTooMany)
    }
}
