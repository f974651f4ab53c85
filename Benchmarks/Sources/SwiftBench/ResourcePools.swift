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
