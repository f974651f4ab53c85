import CBenchSupport
import Dispatch
import Foundation
import SwiftSync

/// How late timed locks come back from a lock that is held.
struct Timeouts {
    let results: Results
    let rounds: Int

    func run() {
        for milliseconds in [1, 5, 50] {
            note("timeout of \(milliseconds) ms ")
            let late = lateness(milliseconds: milliseconds, rounds: rounds, tries: milliseconds > 5 ? 1 : 5)
            results.print("timeout of \(milliseconds) ms", "late us", baseline: "NSLock", late.values)
        }
        // Less than 0 is a timeout that fired early.
        note("timeouts: never early ")
        let least = lateness(milliseconds: 1, rounds: rounds, tries: 25).values.map {
            (subject: $0.subject, rounds: [$0.rounds.min() ?? .nan])
        }
        results.print("timeouts of 1 ms: never early", "least late us", baseline: "", least)
    }

    private func lateness(milliseconds: Int, rounds: Int, tries: Int) -> Rows {
        let lock = NSLock(), semaphore = DispatchSemaphore(value: 0), mutex = PriorityMutex(0),
            section = CriticalSection()
        let release = DispatchSemaphore(value: 0), isHeld = DispatchSemaphore(value: 0)
        let holder = Thread {
            lock.lock()
            mutex.withLock { _ in
                section.execute {
                    isHeld.signal(); release.wait()
                }
            }
            lock.unlock()
        }
        holder.start()
        isHeld.wait()

        let span = Double(milliseconds) / 1e3
        var late = Rows(["NSLock", "DispatchSemaphore", "PriorityMutex", "CriticalSection"])
        func turn(_ subject: String, _ attempt: @escaping () -> Bool) -> Turn {
            Turn(subject: subject) {
                for _ in 0..<tries {
                    let begin = bench_now_ns()
                    precondition(!attempt(), "the lock is held")
                    late.add(subject, Double(bench_now_ns() - begin) / 1e3 - Double(milliseconds) * 1e3)
                }
            }
        }
        inRounds(
            rounds,
            [
                turn("NSLock") { lock.lock(before: Date(timeIntervalSinceNow: span)) },
                turn("DispatchSemaphore") { semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success },
                turn("PriorityMutex") {
                    mutex.withLock(priority: .normal, timeout: .milliseconds(milliseconds)) { _ in } != nil
                },
                turn("CriticalSection") { section.execute(timeout: .milliseconds(milliseconds)) {} },
            ])
        note("\n")
        release.signal()
        return late
    }
}
