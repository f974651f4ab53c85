import SwiftSync
import XCTest

/// Code as users of swift-async-queue wrote it, in language mode 5: the samples of its README first.
final class AsyncQueueLegacyTests: XCTestCase {
    /// What the README shows as the problem. It still compiles beside the initializers that this library adds to `Task`, and is still unordered.
    func testActorTaskOrdering() async {
        actor Counter {
            func increment(_ expectedCount: Int) -> Bool {
                count += 1
                return count == expectedCount    // often false
            }

            private(set) var count = 0
        }

        let counter = Counter()
        var tasks = [Task<Void, Never>]()
        for iteration in 1...100 {
            tasks.append(Task {
                _ = await counter.increment(iteration)
            })
        }
        for task in tasks {
            _ = await task.value
        }
        let count = await counter.count
        XCTAssertEqual(count, 100)
    }

    func testFIFOQueueOrdering() async {
        actor Counter {
            nonisolated
            func incrementAndAssertCountEquals(_ expectedCount: Int) {
                queue.enqueue {
                    await self.increment()
                    let incrementedCount = await self.count
                    XCTAssertEqual(incrementedCount, expectedCount) // always succeeds
                }
            }

            func flushQueue() async {
                await queue.enqueueAndWait { }
            }

            func increment() {
                count += 1
            }

            var count = 0

            private let queue = FIFOQueue()
        }

        let counter = Counter()
        for iteration in 1...100 {
            counter.incrementAndAssertCountEquals(iteration)
        }
        // Wait for all enqueued tasks to finish.
        await counter.flushQueue()
        let count = await counter.count
        XCTAssertEqual(count, 100)
    }

    func testActorQueueOrdering() async {
        actor Counter {
            init() {
                // Adopting the execution context in `init` satisfies requirement #2 above.
                queue.adoptExecutionContext(of: self)
            }

            nonisolated
            func incrementAndAssertCountEquals(_ expectedCount: Int) {
                queue.enqueue { myself in
                    myself.count += 1
                    XCTAssertEqual(expectedCount, myself.count) // always succeeds
                }
            }

            func flushQueue() async {
                await queue.enqueueAndWait { _ in }
            }

            private(set) var count = 0

            // Making the queue a private let constant satisfies requirement #1 above.
            private let queue = ActorQueue<Counter>()
        }

        let counter = Counter()
        for iteration in 1...100 {
            counter.incrementAndAssertCountEquals(iteration)
        }
        // Wait for all enqueued tasks to finish.
        await counter.flushQueue()
        let count = await counter.count
        XCTAssertEqual(count, 100)
    }

    @MainActor
    func testMainActorQueueOrdering() async {
        @MainActor
        final class Counter {
            nonisolated
            func incrementAndAssertCountEquals(_ expectedCount: Int) {
                MainActorQueue.shared.enqueue {
                    self.increment()
                    let incrementedCount = self.count
                    XCTAssertEqual(incrementedCount, expectedCount) // always succeeds
                }
            }

            func flushQueue() async {
                await MainActorQueue.shared.enqueueAndWait { }
            }

            func increment() {
                count += 1
            }

            var count = 0
        }

        let counter = Counter()
        for iteration in 1...100 {
            counter.incrementAndAssertCountEquals(iteration)
        }
        // Wait for all enqueued tasks to finish.
        await counter.flushQueue()
        XCTAssertEqual(counter.count, 100)
    }

    // MARK: - What else the earlier version had

    private struct Fault: Error {}

    func testEnqueueOnAnActorAndWaitWithAResultOrAnError() async throws {
        actor Log {
            var lines = [Int]()
            func append(_ line: Int) { lines.append(line) }
        }
        let queue = FIFOQueue(name: "log", priority: .userInitiated), log = Log()
        queue.enqueue(on: log) { log in
            log.append(1)
        }
        let count = await queue.enqueueAndWait(on: log) { log in
            log.append(2)
            return log.lines.count
        }
        XCTAssertEqual(count, 2)
        do {
            _ = try await queue.enqueueAndWait { () async throws -> Int in throw Fault() }
            XCTFail("it throws")
        } catch is Fault {}
        let value = try await queue.enqueueAndWait(on: log) { log async throws -> Int in log.lines[0] }
        XCTAssertEqual(value, 1)
    }

    // MARK: - The later spelling

    func testTasksOnAFIFOQueue() async throws {
        actor Counter {
            var count = 0
            func increment() -> Int {
                count += 1
                return count
            }
        }
        let queue = FIFOQueue(), counter = Counter()
        for iteration in 1...100 {
            Task(on: queue) {
                let count = await counter.increment()
                XCTAssertEqual(count, iteration)
            }
        }
        Task(on: queue, isolatedTo: counter) { counter in
            XCTAssertEqual(counter.count, 100)
        }
        let sum = try await Task(name: "sum", priority: .high, on: queue) { () async throws -> Int in await counter.count + 1 }.value
        XCTAssertEqual(sum, 101)
        let failing: Task<Int, any Error> = Task(on: queue, isolatedTo: counter) { _ in throw Fault() }
        let result = await failing.result
        XCTAssertThrowsError(try result.get())
    }

    func testTasksOnAnActorQueueAndTheMainActor() async throws {
        actor Counter {
            nonisolated let queue = ActorQueue<Counter>()
            var count = 0
            init() { queue.adoptExecutionContext(of: self) }
        }
        let counter = Counter()
        for iteration in 1...100 {
            Task(on: counter.queue) { counter in
                counter.count += 1
                XCTAssertEqual(counter.count, iteration)
            }
        }
        let count = await Task(on: counter.queue) { counter in counter.count }.value
        XCTAssertEqual(count, 100)

        let isMain = try await Task(priority: .low, on: MainActor.queue) { () async throws -> Bool in
            MainActor.assertIsolated()
            return true
        }.value
        XCTAssertTrue(isMain)
        await Task(on: MainActor.queue) {}.value
    }

    func testCancellingTheTasksOfAQueue() async {
        let queue = CancellableQueue(underlyingQueue: FIFOQueue())
        let running = Task(on: queue) {
            while !Task.isCancelled { await Task.yield() }
        }
        let pending = Task(on: queue) { Task.isCancelled }
        queue.cancelTasks()
        let later = Task(on: queue) { Task.isCancelled }
        await running.value
        let wasCancelled = await pending.value, isCancelled = await later.value
        XCTAssertTrue(wasCancelled)
        XCTAssertFalse(isCancelled)
    }

    @MainActor
    func testATaskOnAFIFOQueueIsIsolatedAsItsCreatorIs() async {
        var log = [String]()
        let queue = FIFOQueue()
        await Task(on: queue) { log.append("main") }.value
        XCTAssertEqual(log, ["main"])
    }
}
