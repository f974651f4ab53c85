// Where async bodies run: compiled in each language mode and with each upcoming feature by check.py, and run.
//
// A closure that captures what belongs to an actor, but not the actor itself, is isolated to nothing by itself. So it
// must run where the call stands, or it is a race that the compiler accepts.
import Dispatch
import SwiftSync

nonisolated final class State { var count = 0 }

nonisolated struct Failure: Error {}

/// An actor with a queue of its own, which tells whether the thread is on the actor.
actor Owner {
    let queue = WorkQueue(name: "owner")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
    private let state = State()
    let mutex = AsyncMutex(0), semaphore = PrioritySemaphore(value: 1), fifo = FIFOQueue()
    let pool = ResourcePool(maximum: 1, make: { 1 })

    /// Each call that takes an async body, from a method: the body runs on the actor, also after it was suspended.
    func methods(_ report: Report) async throws {
        let queue = queue
        func here(_ name: String) { report.expect(queue.isCurrent, name) }
        for round in 1...3 {
            try await mutex.withLock { _ in
                here("AsyncMutex.withLock"); await Task.yield(); here("AsyncMutex.withLock, later")
            }
            try await mutex.withLock(priority: .high, timeout: .seconds(60)) { _ in
                await Task.yield(); here("AsyncMutex.withLock(priority:timeout:)")
            }
            _ = await mutex.withLockIfAvailable { _ in
                await Task.yield(); here("AsyncMutex.withLockIfAvailable")
            }
            try await semaphore.withPermit {
                await Task.yield(); here("PrioritySemaphore.withPermit")
            }
            try await semaphore.withPermit(timeout: .seconds(60)) {
                await Task.yield(); here("PrioritySemaphore.withPermit(timeout:)")
            }
            try await pool.withResource { _ in
                await Task.yield(); here("ResourcePool.withResource")
            }
            try await pool.withResource { _, lease in
                await Task.yield(); here("ResourcePool.withResource, lease")
            }
            await withDeadline(.now + .seconds(60)) {
                await Task.yield(); here("withDeadline")
            }
            await withDeadline(SuspendingClock.now + .seconds(60), clock: .suspending) {
                await Task.yield(); here("withDeadline, exact")
            }
            await withPriority(.high) {
                await Task.yield(); here("withPriority")
            }
            await fifo.enqueueAndWait {
                here("FIFOQueue.enqueueAndWait, first"); await Task.yield(); here("FIFOQueue.enqueueAndWait")
            }
            try await fifo.enqueueAndWait { () async throws in
                await Task.yield(); here("FIFOQueue.enqueueAndWait, throwing")
            }
            try await fifo.enqueueAndWait(timeout: .seconds(60)) {
                await Task.yield(); here("FIFOQueue.enqueueAndWait(timeout:)")
            }
            here("the method, round \(round)")
        }
    }

    /// The same while somebody holds what they wait for: the way to the body is another one.
    func busyMethods(_ report: Report) async throws {
        let queue = queue
        func here(_ name: String) { report.expect(queue.isCurrent, name) }
        let (mutex, semaphore, fifo, pool) = (mutex, semaphore, fifo, pool)
        for _ in 1...3 {
            let entered = PrioritySemaphore(value: 0), letGo = PrioritySemaphore(value: 0)
            async let holder: Void = Self.hold(mutex, semaphore, fifo, pool, entered, letGo)
            try await entered.wait()
            // Whoever lets go does so once these wait, or a moment before: either way is tried.
            try letGo.signal()
            try await mutex.withLock { _ in
                await Task.yield(); here("AsyncMutex.withLock, busy")
            }
            try await semaphore.withPermit {
                await Task.yield(); here("PrioritySemaphore.withPermit, busy")
            }
            try await pool.withResource { _ in
                await Task.yield(); here("ResourcePool.withResource, busy")
            }
            await fifo.enqueueAndWait {
                await Task.yield(); here("FIFOQueue.enqueueAndWait, busy")
            }
            try await holder
        }
    }

    nonisolated static func hold(
        _ mutex: AsyncMutex<Int>, _ semaphore: PrioritySemaphore, _ fifo: FIFOQueue, _ pool: ResourcePool<Int>,
        _ entered: PrioritySemaphore, _ letGo: PrioritySemaphore
    ) async throws {
        try await mutex.withLock { _ in
            try await semaphore.withPermit {
                try await pool.withResource { _ in
                    try await fifo.enqueueAndWait {
                        try entered.signal()
                        try await letGo.wait()
                    }
                }
            }
        }
    }

    /// From helpers that are isolated to nothing of their own.
    func helpers(_ report: Report) async throws {
        try await isolatedHelper(queue, mutex, semaphore, report)
        try await nonsendingHelper(queue, mutex, semaphore, report)
    }

    /// The state is the actor's own, so two methods never change it at once.
    func count(_ rounds: Int) async throws {
        let state = state
        for _ in 0..<rounds { try await mutex.withLock { _ in state.count += 1 } }
    }

    func touch(_ rounds: Int) async {
        for _ in 0..<rounds {
            state.count += 1
            await Task.yield()
        }
    }

    var total: Int { state.count }
}

func isolatedHelper(
    _ queue: WorkQueue, _ mutex: AsyncMutex<Int>, _ semaphore: PrioritySemaphore, _ report: Report,
    isolation: isolated (any Actor)? = #isolation
) async throws {
    try await mutex.withLock { _ in
        await Task.yield(); report.expect(queue.isCurrent, "helper with isolation: AsyncMutex")
    }
    try await semaphore.withPermit {
        await Task.yield(); report.expect(queue.isCurrent, "helper with isolation: withPermit")
    }
    await withDeadline(.now + .seconds(60)) {
        await Task.yield(); report.expect(queue.isCurrent, "helper with isolation: withDeadline")
    }
}

nonisolated(nonsending) func nonsendingHelper(
    _ queue: WorkQueue, _ mutex: AsyncMutex<Int>, _ semaphore: PrioritySemaphore, _ report: Report
) async throws {
    try await mutex.withLock { _ in
        await Task.yield(); report.expect(queue.isCurrent, "nonsending helper: AsyncMutex")
    }
    try await semaphore.withPermit {
        await Task.yield(); report.expect(queue.isCurrent, "nonsending helper: withPermit")
    }
    await withDeadline(.now + .seconds(60)) {
        await Task.yield(); report.expect(queue.isCurrent, "nonsending helper: withDeadline")
    }
}

/// What was found, from any thread.
nonisolated final class Report: Sendable {
    private let failures = PriorityMutex([String: Int]())

    func expect(_ isTrue: Bool, _ name: String) {
        if !isTrue { failures.withLock { $0[name, default: 0] += 1 } }
    }

    /// Prints each name that failed, and how often. Returns how many there are.
    func end() -> Int {
        let failed = failures.withLock { $0 }
        for (name, count) in failed.sorted(by: { $0.key < $1.key }) { print("off its actor \(count) times: \(name)") }
        return failed.count
    }
}

/// The state of the main actor, by closures that name nothing of it.
@MainActor
func mainActorBodies(_ report: Report) async throws {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    func here(_ name: String) { report.expect(DispatchQueue.getSpecific(key: key) == true, name) }
    let mutex = AsyncMutex(0), semaphore = PrioritySemaphore(value: 1), fifo = FIFOQueue()
    await Task.yield()
    here("the main actor itself")
    var count = 0
    try await mutex.withLock { _ in
        await Task.yield(); here("AsyncMutex.withLock, main actor"); count += 1
    }
    try await semaphore.withPermit {
        await Task.yield(); here("withPermit, main actor"); count += 1
    }
    await withDeadline(.now + .seconds(60)) {
        await Task.yield(); here("withDeadline, main actor"); count += 1
    }
    await fifo.enqueueAndWait {
        await Task.yield(); here("enqueueAndWait, main actor"); count += 1
    }
    report.expect(count == 4, "bodies on the main actor ran once each")
}

@main
struct Program {
    static func main() async throws {
        let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 200_000
        let owner = Owner(), report = Report()
        try await owner.methods(report)
        try await owner.busyMethods(report)
        try await owner.helpers(report)
        try await mainActorBodies(report)
        async let counting: Void = owner.count(rounds)
        async let touching: Void = owner.touch(rounds)
        _ = try await (counting, touching)
        let total = await owner.total
        print("a counter of the actor's own: \(total) of \(2 * rounds)")
        let failures = report.end()
        if failures > 0 || total != 2 * rounds { fatalError("\(failures) bodies ran off their actor") }
    }
}
