import Dispatch
import Logging
import ServiceLifecycle
import SwiftSync
import Synchronization
import Testing

/// What a ``DrainService`` promises, in a group of services that shuts down.
@Suite(.timeLimit(.minutes(1)))
struct DrainServiceTests {
    /// Runs a group with `drains`, shuts it down once `isReady` says so, and returns what it threw. The server of the
    /// group ends its service with the shutdown, before the drains begin.
    private func shutDown(
        _ drains: DrainService, server: @escaping @Sendable () async -> Void = {},
        whileDraining: @escaping @Sendable () async -> Void = {}
    ) async -> (any Error)? {
        let group = ServiceGroup(services: [drains, Server(end: server)], logger: Logger(label: "test"))
        return await withTaskGroup(of: Optional<any Error>.self) { tasks in
            tasks.addTask {
                do { try await group.run() } catch { return error }
                return nil
            }
            await group.triggerGracefulShutdown()
            await whileDraining()
            return await tasks.next()!
        }
    }

    private struct Server: Service {
        let end: @Sendable () async -> Void
        func run() async throws {
            try await gracefulShutdown()
            await end()
        }
    }

    @Test func worksThatWereAcceptedRunAndLaterOnesAreRefused() async {
        let queue = WorkQueue(name: "jobs"), ran = Mutex(0)
        let error = await shutDown(
            DrainService(timeout: .seconds(30)).draining(queue),
            server: { for _ in 0..<100 { queue.async { ran.withLock { $0 += 1 } } } })
        #expect(error == nil)
        #expect(ran.withLock { $0 } == 100)
        await #expect(throws: WorkQueueError.shutDown) { try await queue.run(timeout: .seconds(30)) {} }
    }

    @Test func whatFeedsAnotherQueueIsDrainedBeforeIt() async {
        let first = WorkQueue(name: "first"), second = ConcurrentWorkQueue(name: "second", width: 2)
        let third = FIFOQueue(), ran = Mutex(0)
        let error = await shutDown(
            DrainService(timeout: .seconds(30)).draining(first).draining(second).draining(third),
            server: {
                first.async { second.async { third.enqueue { ran.withLock { $0 += 1 } } } }
            })
        #expect(error == nil)
        #expect(ran.withLock { $0 } == 1)
    }

    actor Counter {
        var count = 0
        func add() { count += 1 }
    }

    @Test func anActorsQueueIsDrained() async {
        let counter = Counter(), queue = ActorQueue<Counter>()
        queue.adoptExecutionContext(of: counter)
        let error = await shutDown(
            DrainService(timeout: .seconds(30)).draining(queue),
            server: { for _ in 0..<10 { queue.enqueue { $0.add() } } })
        #expect(error == nil)
        #expect(await counter.count == 10)
    }

    @Test func lateWorksAreNamedAndThoseThatHaveNotBegunAreDropped() async throws {
        let late = WorkQueue(name: "late"), inTime = WorkQueue(name: "in time"), begun = DispatchSemaphore(value: 0)
        let end = DispatchSemaphore(value: 0), dropped = Mutex(true)
        late.async {
            begun.signal()
            end.wait()
        }
        late.async { dropped.withLock { $0 = false } }
        await withCheckedContinuation { waiting in
            DispatchQueue.global().async {
                begun.wait()
                waiting.resume()
            }
        }
        let error = await shutDown(DrainService(timeout: .milliseconds(10)).draining(late).draining(inTime))
        #expect(error as? DrainServiceError == .timedOut(["late"]))
        end.signal()
        try await late.drain()
        #expect(dropped.withLock { $0 })
    }

    @Test func aPoolIsDrainedAndALateUseIsNamed() async throws {
        let closed = Mutex(0)
        let pool = ResourcePool<Int>(
            maximum: 2, name: "connections", close: { _ in closed.withLock { $0 += 1 } }, make: { 1 })
        try await pool.withResource { _ in }
        #expect(await shutDown(DrainService(timeout: .seconds(30)).draining(pool)) == nil)
        #expect(closed.withLock { $0 } == 1)

        let used = ResourcePool<Int>(maximum: 1, name: "used", make: { 1 })
        let error = try await used.withResource { _ in
            await shutDown(DrainService(timeout: .milliseconds(10)).draining(used))
        }
        #expect(error as? DrainServiceError == .timedOut(["used"]))
        await #expect(throws: ResourcePoolError.self) { try await used.withResource { _ in } }
    }

    @Test func anythingElseIsDrainedWithTheSameDeadline() async {
        let instants = Mutex<[ContinuousClock.Instant]>([])
        let error = await shutDown(
            DrainService(timeout: .seconds(30))
                .draining(name: "a") { instant in
                    instants.withLock { $0.append(instant) }
                    return true
                }
                .draining(name: "b") { instant in
                    instants.withLock { $0.append(instant) }
                    return false
                })
        #expect(error as? DrainServiceError == .timedOut(["b"]))
        let told = instants.withLock { $0 }
        #expect(told.count == 3 && told[0] == told[1] && told[2] < told[1])
    }

    /// The deadline is an instant, which has no room for every span.
    @Test(
        arguments: [
            TimeLimit.seconds(Int64.max), .after(Duration(attoseconds: .max)), .seconds(400 * 365 * 86400), .never,
        ])
    func aTimeoutOfAgesIsLong(timeout: TimeLimit) async throws {
        let queue = WorkQueue(name: "jobs"), pool = ResourcePool<Int>(maximum: 1, name: "connections", make: { 1 })
        let instants = Mutex<[ContinuousClock.Instant]>([])
        let error = await shutDown(
            DrainService(timeout: timeout).draining(queue).draining(pool).draining(name: "a") { instant in
                instants.withLock { $0.append(instant) }
                return true
            })
        #expect(error == nil)
        let told = try #require(instants.withLock { $0 }.first)
        #expect(told - .now > .seconds(290 * 365 * 86400))
    }

    @Test(
        arguments: [
            TimeLimit.seconds(Int64.min), .after(Duration(attoseconds: .min)), .seconds(-1), .until(.now - .seconds(1)),
        ])
    func aNegativeTimeoutGivesUpAtOnce(timeout: TimeLimit) async throws {
        let queue = WorkQueue(name: "jobs"), end = DispatchSemaphore(value: 0), ran = Mutex(false)
        let begun = AsyncStream.makeStream(of: Void.self)
        queue.async {
            begun.continuation.finish()
            end.wait()
        }
        queue.async { ran.withLock { $0 = true } }
        for await _ in begun.stream {}
        let error = await shutDown(DrainService(timeout: timeout).draining(queue))
        #expect(error as? DrainServiceError == .timedOut(["jobs"]))
        end.signal()
        try await queue.drain()
        #expect(!ran.withLock { $0 })
    }

    @Test func aCancelledServiceGivesEverythingUp() async throws {
        let queue = WorkQueue(name: "jobs"), end = DispatchSemaphore(value: 0)
        let begun = AsyncStream.makeStream(of: Void.self)
        let ran = Mutex(false)
        queue.async {
            begun.continuation.finish()
            end.wait()
        }
        queue.async { ran.withLock { $0 = true } }
        for await _ in begun.stream {}
        let service = DrainService(timeout: .seconds(30)).draining(queue)
        let task = Task { try await service.run() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        end.signal()
        try await queue.drain()
        #expect(!ran.withLock { $0 })
    }

    /// The shutdown has begun, and the task is cancelled while a queue is drained.
    @Test func aServiceThatIsCancelledWhileItDrainsGivesTheRestUp() async throws {
        let first = WorkQueue(name: "first"), second = WorkQueue(name: "second"), end = DispatchSemaphore(value: 0)
        let begun = AsyncStream.makeStream(of: Void.self), ran = Mutex(0)
        second.suspend()
        second.async { ran.withLock { $0 += 1 } }
        first.async { end.wait() }
        first.async { ran.withLock { $0 += 1 } }
        let service = DrainService(timeout: .seconds(30))
            .draining(name: "begins") { _ in
                begun.continuation.finish()
                return true
            }
            .draining(first).draining(second)
        let group = ServiceGroup(services: [service], logger: Logger(label: "test"))
        let task = Task { try await group.run() }
        await group.triggerGracefulShutdown()
        for await _ in begun.stream {}
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        end.signal()
        try await first.drain()
        try await second.drain()
        #expect(ran.withLock { $0 } == 0)
    }
}
