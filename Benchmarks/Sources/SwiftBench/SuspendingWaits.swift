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
    var tasks = 64

    /// Waits until it is inside, and returns when that was.
    private typealias Section = @Sendable (_ urgent: Bool) async -> Int64

    func run() {
        for microseconds in [1, 10] {
            let turns = Int(Double(microseconds) * turnsPerMicrosecond)
            let actor = TimedActor(), value = QueueSafeValue(value: 0)
            measure(
                "suspending, urgent task among \(tasks), \(microseconds) us sections",
                [
                    ("actor", { _ in await actor.section(turns) }),
                    ("semaphore of continuations", ofContinuations(permits: 1, turns)),
                    (
                        "QueueSafeValue.suspending",
                        { urgent in
                            var entered: Int64 = 0
                            await value.suspending.priority(urgent ? .high : .normal).set {
                                entered = bench_now_ns()
                                $0 &+= 1
                                bench_busy(turns)
                            }
                            return entered
                        }
                    ),
                ])
        }
    }

    /// Sections with permits, which suspend once. Without that, tasks that meet nobody would never leave their threads
    /// to the others.
    func runPermits() {
        for permits in [1, 2] {
            let actor = ActorSemaphore(permits: permits), ours = PrioritySemaphore(value: permits)
            measure(
                "semaphore of \(permits), urgent task among \(tasks), 1 us sections that suspend",
                [
                    ("actor with continuations", ofActor(actor)),
                    ("semaphore of continuations", ofContinuations(permits: permits, sectionTurns, suspends: true)),
                    (
                        "PrioritySemaphore.withPermit",
                        { [body] urgent in
                            let entered = try? await ours.withPermit(priority: urgent ? .high : .normal) {
                                await body()
                            }
                            return entered!
                        }
                    ),
                ])
        }
    }

    /// The same with a value that one task has at a time.
    func runMutexes() {
        let actor = ActorSemaphore(permits: 1), ours = AsyncMutex(0)
        measure(
            "async mutex, urgent task among \(tasks), 1 us sections that suspend",
            [
                ("actor with continuations", ofActor(actor)),
                ("semaphore of continuations", ofContinuations(permits: 1, sectionTurns, suspends: true)),
                (
                    "AsyncMutex.withLock",
                    { [body] urgent in
                        let entered = try? await ours.withLock(priority: urgent ? .high : .normal) { value in
                            value &+= 1
                            return await body()
                        }
                        return entered!
                    }
                ),
            ])
    }

    /// The same with two resources, each of which one task has at a time.
    func runPools() {
        let actor = ActorPool(Connection.some(2)), continuations = ContinuationPool(Connection.some(2))
        let ours = ResourcePool(maximum: 2) { Connection() }
        measure(
            "resource pool of 2, urgent task among \(tasks), 1 us uses that suspend",
            [
                (
                    "actor with continuations",
                    { [body] _ in
                        let connection = await actor.acquire(), entered = await body()
                        await actor.release(connection)
                        return entered
                    }
                ),
                (
                    "pool of continuations",
                    { [body] urgent in await continuations.withResource(isUrgent: urgent) { _ in await body() } }
                ),
                (
                    "ResourcePool.withResource",
                    { [body] urgent in
                        let entered = try? await ours.withResource(priority: urgent ? .high : .normal) { _ in
                            await body()
                        }
                        return entered!
                    }
                ),
            ], showsTail: true)
    }

    private var sectionTurns: Int { Int(turnsPerMicrosecond) }

    private var body: @Sendable () async -> Int64 {
        let turns = sectionTurns
        return {
            let entered = bench_now_ns()
            bench_busy(turns)
            await Task.yield()
            return entered
        }
    }

    private func ofActor(_ actor: ActorSemaphore) -> Section {
        { [body] _ in
            await actor.wait()
            let entered = await body()
            await actor.signal()
            return entered
        }
    }

    private func ofContinuations(permits: Int, _ turns: Int, suspends: Bool = false) -> Section {
        let semaphore = ContinuationSemaphore(permits: permits)
        return { urgent in
            await semaphore.wait(isUrgent: urgent)
            let entered = bench_now_ns()
            bench_busy(turns)
            if suspends { await Task.yield() }
            semaphore.signal()
            return entered
        }
    }

    private func measure(
        _ group: String, _ subjects: [(name: String, section: Section)], showsTail: Bool = false
    ) {
        let names = subjects.map(\.name)
        var throughput = Rows(names), waits = Rows(names), tails = Rows(names)
        note("\(group) ")
        inRounds(
            rounds,
            subjects.map { name, section in
                Turn(subject: name) {
                    let contest = contend(section)
                    waits.add(name, contest.median)
                    tails.add(name, contest.tail)
                    throughput.add(name, contest.rate)
                }
            })
        note("\n")
        results.print(group, "p50 us", baseline: names[0], waits.values)
        if showsTail { results.print(group, "p99 us", baseline: names[0], tails.values) }
        results.print(group, "Mops/s", baseline: names[0], throughput.values)
    }

    /// The urgent task's median and 99th percentile of its waits in microseconds, and how many millions of sections all
    /// had in a second.
    private func contend(
        _ section: @escaping @Sendable (Bool) async -> Int64
    ) -> (median: Double, tail: Double, rate: Double) {
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
        return contest.gathered.withLock { gathered in
            let waits = gathered.waits.sorted(), tail = waits[waits.count * 99 / 100]
            return (median(waits) / 1000, tail / 1000, Double(gathered.entered) / seconds / 1e6)
        }
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
final class ContinuationSemaphore: Sendable {
    private struct State {
        var free: Int
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
    private let state: Mutex<State>

    init(permits: Int) { state = Mutex(State(free: permits)) }

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
        if state.free == 0 { return false }
        state.free -= 1
        return true
    }

    func signal() {
        let next = state.withLock { state in
            let next = state.pop()
            if next == nil { state.free += 1 }
            return next
        }
        next?.resume()
    }
}

/// The same as an actor, which knows no priorities.
actor ActorSemaphore {
    private var free: Int
    private var waiting = [CheckedContinuation<Void, Never>](), next = 0

    init(permits: Int) { free = permits }

    func wait() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func signal() {
        guard next < waiting.count else {
            free += 1
            return
        }
        waiting[next].resume()
        next += 1
        if next == 256 {
            waiting.removeFirst(next)
            next = 0
        }
    }
}
