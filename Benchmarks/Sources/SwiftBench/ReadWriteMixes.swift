import CBenchSupport
import Dispatch
import Foundation
import SwiftSync

/// Reads and writes a second of eight threads that mix them. A write of one form waits until it is done; one of the
/// other is queued, and the thread's next read comes after it.
struct ReadWriteMixes {
    let results: Results
    let rounds: Int
    let windowMilliseconds: Int
    private let threads = 8

    /// What is read and written, one for each subject: only ever by whom it lets in.
    private final class Number: @unchecked Sendable {
        var value = 1
    }

    /// Calls of `read` and `write` by all threads, in millions a second; a write in `interval`.
    private func throughput(
        _ interval: UInt64, read: @escaping @Sendable () -> Int, write: @escaping @Sendable () -> Void
    ) -> Double {
        let window = Window(), calls = Shared(), sums = Shared(), millis = windowMilliseconds
        var open: Int64 = 0
        onThreads(threads, meanwhile: { open = window.hold(for: threads, milliseconds: millis) }) { index in
            var random = UInt64(index + 1) &* 0x9E37_79B9_7F4A_7C15, count = 0, sum = 0
            window.enter()
            while !window.isClosed {
                random ^= random << 13
                random ^= random >> 7
                random ^= random << 17
                if (random >> 20) % interval == 0 { write() } else { sum &+= read() }
                count += 1
            }
            calls.add(count)
            sums.add(sum & 1)
        }
        return Double(calls.value) * 1e3 / Double(open)
    }

    func run() {
        for (interval, title) in [(UInt64(100), "99 reads to 1 write"), (10, "90 reads to 10 writes")] {
            let group = "closures, \(threads) threads, \(title)"
            let dispatched = Number(), coordinated = Number()
            let queue = DispatchQueue(label: "subject", attributes: .concurrent), coordinator = ReadWriteCoordinator()
            let pthread = PthreadReadWriteLock(), plain = ReadWriteLock(1)
            var rows = Rows([])
            // `drain` comes after the time that counts: what a subject has queued must not run beside the next one.
            func turn(
                _ name: String, read: @escaping @Sendable () -> Int, write: @escaping @Sendable () -> Void,
                drain: @escaping () -> Void = {}
            ) -> Turn {
                Turn(subject: name) {
                    rows.add(name, throughput(interval, read: read, write: write))
                    drain()
                }
            }
            let all = [
                turn("DispatchQueue.sync, barrier", read: { queue.sync { dispatched.value } }) {
                    queue.sync(flags: .barrier) { dispatched.value &+= 1 }
                },
                turn(
                    "DispatchQueue.async, barrier", read: { queue.sync { dispatched.value } },
                    write: { queue.async(flags: .barrier) { dispatched.value &+= 1 } },
                    drain: { queue.sync(flags: .barrier) {} }),
                turn("ReadWriteCoordinator.blockingWrite", read: { coordinator.read { coordinated.value } }) {
                    coordinator.blockingWrite { coordinated.value &+= 1 }
                },
                turn(
                    "ReadWriteCoordinator.enqueueWrite", read: { coordinator.read { coordinated.value } },
                    write: { coordinator.enqueueWrite { coordinated.value &+= 1 } }, drain: { coordinator.drain() }),
                turn("pthread_rwlock", read: { pthread.read { $0 } }) { pthread.write { $0 &+= 1 } },
                turn("ReadWriteLock", read: { plain.withReadLock { $0 } }) { plain.withWriteLock { $0 &+= 1 } },
            ]
            rows = Rows(all.map(\.subject))
            note("\(group) ")
            inRounds(rounds, all)
            note("\n")
            results.print(group, "Mops/s", baseline: "DispatchQueue.sync, barrier", rows.values)
        }
    }
}
