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
            var late: [(subject: String, rounds: [Double])] = [("NSLock", []), ("DispatchSemaphore(1)", []), ("PriorityMutex", []), ("CriticalSection", [])]
            let lock = NSLock(), semaphore = DispatchSemaphore(value: 0), mutex = PriorityMutex(0), section = CriticalSection()
            let release = DispatchSemaphore(value: 0), isHeld = DispatchSemaphore(value: 0)
            let holder = Thread {
                lock.lock()
                mutex.withLock { _ in section.execute { isHeld.signal(); release.wait() } }
                lock.unlock()
            }
            holder.start()
            isHeld.wait()
            let span = Double(milliseconds) / 1e3
            func measure(_ index: Int, _ attempt: () -> Bool) {
                let begin = bench_now_ns()
                precondition(!attempt(), "the lock is held")
                let microseconds = Double(bench_now_ns() - begin) / 1e3 - Double(milliseconds) * 1e3
                if index >= 2 { precondition(microseconds >= 0, "\(late[index].subject): a timeout fired early") }
                late[index].rounds.append(microseconds)
            }
            for _ in 0..<(milliseconds > 5 ? rounds : rounds * 5) {
                measure(0) { lock.lock(before: Date(timeIntervalSinceNow: span)) }
                measure(1) { semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success }
                measure(2) { mutex.withLock(priority: .normal, timeout: .milliseconds(milliseconds)) { _ in } != nil }
                measure(3) { section.execute(timeout: .milliseconds(milliseconds)) {} }
            }
            note(".")
            release.signal()
            results.print("timeout of \(milliseconds) ms", "late us", baseline: "NSLock", late)
        }
    }
}
