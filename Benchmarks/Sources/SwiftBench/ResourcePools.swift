import CBenchSupport
import SwiftSync
import Synchronization

/// What the pools give out.
final class Connection: Sendable {}

/// Resources that tasks take from a pool and give back.
struct ResourcePools {
    let results: Results
    let rounds: Int
    let windowMilliseconds: Int
    let turnsPerMicrosecond: Double

    func run() {
        usesOfTask()
        for tasks in [8, 64] {
            SuspendingWaits(
                results: results, rounds: rounds, windowMilliseconds: windowMilliseconds,
                turnsPerMicrosecond: turnsPerMicrosecond, tasks: tasks
            ).runPools()
        }
        makingsAtOnce()
        shortTimeouts()
    }

    /// What a task takes and gives back while nobody else wants it.
    private func usesOfTask() {
        let actor = ActorPool(Connection.some(1)), continuations = ContinuationPool(Connection.some(1))
        let ours = ResourcePool(maximum: 1) { Connection() }
        let loops = LoopGroup(results: results, rounds: rounds)
        func turn(_ name: String, _ once: @escaping @Sendable () async -> Void) -> Turn {
            loops.turn(name, times: 100_000, warmUp: 1000) { times in
                waitForTask { for _ in 0..<times { await once() } }
                return times
            }
        }
        loops.report(
            "resource pool, withResource of a task", baseline: "actor with continuations",
            [
                turn("actor with continuations") {
                    let connection = await actor.acquire()
                    // Outside of the actor: otherwise the optimizer stays in it.
                    bench_busy(0)
                    await actor.release(connection)
                },
                turn("pool of continuations") {
                    await continuations.withResource(isUrgent: false) { _ in bench_busy(0) }
                },
                turn("ResourcePool.withResource") { try? await ours.withResource { _ in bench_busy(0) } },
            ])
    }

    /// What each of many resources takes from its request to the end of its use, where each has a task that waits for
    /// it and a call of the factory, and none of these returns before all have begun. Their closing is not measured.
    private func makingsAtOnce() {
        let loops = LoopGroup(results: results, rounds: rounds)
        func turn(_ name: String, _ number: Int) -> Turn {
            var used: [ResourcePool<Connection>] = []
            func close() {
                for pool in used { waitForTask { await pool.shutdown() } }
                used = []
            }
            return loops.turn(name, times: number, warmUp: 1000, after: close) { number in
                let crowd = Crowd(of: number)
                let pool = ResourcePool(maximum: number, makingLimit: nil, makeTimeout: .seconds(3600)) {
                    await crowd.meet()
                    return Connection()
                }
                used.append(pool)
                waitForTask {
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<number { group.addTask { try? await pool.withResource { _ in } } }
                    }
                }
                return number
            }
        }
        /// A making of its own for each, which nobody counts and nothing bounds.
        func turnOfTasks(_ name: String, _ number: Int) -> Turn {
            loops.turn(name, times: number, warmUp: 1000) { number in
                let crowd = Crowd(of: number)
                waitForTask {
                    await withTaskGroup(of: Void.self) { group in
                        for _ in 0..<number {
                            group.addTask {
                                _ = await Task.detached {
                                    await crowd.meet()
                                    return Connection()
                                }.value
                            }
                        }
                    }
                }
                return number
            }
        }
        loops.report(
            "resource pool, each of many makings at once", baseline: "ResourcePool, 20 000 at once",
            printsAllocations: false,
            [
                turnOfTasks("tasks alone, 20 000 at once", 20_000), turn("ResourcePool, 20 000 at once", 20_000),
                turnOfTasks("tasks alone, 100 000 at once", 100_000), turn("ResourcePool, 100 000 at once", 100_000),
            ])
    }

    /// How many of the requests are served whose timeouts are half of what the factory takes, from three times that on.
    private func shortTimeouts() {
        let group = "resource pool of 4, 100 ms factory, 40 tasks with timeouts of 50 ms"
        let subject = "ResourcePool.withResource"
        var shares = Rows([subject])
        note("\(group) ")
        inRounds(rounds, [Turn(subject: subject) { shares.add(subject, shareServed()) }])
        note("\n")
        results.print(group, "% served", baseline: "", shares.values)
    }

    private func shareServed() -> Double {
        let requests = Requests()
        let begin = bench_now_ns() + 300_000_000, end = begin + Int64(windowMilliseconds) * 5_000_000
        let pool = ResourcePool(maximum: 4) {
            try await Task.sleep(for: .milliseconds(100))
            return Connection()
        }
        waitForTask {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        while true {
                            let now = bench_now_ns()
                            if now >= end { return }
                            let isServed: ()? = try? await pool.withResource(timeout: .milliseconds(50)) { _ in
                                try await Task.sleep(for: .milliseconds(1))
                            }
                            if now < begin { continue }
                            requests.all.add(1, ordering: .relaxed)
                            if isServed != nil { requests.served.add(1, ordering: .relaxed) }
                        }
                    }
                }
            }
        }
        return 100 * Double(requests.served.load(ordering: .relaxed)) / Double(requests.all.load(ordering: .relaxed))
    }
}

/// How many requests have ended, and with a resource.
private final class Requests: Sendable {
    let all = Atomic(0), served = Atomic(0)
}

/// Lets tasks go on once so many are there.
private final class Crowd: Sendable {
    private let number: Int
    private let waiting = Mutex([UnsafeContinuation<Void, Never>]())

    init(of number: Int) { self.number = number }

    func meet() async {
        await withUnsafeContinuation { continuation in
            let all = waiting.withLock { waiting in
                waiting.append(continuation)
                return waiting.count == number ? waiting : []
            }
            for one in all { one.resume() }
        }
    }
}

extension Connection {
    static func some(_ count: Int) -> [Connection] { (0..<count).map { _ in Connection() } }
}

/// What programs write: resources and continuations behind a lock. The urgent go first.
final class ContinuationPool: Sendable {
    private let free: Mutex<[Connection]>
    private let semaphore: ContinuationSemaphore

    init(_ connections: [Connection]) {
        free = Mutex(connections)
        semaphore = ContinuationSemaphore(permits: connections.count)
    }

    func withResource<Result>(
        isUrgent: Bool, isolation: isolated (any Actor)? = #isolation, _ body: (Connection) async -> sending Result
    ) async -> sending Result {
        await semaphore.wait(isUrgent: isUrgent)
        let connection = free.withLock { $0.removeLast() }
        defer {
            free.withLock { $0.append(connection) }
            semaphore.signal()
        }
        return await body(connection)
    }
}

/// The same as an actor, which knows no priorities, and hands resources over.
actor ActorPool {
    private var free: [Connection]
    private var waiting = [CheckedContinuation<Connection, Never>](), next = 0

    init(_ connections: [Connection]) { free = connections }

    func acquire() async -> Connection {
        if let connection = free.popLast() { return connection }
        return await withCheckedContinuation { waiting.append($0) }
    }

    func release(_ connection: Connection) {
        guard next < waiting.count else { return free.append(connection) }
        waiting[next].resume(returning: connection)
        next += 1
        if next == 256 {
            waiting.removeFirst(next)
            next = 0
        }
    }
}
