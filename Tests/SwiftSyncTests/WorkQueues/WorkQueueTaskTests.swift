import CSyncKernel
import Synchronization
import Testing

@testable import SwiftSync

@Suite struct WorkQueueTaskTests {
    struct Odd: Error {}

    @Test func runReturnsAndThrowsWhatTheClosureDoes() async throws {
        let queue = WorkQueue(name: "run")
        #expect(await queue.run { 42 } == 42)
        await #expect(throws: Odd.self) { try await queue.run { () throws(Odd) in throw Odd() } }
        #expect(try await queue.run(timeout: .seconds(3600)) { queue.isCurrent })
        await #expect(throws: Odd.self) { try await queue.run(timeout: .never) { throw Odd() } }
    }

    @Test func runStandsInTheQueuesOrder() async throws {
        let queue = WorkQueue(name: "order"), seen = Shared([Int]())
        let blocked = Blocked(queue)
        queue.async { seen.append(1) }
        async let urgent: Void = queue.run(priority: .high, timeout: .never) { seen.append(0) }
        await waitUntil { queue.waitingCount == 2 }
        blocked.release()
        try await urgent
        try await queue.drain()
        #expect(seen.value == [0, 1])
    }

    @Test func aCancelledTaskLeavesTheQueue() async throws {
        let queue = WorkQueue(name: "cancel"), ran = Flag()
        let blocked = Blocked(queue)
        let task = Task { try await queue.run(timeout: .never) { ran.raise() } }
        await waitUntil { queue.waitingCount == 1 }
        task.cancel()
        await #expect(throws: WorkQueueError.cancelled) { try await task.value }
        blocked.release()
        try await queue.drain()
        #expect(!ran.isRaised)
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await queue.run(timeout: .never) { ran.raise() }
        }
        await #expect(throws: WorkQueueError.cancelled) { try await cancelled.value }
    }

    @Test func aTaskTimesOut() async throws {
        let queue = WorkQueue(name: "timeout"), ran = Flag()
        let blocked = Blocked(queue)
        let start = ContinuousClock.now
        await #expect(throws: WorkQueueError.timedOut) {
            try await queue.run(timeout: .milliseconds(3)) { ran.raise() }
        }
        #expect(ContinuousClock.now - start >= .milliseconds(3))
        blocked.release()
        try await queue.drain()
        #expect(!ran.isRaised)
    }

    @Test func timeoutsAndCancellationsRaceWithTurns() async throws {
        let queue = WorkQueue(name: "races"), ran = Shared(), other = Shared()
        await withTaskGroup(of: Void.self) { group in
            for i in 0..<300 {
                group.addTask {
                    let task = Task {
                        try await queue.run(timeout: i % 2 == 0 ? .microseconds(50) : .never) { ran.increment() }
                    }
                    if i % 3 == 0 { task.cancel() }
                    do { try await task.value } catch { other.increment() }
                }
            }
        }
        try await queue.drain()
        #expect(ran.value + other.value == 300)
    }

    actor Counter {
        private let queue: WorkQueue
        var value = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

        init(_ queue: WorkQueue) { self.queue = queue }

        func increment() {
            #expect(queue.isCurrent)
            value += 1
        }

        nonisolated func valueFromTheQueue() -> Int { assumeIsolated { $0.value } }

        func afterASuspension(_ body: @Sendable () async -> Void) async -> Bool {
            await body()
            return queue.isCurrent
        }

        func callFunctionsOfItsOwn(_ seen: @Sendable (String) -> Void) async {
            seen("begins")
            await callIsolated(to: self) { seen("isolated to it") }
            await next { seen("its own") }
            seen("ends")
        }

        private func next(_ body: () -> Void) async { body() }

        private func callIsolated(to isolation: isolated (any Actor)?, _ body: () -> Void) async { body() }
    }

    @Test func anActorRunsOnAQueue() async throws {
        let queue = WorkQueue(name: "actor"), counter = Counter(queue)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { await counter.increment() } }
        }
        #expect(await counter.value == 1000)
        queue.async { #expect(counter.valueFromTheQueue() == 1000) }
        try await queue.drain()
        #expect(await counter.afterASuspension { await Task.yield() })
    }

    @Test func assumingIsolationElsewhereStopsWithAMessage() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let counter = Counter(WorkQueue(name: "journal"))
            _ = counter.valueFromTheQueue()
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("Incorrect actor executor assumption"), "\(text)")
    }

    @Test func aTaskOnAQueueIsOneJobOfIt() async throws {
        let queue = WorkQueue(name: "one job"), seen = Shared([String]())
        let blocked = Blocked(queue)
        let task = Task(executorPreference: queue) { seen.append("task") }
        await waitUntil { queue.waitingCount == 1 }
        queue.async { seen.append("work that came after it") }
        blocked.release()
        try await queue.drain()
        #expect(seen.value == ["task", "work that came after it"])
        await task.value
    }

    @Test func anActorsCodeGoesOnWithoutAnotherTurnWhereItStaysOnItsQueue() async throws {
        let queue = WorkQueue(name: "stays"), counter = Counter(queue), seen = Shared([String]())
        let blocked = Blocked(queue)
        let task = Task { await counter.callFunctionsOfItsOwn { seen.append($0) } }
        await waitUntil { queue.waitingCount == 1 }
        queue.async { seen.append("work that came after it") }
        blocked.release()
        try await queue.drain()
        await task.value
        #expect(seen.value == ["begins", "isolated to it", "its own", "ends", "work that came after it"])
    }

    /// The queue ended with the actor whose last job it was, before the thread that had queued that job was done with
    /// it: that thread wrote into freed memory.
    @Test func aQueueIsThereUntilWhoQueuesAJobOfItIsDone() async {
        weak var queue: WorkQueue?
        weak var actor: Counter?
        let pause: StepPause
        do {
            let made = WorkQueue(name: "kept"), counter = Counter(made)
            queue = made
            actor = counter
            pause = StepPause("QueuedJob: is queued", subject: made)
            Task(executorPreference: OwnThreads.shared) { [counter] in await counter.increment() }
        }
        await pause.isReached()
        await waitUntil { actor == nil }
        #expect(queue != nil)
        pause.goOn()
        await waitUntil { queue == nil }
    }

    @Test func jobsComeInTheOrderOfTheirTasksPriorities() async throws {
        let queue = WorkQueue(name: "jobs"), seen = Shared([String]())
        let blocked = Blocked(queue)
        let low = Task(executorPreference: queue, priority: .low) { seen.append("low") }
        await waitUntil { queue.waitingCount == 1 }
        let medium = Task(executorPreference: queue, priority: .medium) { seen.append("medium") }
        await waitUntil { queue.waitingCount == 2 }
        let high = Task(executorPreference: queue, priority: .high) { seen.append("high") }
        await waitUntil { queue.waitingCount == 3 }
        blocked.release()
        try await queue.drain()
        #expect(seen.value == ["high", "medium", "low"])
        _ = await (low.value, medium.value, high.value)
    }

    @Test func jobsSurviveAShutdown() async {
        let queue = WorkQueue(name: "shut"), counter = Counter(queue)
        let blocked = Blocked(queue)
        let waiting = Task { await counter.increment() }
        await waitUntil { queue.waitingCount == 1 }
        queue.shutdown(cancelsPending: true)
        blocked.release()
        await waiting.value
        await counter.increment()
        #expect(await counter.value == 2)
    }

    @Test func aTaskRunsOnAConcurrentQueue() async {
        let queue = ConcurrentWorkQueue(name: "tasks", width: 2)
        let onQueue = await Task(executorPreference: queue) {
            let before = queue.isCurrent
            await Task.yield()
            return before && queue.isCurrent
        }.value
        #expect(onQueue)
    }

    @Test func aWaitForRoomIsReleasedWhetherItIsGivenUpOrGetsRoom() async throws {
        let queue = WorkQueue(name: "room", capacity: 1, whenFull: .wait), core = queue.core
        let blocked = Blocked(queue)
        queue.async {}
        weak var givenUp: RoomWait?
        weak var admitted: SuspendedWork?
        do {
            let work = try #require(WorkItem.make(WorkItem.Body {})), wait = RoomWait(core, work)
            givenUp = wait
            let status = await wait.wait(until: csk_deadline_after(1_000_000)) {
                wait.register(rank: core.ownRank, barrier: false)
            }
            #expect(status == ETIMEDOUT)
            _ = WorkItem.take(work, as: WorkItem.Body.self)
        }
        await waitUntil("the wait that was given up is released") { givenUp == nil }
        do {
            let waiting = SuspendedWork(core, rank: core.ownRank, barrier: false, .suspending)
            admitted = waiting
            // It waits when this returns.
            let task = Task.immediate { await waiting.run(isCancellable: true) {} }
            blocked.release()
            #expect(await task.value == 0)
        }
        await waitUntil("the wait that got room is released") { admitted == nil }
    }
}
