import Glibc
import Testing

@testable import SwiftSync

/// Threads and tasks at one full queue, which push and pop, give up and are cancelled: no element is lost or there
/// twice.
///
/// A short form; `SWIFTSYNC_ELEMENTS=1250000` has each of eight ask so often, and `SWIFTSYNC_SEED=7` makes other
/// choices.
@Suite(.endsInTime)
struct BlockingPriorityQueueStressTests {
    private static let rounds = number("SWIFTSYNC_ELEMENTS") ?? 12_500
    private static let seed = UInt64(number("SWIFTSYNC_SEED") ?? 0)

    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    private struct Request {
        let element: Int, priority: CommandPriority, timeout: Duration, isCancelled: Bool

        init(_ random: inout Seeded, _ element: Int) {
            self.element = element
            priority = CommandPriority(rawValue: Int32.random(in: 0..<3, using: &random))
            isCancelled = Int.random(in: 0..<4, using: &random) == 0
            // Nobody waits for ever: the others may have ended.
            timeout = .microseconds(Int.random(in: 0..<(isCancelled ? 2000 : 100), using: &random))
        }
    }

    private typealias Queue = BlockingPriorityQueue<Int>

    /// The elements that one of the eight has pushed, or popped.
    private static func block(_ queue: Queue, _ index: Int) -> [Int] {
        var random = Seeded(seed << 8 | UInt64(index)), moved = [Int]()
        for round in 0..<rounds {
            let request = Request(&random, index * rounds + round)
            do {
                if index % 2 == 0 {
                    try queue.push(request.element, priority: request.priority, timeout: .after(request.timeout))
                    moved.append(request.element)
                } else if let element = try queue.pop(timeout: .after(request.timeout)) {
                    moved.append(element)
                }
            } catch {}
        }
        return moved
    }

    private static func suspend(_ queue: Queue, _ index: Int) async -> [Int] {
        var random = Seeded(seed << 8 | UInt64(index)), moved = [Int]()
        for round in 0..<rounds {
            let request = Request(&random, index * rounds + round), pushes = index % 2 == 0
            if request.isCancelled {
                let task = Task { await suspend(queue, request, pushes: pushes) }
                if round % 2 == 0 { await Task.yield() }
                task.cancel()
                if let element = await task.value { moved.append(element) }
            } else if let element = await suspend(queue, request, pushes: pushes) {
                moved.append(element)
            }
        }
        return moved
    }

    private static func suspend(_ queue: Queue, _ request: Request, pushes: Bool) async -> Int? {
        do {
            if !pushes { return try await queue.suspending.pop(timeout: .after(request.timeout)) }
            try await queue.suspending.push(
                request.element, priority: request.priority, timeout: .after(request.timeout))
            return request.element
        } catch { return nil }
    }

    @Test
    func noElementIsLostOrDoubled() async {
        let queue = Queue(capacity: 2), pushed = Shared<[Int]>([]), popped = Shared<[Int]>([])
        let threads = (0..<4).map { index in
            Thread {
                let moved = Self.block(queue, index)
                (index % 2 == 0 ? pushed : popped).access { $0 += moved }
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for index in 4..<8 {
                group.addTask {
                    let moved = await Self.suspend(queue, index)
                    (index % 2 == 0 ? pushed : popped).access { $0 += moved }
                }
            }
        }
        threads.forEach { $0.join() }
        #expect(queue.waitingCount == 0)
        popped.access { $0 += queue.takeAll() }
        #expect(pushed.value.sorted() == popped.value.sorted())
    }
}
