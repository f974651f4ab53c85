import Testing

@testable import SwiftSync

/// Tasks that wait for a FIFO queue: cancelled ones, and those that would wait for themselves.
@Suite(.endsInTime)
struct FIFOQueueWaitingTests {
    private enum Locals {
        @TaskLocal static var number = 0
    }

    @Test
    func theWorkRunsInTheCallingTask() async {
        let queue = FIFOQueue(priority: .background)
        await Locals.$number.withValue(7) {
            #expect(await queue.enqueueAndWait { Locals.number } == 7)
            let door = await queue.stopAtDoor()
            async let waited = queue.enqueueAndWait { Locals.number }
            await waitUntil { queue.storage.pendingCount == 1 }
            door.open()
            #expect(await waited == 7)
        }
    }

    @Test
    func aFreeQueueNeitherChangesTheTaskNorSuspendsIt() async {
        let queue = FIFOQueue()
        for number in 0..<1000 { #expect(await queue.enqueueAndWait { number } == number) }
    }

    // MARK: - Cancelling

    @Test
    func aCancelledTaskGivesUpItsTurnWhereTheCallCanThrow() async throws {
        let queue = FIFOQueue(), alive = Shared(0)
        let door = await queue.stopAtDoor()
        let tracked = Tracked(alive)
        let task = Task { [tracked] in
            try await queue.enqueueAndWait { () async throws in withExtendedLifetime(tracked) { mustNotRun() } }
        }
        await waitUntil { queue.storage.pendingCount == 1 }
        task.cancel()
        await #expect(throws: OrderedQueueError.cancelled) { try await task.value }
        let drain = Task { try await queue.drain() }
        await waitUntil { queue.storage.pendingCount == 2 }
        drain.cancel()
        await #expect(throws: OrderedQueueError.cancelled) { try await drain.value }
        door.open()
        #expect(await queue.enqueueAndWait { 1 } == 1)
    }

    @Test
    func aCancelledTaskKeepsItsTurnWhereTheCallCantThrow() async {
        let queue = FIFOQueue(), log = Shared([String]())
        let door = await queue.stopAtDoor()
        let task = Task { await queue.enqueueAndWait { log.append("cancelled: \(Task.isCancelled)") } }
        await waitUntil { queue.storage.pendingCount == 1 }
        queue.enqueue { log.append("next") }
        task.cancel()
        door.open()
        await task.value
        await queue.enqueueAndWait {}
        #expect(log.value == ["cancelled: true", "next"])
    }

    @Test
    func ofTheTurnAndTheCancellationExactlyOneWins() async throws {
        let queue = FIFOQueue()
        var random = Seeded(5), succeeded = 0, cancelled = 0
        let ran = Shared(0)
        for _ in 0..<2000 {
            let door = await queue.stopAtDoor()
            let task = Task { try await queue.enqueueAndWait { () async throws in ran.increment() } }
            for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
            door.open()
            if Bool.random(using: &random) { await Task.yield() }
            task.cancel()
            do {
                try await task.value
                succeeded += 1
            } catch OrderedQueueError.cancelled {
                cancelled += 1
            }
        }
        try await queue.drain()
        #expect(ran.value == succeeded && succeeded + cancelled == 2000)
    }

    @Test
    func cancellingATaskThatRunsReachesItsWork() async {
        let queue = FIFOQueue(), began = Flag()
        let task = Task {
            await queue.enqueueAndWait {
                began.raise()
                while !Task.isCancelled { await Task.yield() }
                return 3
            }
        }
        await waitUntil { began.isRaised }
        task.cancel()
        #expect(await task.value == 3)
    }

    // MARK: - Deadlines

    @Test
    func aTaskWhoseTimeHasPassedGivesUpItsTurnAndItsRoom() async throws {
        let queue = FIFOQueue(capacity: 1, whenFull: .refuse), ledger = Ledger(), door = await queue.stopAtDoor()
        for timeout in [Duration.zero, .seconds(-1), .nanoseconds(1), .milliseconds(1)] {
            await #expect(throws: OrderedQueueError.timedOut) {
                try await queue.enqueueAndWait(timeout: .after(timeout)) { mustNotRun() }
            }
            await #expect(throws: OrderedQueueError.timedOut) {
                try await queue.enqueueAndWait(on: ledger, timeout: .after(timeout)) { _ in mustNotRun() }
            }
            await #expect(throws: OrderedQueueError.timedOut) { try await queue.drain(timeout: .after(timeout)) }
            #expect(queue.waitingCount == 0)
        }
        #expect(queue.enqueue {})
        door.open()
        try await queue.drain(timeout: .seconds(Int64.max))
        #expect(try await queue.enqueueAndWait(timeout: .zero) { 1 } == 1, "a free queue is tried once")
        #expect(try await queue.enqueueAndWait(timeout: .nanoseconds(1)) { 1 } == 1)
    }

    @Test
    func aSenderWhoseTimeHasPassedReleasesItsWorkAtOnce() async throws {
        let queue = FIFOQueue(capacity: 1, whenFull: .wait), alive = Shared(0), door = await queue.stopAtDoor()
        queue.enqueue {}
        for _ in 0..<1000 {
            let tracked = Tracked(alive)
            await #expect(throws: OrderedQueueError.timedOut) {
                try await queue.enqueueWaitingForRoom(timeout: .zero) { withExtendedLifetime(tracked) { mustNotRun() } }
            }
        }
        #expect(alive.value == 0)
        #expect(queue.storage.pendingCount < 40, "what has given up does not stay")
        door.open()
        try await queue.drain()
    }

    // MARK: - Waiting for itself

    enum Way: String, CaseIterable, Codable, Sendable {
        case enqueued, waited, waitedThrowing, started, behindAnotherQueue, behindAnActor

        func run(_ queue: FIFOQueue, _ body: @escaping @Sendable () async -> Void) async throws {
            switch self {
            case .enqueued:
                queue.enqueue(body)
                try await queue.drain()
            case .waited: await queue.enqueueAndWait(body)
            case .waitedThrowing: try await queue.enqueueAndWait { () async throws in await body() }
            case .started: await Task(on: queue, operation: body).value
            case .behindAnotherQueue:
                let other = FIFOQueue()
                await queue.enqueueAndWait { await other.enqueueAndWait(body) }
            case .behindAnActor:
                let ledger = Ledger()
                await queue.enqueueAndWait { await ledger.queue.enqueueAndWait { _ in await body() } }
            }
        }
    }

    @Test(arguments: Way.allCases)
    func workThatWouldWaitForItselfIsToldSoAndSoAreItsChildren(way: Way) async throws {
        let queue = FIFOQueue(), told = Shared(0)
        let wait: @Sendable () async -> Void = {
            await #expect(throws: OrderedQueueError.wouldDeadlock) {
                try await queue.enqueueAndWait { () async throws in mustNotRun() }
            }
            await #expect(throws: OrderedQueueError.wouldDeadlock) { try await queue.drain() }
            told.increment()
        }
        try await way.run(queue) {
            await wait()
            async let child: Void = wait()
            await child
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    await Task.yield()
                    await withTaskGroup(of: Void.self) { $0.addTask { await wait() } }
                }
            }
            await wait()
        }
        #expect(told.value == 4)
        #expect(await queue.enqueueAndWait { true }, "it stays usable")
    }

    @Test(arguments: Way.allCases)
    func aTaskOfItsOwnThatWorkStartsWaitsForItsTurn(way: Way) async throws {
        let queue = FIFOQueue(), log = Shared([String]()), tasks = Shared([Task<Void, any Error>]())
        try await way.run(queue) {
            tasks.append(Task { try await queue.enqueueAndWait { () async throws in log.append("task") } })
            tasks.append(Task { await queue.enqueueAndWait { log.append("task") } })
            tasks.append(Task.detached { await queue.enqueueAndWait { log.append("task") } })
            await waitUntil { queue.storage.pendingCount >= 3 }
            log.append("work")
        }
        for task in tasks.value { try await task.value }
        #expect(log.value == ["work", "task", "task", "task"])
    }

    @Test
    func whatCameAfterItsOwnWorkIsOverIsNoWaitForItself() async throws {
        let queue = FIFOQueue(), tasks = Shared([Task<Int, Never>]()), door = Door()
        queue.enqueue {
            tasks.append(
                Task {
                    await door.pass()
                    return await queue.enqueueAndWait { 4 }
                })
        }
        try await queue.drain()
        door.open()
        #expect(await tasks.value[0].value == 4)
        #expect(await queue.enqueueAndWait { 5 } == 5)
    }

    private func text(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    @Test(arguments: [Way.enqueued, .waited, .started, .behindAnotherQueue])
    func waitingForItselfStopsWithAMessageWhereTheCallCantThrow(way: Way) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [way = way as Way] in
            let queue = FIFOQueue(name: "orders")
            try await way.run(queue) { await queue.enqueueAndWait {} }
        }
        #expect(
            text(result).contains(
                "FIFOQueue orders: enqueueAndWait was called in work of the same queue, for whose end it would wait"))
    }

    @Test
    func waitingForItselfInAChildStopsWithAMessage() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = FIFOQueue()
            queue.enqueue {
                async let child: Void = queue.enqueueAndWait {}
                await child
            }
            try await queue.drain()
        }
        #expect(text(result).contains(": enqueueAndWait was called in work of the same queue"))
    }
}
