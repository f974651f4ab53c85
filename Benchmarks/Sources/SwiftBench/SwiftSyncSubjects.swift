import CBenchSupport
import SwiftSync

final class FastMutex: TimedSubject {
    static let name = "PriorityMutex"
    private let value = PriorityMutex(0)
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { value.withLock { $0 &+= 1 } } }
    @inline(__always) func section(_ turns: Int) {
        value.withLock {
            $0 &+= 1; bench_busy(turns)
        }
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.withLock(priority: .high) {
            entered = bench_now_ns(); $0 &+= 1; bench_busy(turns)
        }
        return entered
    }
    @inline(__always) func timedSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.withLock {
            entered = bench_now_ns(); $0 &+= 1; bench_busy(turns)
        }
        return entered
    }
}

final class StrictMutex: TimedSubject {
    static let name = "PriorityMutex strict"
    private let value = PriorityMutex(0, policy: .strict)
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { value.withLock { $0 &+= 1 } } }
    @inline(__always) func section(_ turns: Int) {
        value.withLock {
            $0 &+= 1; bench_busy(turns)
        }
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.withLock(priority: .high) {
            entered = bench_now_ns(); $0 &+= 1; bench_busy(turns)
        }
        return entered
    }
    @inline(__always) func timedSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.withLock {
            entered = bench_now_ns(); $0 &+= 1; bench_busy(turns)
        }
        return entered
    }
}

final class TrivialValue: TimedSubject {
    static let name = "QueueSafeValue.wait.set"
    private let value = QueueSafeValue(value: 0)
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { value.wait.lowestPriority.set { $0 += 1 } } }
    @inline(__always) func section(_ turns: Int) {
        value.wait.priority(.normal).set {
            $0 &+= 1; bench_busy(turns)
        }
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.wait.highestPriority.set {
            entered = bench_now_ns(); $0 &+= 1; bench_busy(turns)
        }
        return entered
    }
    @inline(__always) func timedSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.wait.priority(.normal).set {
            entered = bench_now_ns(); $0 &+= 1; bench_busy(turns)
        }
        return entered
    }
}

final class Payload: Sendable {}

struct Referring: Sendable {
    var count = 0
    let payload = Payload()
}

final class ReferringValue: Subject {
    static let name = "QueueSafeValue.wait.set, reference"
    private let value = QueueSafeValue(value: Referring())
    @inline(never) func increments(_ times: Int) {
        for _ in 0..<times { value.wait.lowestPriority.set { $0.count += 1 } }
    }
    @inline(__always) func section(_ turns: Int) {
        value.wait.priority(.normal).set {
            $0.count &+= 1; bench_busy(turns)
        }
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        value.wait.priority(.normal).set {
            $0.count &+= 1; entered = bench_now_ns(); bench_busy(turns)
        }
        return entered
    }
}

/// The same, but what `set` returns is used: the value leaves the section, and its reference is retained on the way.
final class ReferringValueUsed: Subject {
    static let name = "QueueSafeValue.wait.set, reference used"
    private let value = QueueSafeValue(value: Referring())
    @inline(never) func increments(_ times: Int) {
        for _ in 0..<times { use(value.wait.lowestPriority.set { $0.count += 1 }) }
    }
    @inline(__always) func section(_ turns: Int) {
        use(
            value.wait.priority(.normal).set {
                $0.count &+= 1; bench_busy(turns)
            })
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        use(
            value.wait.highestPriority.set {
                $0.count &+= 1; entered = bench_now_ns(); bench_busy(turns)
            })
        return entered
    }
}

/// For all the optimizer knows, reads the value.
@inline(never) @_optimize(none)
private func use(_ result: Result<Referring, QueueSafeValueError>) {}

final class Section: Subject, @unchecked Sendable {
    static let name = "CriticalSection.execute"
    private let section = CriticalSection()
    private var value = 0
    @inline(never) func increments(_ times: Int) { for _ in 0..<times { section.execute { value &+= 1 } } }
    @inline(__always) func section(_ turns: Int) {
        section.execute {
            value &+= 1; bench_busy(turns)
        }
    }
    @inline(__always) func urgentSection(_ turns: Int) -> Int64 {
        var entered: Int64 = 0
        section.execute {
            value &+= 1; entered = bench_now_ns(); bench_busy(turns)
        }
        return entered
    }

    /// Re-entries from inside one outer entry.
    @inline(never)
    func reenter(times: Int) {
        section.execute { for _ in 0..<times { section.execute { value &+= 1 } } }
    }
}
