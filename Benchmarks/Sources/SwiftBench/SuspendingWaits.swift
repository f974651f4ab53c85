import CBenchSupport
import Dispatch
import SwiftSync
import Synchronization

/// Tasks that all want the same section, and an urgent one among them: how long that one waits, and how often all of
/// them are let in.
struct SuspendingWaits {
    let results: Results
    let rounds: Int
    let windowMilliseconds: Int
    let turnsPerMicrosecond: Double
    private let tasks = 64

    func run() {
        for microseconds in [1, 10] { measure(microseconds: microseconds) }
    }

    private func measure(microseconds: Int) {
        let names = ["actor", "semaphore of continuations", "QueueSafeValue.suspending"]
        var throughput = Rows(names), waits = Rows(names)
        let group = "suspending, urgent task among \(tasks), \(microseconds) us sections"
        let turns = Int(Double(microseconds) * turnsPerMicrosecond)
        func turn(_ name: String, _ section: @escaping @Sendable (_ urgent: Bool) async -> Int64) -> Turn {
            Turn(subject: name) {
                let (median, rate) = contend(section)
                waits.add(name, median)
                throughput.add(name, rate)
            }
        }
        let actor = TimedActor(), semaphore = ContinuationSemaphore(), value = QueueSafeValue(value: 0)
        note("\(group) ")
        inRounds(
            rounds,
            [
                turn(names[0]) { _ in await actor.section(turns) },
                turn(names[1]) { urgent in
                    await semaphore.wait(isUrgent: urgent)
                    let entered = bench_now_ns()
                    bench_busy(turns)
                    semaphore.signal()
                    return entered
                },
                turn(names[2]) { urgent in
                    var entered: Int64 = 0
                    await value.suspending.priority(urgent ? .high : .normal).set {
                        entered = bench_now_ns()
                        $0 &+= 1
                        bench_busy(turns)
                    }
                    return entered
                },
            ])
        note("\n")
        results.print(group, "p50 us", baseline: names[0], waits.values)
        results.print(group, "Mops/s", baseline: names[0], throughput.values)
    }

    /// The urgent task's median wait in microseconds, and how many millions of sections all had in a second.
    private func contend(_ section: @escaping @Sendable (Bool) async -> Int64) -> (Double, Double) {
        let contest = Contest(end: bench_now_ns() + Int64(windowMilliseconds) * 5_000_000)
        let begin = bench_now_ns(), done = DispatchSemaphore(value: 0), tasks = tasks
        Task.detached {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<tasks { group.addTask { await contest.contend(section) } }
                group.addTask(priority: .high) { await contest.beUrgent(section) }
            }
            done.signal()
        }
        done.wait()
        let seconds = Double(bench_now_ns() - begin) / 1e9
        return contest.gathered.withLock { (median($0.waits) / 1000, Double($0.entered) / seconds / 1e6) }
    }
}

private final class Contest: Sendable {
    let end: Int64
    let isClosed = Atomic(false)
    let gathered = Mutex((entered: 0, waits: [Double]()))

    init(end: Int64) { self.end = end }

    func contend(_ section: @Sendable (Bool) async -> Int64) async {
        var entered = 0
        while !isClosed.load(ordering: .relaxed) {
            _ = await section(false)
            entered += 1
        }
        gathered.withLock { $0.entered += entered }
    }

    func beUrgent(_ section: @Sendable (Bool) async -> Int64) async {
        var waits = [Double]()
        while bench_now_ns() < end {
            try? await Task.sleep(nanoseconds: 200_000)
            let begin = bench_now_ns()
            waits.append(Double(await section(true) - begin))
        }
        isClosed.store(true, ordering: .relaxed)
        gathered.withLock { $0.waits = waits }
    }
}

private actor TimedActor {
    private var value = 0
    func section(_ turns: Int) -> Int64 {
        let entered = bench_now_ns()
        value &+= 1
        bench_busy(turns)
        return entered
    }
}

/// What programs write where a task may not block: a count and continuations behind a lock. The urgent go first.
private final class ContinuationSemaphore: Sendable {
    private struct State {
        var isFree = true
        var urgent = [CheckedContinuation<Void, Never>](), others = [CheckedContinuation<Void, Never>]()
        var nextOther = 0

        mutating func pop() -> CheckedContinuation<Void, Never>? {
            if !urgent.isEmpty { return urgent.removeFirst() }
            guard nextOther < others.count else { return nil }
            nextOther += 1
            let next = others[nextOther - 1]
            if nextOther == 256 {
                others.removeFirst(nextOther)
                nextOther = 0
            }
            return next
        }
    }
    private let state = Mutex(State())

    func wait(isUrgent: Bool) async {
        if state.withLock({ take(&$0) }) { return }
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if take(&state) { return true }
                if isUrgent { state.urgent.append(continuation) } else { state.others.append(continuation) }
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func take(_ state: inout State) -> Bool {
        defer { state.isFree = false }
        return state.isFree
    }

    func signal() {
        let next = state.withLock { state in
            let next = state.pop()
            if next == nil { state.isFree = true }
            return next
        }
        next?.resume()
    }
}
