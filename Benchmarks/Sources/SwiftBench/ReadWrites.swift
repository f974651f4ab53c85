import CBenchSupport
import Dispatch
import Foundation
import SwiftSync

/// Nanoseconds of uncontended reads and writes, and of an enqueued write with its share of the drain.
struct ReadWrites {
    let results: Results
    let rounds: Int
    private let times = 200_000

    private final class Counter: @unchecked Sendable {
        var number = 1

        @inline(__always) func increment() -> Int {
            number &+= 1
            return 1
        }
    }

    @inline(__always) private func increment(_ number: inout Int) -> Int {
        number &+= 1
        return 1
    }

    func run() {
        let queue = DispatchQueue(label: "subject", attributes: .concurrent), coordinator = ReadWriteCoordinator(),
            counter = Counter(), serial = WorkQueue(name: "subject")
        let pthread = PthreadReadWriteLock(), plain = ReadWriteLock(1), biased = ReadWriteLock(1, readerBias: true)

        let loops = LoopGroup(results: results, rounds: rounds)
        func turn(_ name: String, _ loop: @escaping (Int) -> Int) -> Turn {
            loops.turn(name, times: times, warmUp: 2000, loop)
        }
        func summed(_ times: Int, _ read: () -> Int) -> Int {
            var sum = 0
            for _ in 0..<times { sum &+= read() }
            return sum
        }

        loops.report(
            "uncontended read", baseline: "DispatchQueue.sync, concurrent",
            [
                turn("DispatchQueue.sync, concurrent") { summed($0) { queue.sync { counter.number } } },
                turn("pthread_rwlock") { summed($0) { pthread.read { $0 } } },
                turn("ReadWriteCoordinator.read") { summed($0) { coordinator.read { counter.number } } },
                turn("ReadWriteLock") { summed($0) { plain.withReadLock { $0 } } },
                turn("ReadWriteLock, biased") { summed($0) { biased.withReadLock { $0 } } },
            ])
        loops.report(
            "uncontended write", baseline: "pthread_rwlock",
            [
                turn("DispatchQueue.sync, barrier") {
                    summed($0) { queue.sync(flags: .barrier) { counter.increment() } }
                },
                turn("pthread_rwlock") {
                    summed($0) { pthread.write { increment(&$0) } }
                },
                turn("ReadWriteCoordinator.blockingWrite") {
                    summed($0) { coordinator.blockingWrite { counter.increment() } }
                },
                turn("ReadWriteLock") {
                    summed($0) { plain.withWriteLock { increment(&$0) } }
                },
            ])
        loops.report(
            "enqueued write and its share of the drain", baseline: "DispatchQueue.async, barrier",
            [
                turn("DispatchQueue.async, barrier") { times in
                    for _ in 0..<times { queue.async(flags: .barrier) { counter.number &+= 1 } }
                    return queue.sync(flags: .barrier) { counter.number }
                },
                turn("ReadWriteCoordinator.enqueueWrite") { times in
                    for _ in 0..<times { coordinator.enqueueWrite { counter.number &+= 1 } }
                    return coordinator.read { counter.number }
                },
                turn("WorkQueue.async") { times in
                    for _ in 0..<times { serial.async { counter.number &+= 1 } }
                    return serial.sync { counter.number }
                },
            ])
    }
}
