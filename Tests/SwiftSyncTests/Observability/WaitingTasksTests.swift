import CSyncKernel
import Testing

@testable import SwiftSync

/// Tasks that wait at queues and pools of the overlay, in views and counts. The objects' names are the tests' own.
@Suite(.endsInTime, .serialized)
struct WaitingTasksTests {
    private static func object(_ name: String) -> InspectionReport.Object? {
        SyncInspector.report().objects.first { $0.name == name }
    }

    /// The first view that has all, and in which so many wait at the object.
    private func seen(_ name: String, waiting count: Int) async throws -> InspectionReport.Object {
        var seen: InspectionReport.Object?
        await waitUntil("no view shows \(count) tasks at \(name)") {
            let view = SyncInspector.report()
            seen = view.objects.first { $0.name == name }
            return view.isWhole && seen?.waiters.count == count
        }
        return try #require(seen)
    }

    /// An actor on a queue of its own, so that a test can hold it without a thread.
    private actor OnQueue {
        nonisolated let executor = WorkQueue(name: "of an actor in the view")
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    }

    @Test
    func aFIFOQueueShowsTasksThatWaitForTheirTurnForRoomAndForTheEnd() async throws {
        try await listingTasks {
            let queue = FIFOQueue(name: "view: fifo", capacity: 1, whenFull: .wait), leave = PrioritySemaphore(value: 0)
            let first = Task { await queue.enqueueAndWait { try! await leave.wait() } }
            await waitUntil { leave.waitingCount == 1 }
            let turn = Task(name: "a reader") { await queue.enqueueAndWait { 7 } }
            let one = try await seen("view: fifo", waiting: 1)
            #expect(one.kind == .fifoQueue && one.waitingCount == 1)
            let reader = one.waiters[0]
            #expect(reader.thread == nil && reader.purpose == .turn && reader.taskName == "a reader")
            #expect(reader.taskAddress != nil && reader.waitedFor! >= .zero)
            let room = Task(name: "a writer") { try await queue.enqueueWaitingForRoom {} }
            _ = try await seen("view: fifo", waiting: 2)
            let end = Task { try await queue.drain() }
            let all = try await seen("view: fifo", waiting: 3)
            #expect(all.waiters.map(\.purpose).contains(.room) && all.waiters.map(\.purpose).contains(.drain))
            #expect(Set(all.waiters.map(\.taskName)) == ["a reader", "a writer", nil])
            #expect(SyncInspector.text().contains("FIFO queue"))
            #expect(SyncInspector.json().contains("\"task_name\":\"a reader\""))
            try leave.signal()
            await first.value
            #expect(await turn.value == 7)
            try await room.value
            try await end.value
            #expect(Self.object("view: fifo") == nil)
        }
    }

    /// They used to be nameless, and without an address unless the deadlock watch was on.
    @Test(arguments: [false, true])
    func tasksThatWaitForTheirTurnInsideOfTheKernelAreNamedWhetherOrNotTheWatchIsOn(isWatching: Bool) async throws {
        if isWatching { try DeadlockWatch.start() }
        defer { if isWatching { DeadlockWatch.stop() } }
        try await listingTasks {
            let lock = ReadWriteLock(0, name: "view: read-write")
            let coordinator = ReadWriteCoordinator(name: "view: coordinator")
            let inside = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
            let hold: @Sendable () -> Void = {
                try! inside.signal()
                try! leave.blockingWait()
            }
            let holders = [
                Thread { lock.withWriteLock { _ in hold() } }, Thread { coordinator.blockingWrite(hold) },
            ]
            for _ in holders { try await inside.wait() }
            let tasks = [
                Task(name: "a reader") { try await lock.suspending.withReadLock { _ in } },
                Task(name: "a writer") { try await lock.suspending.withWriteLock { $0 += 1 } },
                Task(name: "a coordinated one") { try await coordinator.suspending.read {} },
            ]
            for (name, waiters) in [
                ("view: read-write", ["a reader", "a writer"]), ("view: coordinator", ["a coordinated one"]),
            ] {
                let seen = try await seen(name, waiting: waiters.count)
                #expect(Set(seen.waiters.map(\.taskName)) == Set(waiters), "\(name)")
                #expect(seen.waiters.allSatisfy { $0.taskAddress != nil && $0.thread == nil }, "\(name)")
            }
            for _ in holders { try leave.signal() }
            for holder in holders { holder.join() }
            for task in tasks { try await task.value }
            for name in ["view: read-write", "view: coordinator"] { #expect(Self.object(name) == nil) }
        }
    }

    @Test
    func tasksThatWaitForTheirTurnAtAWorkQueueAreNamed() async throws {
        try await listingTasks {
            let queue = WorkQueue(name: "view: work queue", capacity: 1, whenFull: .wait)
            queue.suspend()
            #expect(queue.async {})
            let turn = Task(name: "a reader") { await queue.run(priority: .high) { 7 } }
            let one = try await seen("view: work queue", waiting: 1)
            #expect(one.kind == .workQueue && one.waitingCount == 1)
            let reader = one.waiters[0]
            #expect(reader.purpose == .turn && reader.taskName == "a reader" && reader.thread == nil)
            #expect(reader.taskAddress != nil && reader.waitedFor! >= .zero)
            let room = Task(name: "a writer") { try await queue.run(timeout: .never) { 8 } }
            let two = try await seen("view: work queue", waiting: 2)
            #expect(Set(two.waiters.map(\.purpose)) == [.turn, .room])
            #expect(Set(two.waiters.map(\.taskName)) == ["a reader", "a writer"])
            let impatient = Task(name: "impatient") { try await queue.run(timeout: .never) { 9 } }
            _ = try await seen("view: work queue", waiting: 3)
            impatient.cancel()
            await #expect(throws: WorkQueueError.cancelled) { try await impatient.value }
            _ = try await seen("view: work queue", waiting: 2)
            queue.resume()
            #expect(await turn.value == 7)
            #expect(try await room.value == 8)
            #expect(!SyncInspector.text().contains("a reader"))
        }
    }

    /// The task's wait does not keep the view from reading the queue, whose worker waits nowhere.
    @Test
    func aQueueWhoseWorkRunsIsShownWholeWhileATaskWaitsForIt() async throws {
        try await listingTasks {
            let queue = WorkQueue(name: "view: served"), isInside = Flag(), mayLeave = Flag()
            queue.async {
                isInside.raise()
                while !mayLeave.isRaised { sched_yield() }
            }
            await waitUntil { isInside.isRaised }
            let task = Task(name: "a reader") { await queue.run { 7 } }
            let seen = try await seen("view: served", waiting: 1)
            #expect(seen.kind == .workQueue && seen.runningCount == 1 && seen.waiters[0].taskName == "a reader")
            mayLeave.raise()
            #expect(await task.value == 7)
        }
    }

    @Test
    func aTaskThatHasGotRoomWaitsForItsTurn() async throws {
        try await listingTasks {
            let queue = WorkQueue(name: "view: room", capacity: 1, whenFull: .wait)
            let inside = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
            queue.suspend()
            #expect(
                queue.async {
                    try! inside.signal()
                    try! leave.blockingWait()
                })
            let room = Task(name: "a writer") { try await queue.run(timeout: .never) { 8 } }
            #expect(try await seen("view: room", waiting: 1).waiters[0].purpose == .room)
            queue.resume()
            try await inside.wait()
            var purpose: InspectionReport.Purpose?
            await waitUntil {
                purpose = Self.object("view: room")?.waiters.first?.purpose
                return purpose == .turn
            }
            try leave.signal()
            #expect(try await room.value == 8)
        }
    }

    /// A wait that was told of, and is given up, is gone from the lists.
    @Test
    func aTaskThatGivesUpItsTurnIsNamedNoMore() async throws {
        try await listingTasks {
            let lock = ReadWriteLock(0, name: "view: given up")
            let inside = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
            let holder = Thread {
                lock.withWriteLock { _ in
                    try! inside.signal()
                    try! leave.blockingWait()
                }
            }
            try await inside.wait()
            let task = Task(name: "impatient") { try await lock.suspending.withReadLock { _ in } }
            _ = try await seen("view: given up", waiting: 1)
            task.cancel()
            await #expect(throws: ReadWriteError.cancelled) { try await task.value }
            #expect(!SyncInspector.text().contains("impatient"))
            try leave.signal()
            holder.join()
        }
    }

    @Test
    func aQueueWithoutANameIsShownByItsPlace() async throws {
        try await listingTasks {
            let queue = FIFOQueue(), leave = PrioritySemaphore(value: 0)
            let first = Task { await queue.enqueueAndWait { try! await leave.wait() } }
            await waitUntil { leave.waitingCount == 1 }
            let second = Task { await queue.enqueueAndWait {} }
            let seen = try await seen(queue.name, waiting: 1)
            #expect(seen.name!.hasPrefix("SwiftSyncTests/WaitingTasksTests.swift:"))
            try leave.signal()
            await first.value
            await second.value
        }
    }

    @Test
    func tasksOnAnActorQueueAreShown() async throws {
        try await listingTasks {
            let actor = OnQueue(), queue = ActorQueue<OnQueue>(name: "view: actor")
            queue.adoptExecutionContext(of: actor)
            actor.executor.suspend()
            queue.enqueue { _ in }
            let task = Task(name: "a step", on: CancellableQueue(underlyingQueue: queue)) { _ in 1 }
            let waits = Task { await queue.enqueueAndWait { _ in 2 } }
            let seen = try await seen("view: actor", waiting: 2)
            #expect(seen.kind == .actorQueue && seen.waiters.allSatisfy { $0.purpose == .turn })
            #expect(Set(seen.waiters.map(\.taskName)) == ["a step", nil])
            actor.executor.resume()
            #expect(await task.value == 1)
            #expect(await waits.value == 2)
        }
    }

    @Test
    func aQueueOfTheMainActorShowsTasksThatWaitForItsEnd() async throws {
        try await listingTasks {
            let queue = MainActorQueue(name: "view: main"), leave = PrioritySemaphore(value: 0)
            queue.enqueue { try! await leave.wait() }
            await waitUntil { leave.waitingCount == 1 }
            let task = Task(name: "a screen") { try await queue.drain() }
            let seen = try await seen("view: main", waiting: 1)
            #expect(seen.kind == .actorQueue)
            #expect(seen.waiters[0].purpose == .drain && seen.waiters[0].taskName == "a screen")
            try leave.signal()
            try await task.value
        }
    }

    @Test
    func aResourcePoolShowsTasksByPriority() async throws {
        try await listingTasks {
            let made = PrioritySemaphore(value: 0), leave = PrioritySemaphore(value: 0)
            let pool = ResourcePool(maximum: 1, name: "view: pool", make: { try await made.wait() })
            let first = Task(name: "maker") { try await pool.withResource { try! await leave.wait() } }
            let making = try await seen("view: pool", waiting: 1)
            #expect(making.kind == .resourcePool && making.waiters[0].taskName == "maker")
            try made.signal()
            await waitUntil { leave.waitingCount == 1 }
            let low = Task(name: "low") { try await pool.withResource(priority: .low) {} }
            _ = try await seen("view: pool", waiting: 1)
            let high = Task(name: "high") { try await pool.withResource(priority: .high) {} }
            let both = try await seen("view: pool", waiting: 2)
            #expect(both.waiters.map(\.taskName) == ["high", "low"])
            #expect(both.waiters.map(\.priority) == [.high, .low])
            #expect(both.waiters.allSatisfy { $0.purpose == .resource })
            let end = Task(name: "end") { await pool.shutdown(timeout: .seconds(60)) }
            let last = try await seen("view: pool", waiting: 1)
            #expect(last.waiters[0].purpose == .drain && last.waiters[0].taskName == "end")
            try leave.signal()
            try await first.value
            await #expect(throws: ResourcePoolError.shutDown) { try await low.value }
            await #expect(throws: ResourcePoolError.shutDown) { try await high.value }
            _ = await end.value
        }
    }

    @Test
    func aTaskAtAMutexOrASemaphoreHasItsName() async throws {
        try await listingTasks {
            let semaphore = PrioritySemaphore(value: 0, name: "view: permits"),
                mutex = AsyncMutex(0, name: "view: async")
            let permit = Task(name: "a permit") { try await semaphore.wait() }
            let waiter = try await seen("view: permits", waiting: 1).waiters[0]
            #expect(waiter.taskName == "a permit" && waiter.taskAddress != nil)
            let leave = PrioritySemaphore(value: 0)
            let holder = Task { try await mutex.withLock { _ in try await leave.wait() } }
            await waitUntil { leave.waitingCount == 1 }
            let enters = Task(name: "a section") { try await mutex.withLock { $0 += 1 } }
            #expect(try await seen("view: async", waiting: 1).waiters[0].taskName == "a section")
            try leave.signal()
            try semaphore.signal()
            try await permit.value
            try await holder.value
            try await enters.value
        }
    }

    // MARK: - Counts

    /// Makes a task wait at a busy queue until `body` has run, and then for its deadline at the next.
    private func waits(at queue: FIFOQueue) async throws {
        let leave = PrioritySemaphore(value: 0)
        let first = Task { await queue.enqueueAndWait { try! await leave.wait() } }
        await waitUntil { leave.waitingCount == 1 }
        await #expect(throws: OrderedQueueError.timedOut) {
            try await queue.enqueueAndWait(timeout: .milliseconds(2)) {}
        }
        let second = Task { await Self.waitsInOrder(queue) }
        await waitUntil { queue.waitingCount >= 1 }
        let begin = ContinuousClock.now
        await waitUntil { ContinuousClock.now - begin > .milliseconds(2) }
        try leave.signal()
        await first.value
        await second.value
    }

    @inline(never)
    private static func waitsInOrder(_ queue: FIFOQueue) async {
        await queue.enqueueAndWait {}
        last.access { $0 += 1 } // so that the wait is no last step
    }
    private static let last = Shared(0)

    @Test(.countsAlone)
    func waitsOfTasksAreCountedByName() async throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        try await waits(at: FIFOQueue(name: "metrics: fifo"))
        let fifo = try #require(SyncMetrics.current().waits.first { $0.name == "metrics: fifo" })
        #expect(fifo.kind == .fifoQueue && fifo.grantedCount == 1 && fifo.timedOutCount == 1)
        #expect(fifo.spans.count == 2 && fifo.spans.longest >= .milliseconds(2))
        #expect(SyncMetrics.openMetrics().contains("kind=\"fifo_queue\",name=\"metrics: fifo\""))
        let pool = ResourcePool(maximum: 1, name: "metrics: pool", make: {})
        try await pool.withResource { _ in
            _ = await #expect(throws: ResourcePoolError.timedOut) {
                try await pool.withResource(timeout: .milliseconds(2)) {}
            }
        }
        let counted = try #require(SyncMetrics.current().waits.first { $0.name == "metrics: pool" })
        // The making of the first resource is no contention.
        #expect(counted.kind == .resourcePool && counted.timedOutCount == 1 && counted.grantedCount == 0)
        _ = await pool.shutdown()
        try await countsWaitsAtAWorkQueue()
    }

    @Test(.countsAlone)
    func waitsOfTasksAreInTheProfileWithTheStackOfTheSuspension() async throws {
        try ContentionProfile.start(threshold: .microseconds(1))
        try await waits(at: FIFOQueue(name: "profile: fifo"))
        try await waitsWithoutThreads(at: WorkQueue(name: "profile: narrow", capacity: 1, whenFull: .wait))
        ContentionProfile.stop()
        let profile = ContentionProfile.current()
        let entries = profile.entries.filter { $0.name == "profile: fifo" && $0.side == .waiting }
        #expect(!entries.isEmpty && entries.allSatisfy(\.isSuspended))
        #expect(entries.reduce(.zero) { $0 + $1.delay } >= .milliseconds(2))
        let stacks = try profile.foldedStacks(.waiting).split(separator: "\n")
        #expect(stacks.contains { $0.contains("waitsInOrder") })
        try findsWaitsAtAWorkQueue(in: profile)
    }

    /// Makes a task wait for room until its deadline and then until there is some, and the same for a drain.
    private func waitsWithoutThreads(at queue: WorkQueue) async throws {
        queue.suspend()
        queue.async {}
        await #expect(throws: WorkQueueError.timedOut) {
            try await queue.asyncWaitingForRoom(timeout: .milliseconds(2)) {}
        }
        await #expect(throws: WorkQueueError.timedOut) { try await queue.drain(timeout: .milliseconds(2)) }
        let room = Task { try await Self.waitsForRoom(queue) }, end = Task { try await queue.drain() }
        let begin = ContinuousClock.now
        await waitUntil { ContinuousClock.now - begin > .milliseconds(2) }
        queue.resume()
        try await room.value
        _ = try await end.value
    }

    @inline(never)
    private static func waitsForRoom(_ queue: WorkQueue) async throws {
        try await queue.asyncWaitingForRoom {}
        last.access { $0 += 1 } // so that the wait is no last step
    }

    private func countsWaitsAtAWorkQueue() async throws {
        try await waitsWithoutThreads(at: WorkQueue(name: "metrics: narrow", capacity: 1, whenFull: .wait))
        let waits = SyncMetrics.current().waits.filter { $0.name == "metrics: narrow" && $0.kind == .workQueue }
        let room = try #require(waits.first { $0.purpose == .room }),
            end = try #require(waits.first { $0.purpose == .drain })
        #expect(room.timedOutCount == 1 && room.spans.longest > .zero)
        #expect(end.timedOutCount == 1 && end.spans.longest > .zero)
        #expect(SyncMetrics.openMetrics().contains("kind=\"workqueue_drain\",name=\"metrics: narrow\""))
    }

    private func findsWaitsAtAWorkQueue(in profile: ContentionProfile) throws {
        let entries = profile.entries.filter { $0.name == "profile: narrow" && $0.side == .waiting }
        #expect(!entries.isEmpty && entries.allSatisfy(\.isSuspended))
        let stacks = try profile.foldedStacks(.waiting).split(separator: "\n")
        #expect(stacks.contains { $0.contains("waitsWithoutThreads") })
    }
}
