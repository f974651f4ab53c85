import Testing

@testable import SwiftSync

/// The order of a FIFO queue: from begin to end, whoever submits, and whatever the work does.
@Suite(.endsInTime)
struct FIFOQueueTests {
    @Test
    func workBeginsAndEndsInOrderThoughItSuspends() async throws {
        let queue = FIFOQueue(), log = Shared([String]())
        for number in 0..<200 {
            queue.enqueue {
                log.append("begin \(number)")
                for _ in 0..<(number % 4) { await Task.yield() }
                log.append("end \(number)")
            }
        }
        try await queue.drain()
        #expect(log.value == (0..<200).flatMap { ["begin \($0)", "end \($0)"] })
    }

    @Test
    func everyWayOfSubmittingStandsInOneOrderWhateverThePriorities() async throws {
        let queue = FIFOQueue(priority: .low), ledger = Ledger(), log = Unprotected([Int]())
        var random = Seeded(3), tasks = [Task<Void, any Error>]()
        let door = await queue.stopAtDoor()
        for number in 0..<600 {
            switch number % 5 {
            case 0: queue.enqueue { log.value.append(number) }
            case 1:
                queue.enqueue(on: ledger) {
                    $0.write(number); await Task.yield(); log.value.append(number)
                }
            case 2:
                let task: Task<Void, Never> = Task(priority: anyPriority(&random), on: queue) {
                    if number % 2 == 0 { await Task.yield() }
                    log.value.append(number)
                }
                tasks.append(Task { await task.value })
            case 3:
                tasks.append(
                    Task(priority: anyPriority(&random), on: queue, isolatedTo: ledger) { _ in log.value.append(number)
                    })
            default:
                // A waiting task takes its place when it comes to wait, so the test waits for that.
                let count = queue.storage.pendingCount
                tasks.append(
                    Task(priority: anyPriority(&random)) { await queue.enqueueAndWait { log.value.append(number) } })
                await waitUntil { queue.storage.pendingCount > count }
            }
        }
        door.open()
        try await queue.drain()
        #expect(log.value == Array(0..<600))
        for task in tasks { try await task.value }
    }

    @Test
    func eachOfManyProducersKeepsItsOrderAndNothingOverlaps() async throws {
        let queue = FIFOQueue(), counts = Unprotected([Int](repeating: 0, count: 8)), inside = Unprotected(0)
        await withTaskGroup(of: Void.self) { group in
            for producer in 0..<8 {
                group.addTask {
                    for number in 0..<500 {
                        let body: @Sendable () async -> Void = {
                            #expect(inside.value == 0)
                            inside.value += 1
                            if number % 50 == 0 { await Task.yield() }
                            #expect(counts.value[producer] == number)
                            counts.value[producer] += 1
                            inside.value -= 1
                        }
                        if number % 3 == 0 { await queue.enqueueAndWait(body) } else { queue.enqueue(body) }
                    }
                }
            }
        }
        try await queue.drain()
        #expect(counts.value == [Int](repeating: 500, count: 8))
    }

    @Test
    func theClosureRunsOnItsActor() async {
        let queue = FIFOQueue(), ledger = Ledger()
        queue.enqueue(on: ledger) { ledger in
            ledger.assertIsolated()
            ledger.write(1)
        }
        await queue.enqueueAndWait(on: ledger) { ledger in
            ledger.assertIsolated()
            ledger.write(2)
        }
        await Task(on: queue, isolatedTo: ledger) { ledger in
            ledger.assertIsolated()
            ledger.write(3)
        }.value
        #expect(await ledger.lines == [1, 2, 3])
    }

    @Test
    func aTaskIsIsolatedAsItsCreatorIs() async {
        await Task { @MainActor in
            let queue = FIFOQueue()
            var plain = 0 // Not Sendable, and not captured by a Sendable closure.
            await Task(on: queue) {
                MainActor.assertIsolated()
                plain += 1
            }.value
            #expect(plain == 1)
        }.value
    }

    @Test
    func workMayEnqueueOnItsOwnQueueAndThrowAndBlock() async throws {
        struct Fault: Error {}
        let queue = FIFOQueue(), log = Shared([Int]())
        queue.enqueue {
            queue.enqueue { log.append(3) }
            Semaphore.blockBriefly()
            log.append(1)
        }
        await #expect(throws: Fault.self) {
            try await queue.enqueueAndWait { () async throws -> Int in
                queue.enqueue { log.append(4) }
                log.append(2)
                throw Fault()
            }
        }
        let failing: Task<Int, any Error> = Task(on: queue) { throw Fault() }
        await #expect(throws: Fault.self) { try await failing.value }
        try await queue.drain()
        #expect(log.value.sorted() == [1, 2, 3, 4] && log.value.firstIndex(of: 1)! < log.value.firstIndex(of: 3)!)
        #expect(log.value.firstIndex(of: 2)! < log.value.firstIndex(of: 4)!)
        #expect(await queue.enqueueAndWait { 5 } == 5)
    }

    @Test
    func theTurnGoesOnThroughMoreTasksThanAStackHasFrames() async throws {
        let queue = FIFOQueue(), count = Unprotected(0)
        let door = await queue.stopAtDoor()
        let tasks = (0..<20_000).map { _ in Task(on: queue) { count.value += 1 } }
        for _ in 0..<20_000 { queue.enqueue { count.value += 1 } }
        door.open()
        try await queue.drain()
        #expect(count.value == 40_000)
        for task in tasks { await task.value }
    }

    // MARK: - Lifetime

    @Test
    func queuedWorkOutlivesTheQueueAndIsReleased() async {
        let alive = Shared(0), ran = Shared(0)
        weak var storage: FIFOQueueStorage?
        let door: Door
        do {
            let queue = FIFOQueue()
            storage = queue.storage
            door = await queue.stopAtDoor()
            for _ in 0..<100 {
                let tracked = Tracked(alive)
                queue.enqueue { withExtendedLifetime(tracked) { ran.increment() } }
            }
        }
        #expect(alive.value == 100)
        door.open()
        await waitUntil { ran.value == 100 && alive.value == 0 }
        await waitUntil("the storage goes with the last work") { storage == nil }
    }

    @Test
    func workIsReleasedWhenItHasRunNotWhenTheQueueGoes() async throws {
        let alive = Shared(0), queue = FIFOQueue()
        for _ in 0..<300 {
            let tracked = Tracked(alive)
            queue.enqueue { withExtendedLifetime(tracked) {} }
        }
        try await queue.drain()
        await waitUntil { alive.value == 0 }
    }

    // MARK: - The end

    @Test
    func afterAShutdownNothingIsAcceptedAndWhatWasRuns() async throws {
        let queue = FIFOQueue(name: "orders"), log = Shared([Int]())
        let door = await queue.stopAtDoor()
        for number in 0..<10 { queue.enqueue { log.append(number) } }
        let task = Task(on: queue) { log.append(10) }
        queue.shutdown()
        queue.shutdown()
        #expect(!queue.enqueue { mustNotRun() })
        await #expect(throws: OrderedQueueError.shutDown) {
            try await queue.enqueueAndWait { () async throws in mustNotRun() }
        }
        await #expect(throws: OrderedQueueError.shutDown) { try await queue.enqueueWaitingForRoom { mustNotRun() } }
        let late: Task<Void, any Error> = Task(on: queue) { () async throws in mustNotRun() }
        await #expect(throws: OrderedQueueError.shutDown) { try await late.value }
        door.open()
        try await queue.drain()
        await task.value
        #expect(log.value == Array(0...10))
    }

    /// Though it was taken out together with what follows.
    @Test
    func workThatHasBegunIsNotCountedAsWaiting() async throws {
        let queue = FIFOQueue(), counts = Shared([Int]()), door = await queue.stopAtDoor()
        for _ in 0..<4 { queue.enqueue { counts.append(queue.waitingCount) } }
        door.open()
        await waitUntil { counts.value.count == 4 }
        #expect(counts.value == [3, 2, 1, 0])
    }
}
