import SwiftSync
import Synchronization

/// Nanoseconds of one increment where programs have it: a method of a class increments a property of the object.
///
/// A loop over a local value lets the optimizer keep addresses, and a queue-safe value's commands, in registers from
/// one turn to the next. Here each increment begins with the object.
struct CallSites {
    let results: Results
    let rounds: Int
    private let times = 400_000

    private final class WithMutex: Sendable {
        let value = Mutex(0)
        @inline(never) func increment() { value.withLock { $0 &+= 1 } }
    }

    private final class WithPriorityMutex: Sendable {
        let value = PriorityMutex(0)
        @inline(never) func increment() { value.withLock { $0 &+= 1 } }
    }

    private final class WithQueueSafeValue: Sendable {
        let value = QueueSafeValue(value: 0)
        @inline(never) func increment() { value.wait.lowestPriority.set { $0 += 1 } }
    }

    func run() {
        let plain = WithMutex(), priority = WithPriorityMutex(), safe = WithQueueSafeValue()
        let loops = LoopGroup(results: results, rounds: rounds)
        func turn(_ name: String, _ loop: @escaping (Int) -> Void) -> Turn {
            loops.turn(name, times: times, warmUp: 1000) {
                loop($0); return $0
            }
        }
        loops.report(
            "increment of a property of a class", baseline: "Synchronization.Mutex", printsAllocations: false,
            [
                turn("Synchronization.Mutex") { times in for _ in 0..<times { plain.increment() } },
                turn("PriorityMutex") { times in for _ in 0..<times { priority.increment() } },
                turn("QueueSafeValue.wait.set") { times in for _ in 0..<times { safe.increment() } },
            ])
    }
}
