import CSyncKernel
import Testing

@testable import SwiftSync

/// How often the code inside has asked for the deadline of its request, on all threads that work for it.
enum RequestLookups {
    @TaskLocal static var count: Shared<Int>?

    static func counted(_ body: () async -> Void) async -> Int {
        let count = Shared<Int>(0)
        let id = TestSteps.add { name, _ in
            if name == "Deadline: asks for the request's" { Self.count?.increment() }
        }
        defer { TestSteps.remove(id) }
        await $count.withValue(count) { await body() }
        return count.value
    }
}

/// One deadline for all waits inside, on threads and in tasks.
@Suite(.endsInTime)
struct WithDeadlineTests {
    private enum Failure: Error { case expected }

    private static var past: ContinuousClock.Instant { .now - .seconds(1) }

    // MARK: - What it bounds

    @Test
    func eachWaitThatCanReportItEndsThenAndNotBefore() async throws {
        let busy = await BusyObjects()
        for call in busy.calls {
            let instant = ContinuousClock.now + .milliseconds(2)
            #expect(await call.hasTimedOut(within: instant), "\(call.name)")
            #expect(ContinuousClock.now >= instant, "\(call.name)")
        }
        await busy.release()
    }

    @Test
    func onceItHasPassedEachWaitTriesOnce() async throws {
        let busy = await BusyObjects()
        for call in busy.calls { #expect(await call.hasTimedOut(within: Self.past), "\(call.name)") }
        await busy.release()
        for call in busy.calls where call.isFreeAtOnce {
            #expect(await !call.hasTimedOut(within: Self.past), "\(call.name)")
        }
        for call in busy.calls {
            #expect(await !call.hasTimedOut(within: .now + Duration.seconds(1000)), "\(call.name)")
        }
    }

    @Test
    func theNearerDeadlineCounts() async throws {
        let busy = await BusyObjects()
        for call in busy.calls {
            for far in TimeLimit.all(.seconds(1000)) {
                #expect(await call.hasTimedOut(within: .now + .milliseconds(1), far), "\(call.name), \(far)")
            }
            for near in TimeLimit.all(.milliseconds(1)) {
                #expect(await call.hasTimedOut(within: .now + Duration.seconds(1000), near), "\(call.name), \(near)")
            }
        }
        await busy.release()
    }

    @Test
    func aDeadlineWithinAnotherIsNeverLater() async {
        let far = ContinuousClock.now + Duration.seconds(1000), farther = ContinuousClock.now + Duration.seconds(2000)
        let exact = SuspendingClock.now + Duration.seconds(3000)
        let ofFar = Deadline.at(far)
        func isFar() -> Bool { abs(RequestDeadline.nearest - ofFar) < 1_000_000_000 }
        #expect(RequestDeadline.nearest == Deadline.never)
        blockingWithDeadline(.until(far)) {
            #expect(isFar())
            blockingWithDeadline(.until(farther)) { #expect(isFar()) }
            blockingWithDeadline(.until(exact)) { #expect(isFar()) }
            blockingWithDeadline(.until(Self.past)) { #expect(RequestDeadline.nearest == Deadline.passed) }
            #expect(isFar())
        }
        blockingWithDeadline(.until(exact)) {
            #expect(RequestDeadline.nearest == Deadline.nanoseconds(in: RuntimeFacts.time(of: exact)))
            blockingWithDeadline(.until(far)) { #expect(isFar()) }
        }
        await withDeadline(far) {
            await Task.yield()
            #expect(isFar())
            await withDeadline(farther) {
                await Task.yield()
                #expect(isFar())
            }
        }
        await withDeadline(exact, clock: .suspending) {
            await Task.yield()
            #expect(RequestDeadline.nearest == Deadline.nanoseconds(in: RuntimeFacts.time(of: exact)))
        }
        #expect(RequestDeadline.nearest == Deadline.never)
    }

    @Test
    func childTasksInheritItAndDetachedOnesDont() async throws {
        let semaphore = PrioritySemaphore(value: 0)
        @Sendable func wait() async -> PrioritySemaphoreError? {
            do throws(PrioritySemaphoreError) { try await semaphore.wait() } catch { return error }
            return nil
        }
        let detached = await withDeadline(.now + .milliseconds(1)) {
            async let child = wait()
            let task = Task { await wait() }
            #expect(await child == .timedOut)
            #expect(await task.value == .timedOut)
            await withTaskGroup(of: PrioritySemaphoreError?.self) { group in
                for _ in 0..<3 { group.addTask { await wait() } }
                for await error in group { #expect(error == .timedOut) }
            }
            return Task.detached { await wait() }
        }
        await waitUntil { semaphore.waitingCount == 1 }
        try semaphore.signal()
        #expect(await detached.value == nil)
    }

    // MARK: - What it does not bound

    /// Each of these waits, although the deadline has passed, until it can do what it was asked for.
    @Test
    func callsThatCanNotReportItIgnoreIt() async throws {
        let busy = await BusyObjects(), done = Shared([String]())
        let coordinator = busy.coordinator, ledger = busy.ledger
        let blocking: [(String, @Sendable () -> Void)] = [
            ("PriorityMutex.withLock", { [mutex = busy.mutex] in mutex.withLock { $0 += 1 } }),
            ("CriticalSection.execute", { [section = busy.section] in section.execute {} }),
            ("ReadWriteLock.withReadLock", { [lock = busy.lock] in _ = lock.withReadLock { $0 } }),
            ("ReadWriteLock.withWriteLock", { [lock = busy.readLock] in lock.withWriteLock { $0 += 1 } }),
            ("ReadWriteCoordinator.read", { coordinator.read {} }),
            ("ReadWriteCoordinator.blockingWrite", { coordinator.blockingWrite {} }),
            ("ReadWriteCoordinator.drain", { coordinator.drain() }),
            ("BlockingPriorityQueue.pop", { [empty = busy.empty] in _ = empty.pop() }),
            ("BlockingPriorityQueue.push", { [full = busy.full] in full.push(2) }),
            ("WorkQueue.sync", { [work = busy.work] in work.sync {} }),
            ("WorkQueue.drain", { [work = busy.work] in work.blockingDrain() }),
        ]
        let suspending: [(String, @Sendable () async -> Void)] = [
            ("WorkQueue.run", { [work = busy.work] in await work.run {} }),
            ("FIFOQueue.enqueueAndWait", { [fifo = busy.fifo] in await fifo.enqueueAndWait {} }),
            ("ActorQueue.enqueueAndWait", { await ledger.queue.enqueueAndWait { _ in } }),
        ]
        var threads = [Thread](), tasks = [Task<Void, Never>]()
        for (name, call) in blocking {
            threads.append(
                Thread {
                    blockingWithDeadline(.until(Self.past)) { call() }
                    done.append(name)
                })
        }
        for (name, call) in suspending {
            tasks.append(
                Task {
                    await withDeadline(Self.past) { await call() }
                    done.append(name)
                })
        }
        for call in busy.dispatched {
            tasks.append(
                Task {
                    #expect(await !call.hasTimedOut(within: Self.past), "\(call.name)")
                    done.append(call.name)
                })
        }
        await waitUntil {
            if !done.value.isEmpty { return true }
            return busy.mutex.waitingCount == 1 && busy.section.waitingCount == 1 && busy.lock.waitingCount == 1
                && busy.readLock.waitingCount == 1 && busy.coordinator.waitingCount == 3
                && busy.empty.waitingCount == 1 && busy.full.waitingCount == 1 && busy.work.waitingCount == 3
                && busy.fifo.waitingCount == 1 && busy.ledger.queue.waitingCount == 1 && busy.value.waitingCount == 1
        }
        #expect(done.value == [])
        let release = Task { await busy.release() }
        threads.forEach { $0.join() }
        for task in tasks { await task.value }
        #expect(done.value.count == blocking.count + suspending.count + busy.dispatched.count)
        await release.value
    }

    @Test
    func enqueuedWorkIsNotBoundedByTheDeadlineOfWhoEnqueuesIt() async throws {
        let fifo = FIFOQueue(), work = WorkQueue(name: "enqueued"), semaphore = PrioritySemaphore(value: 0)
        let coordinator = ReadWriteCoordinator(), taken = Shared([String]())
        blockingWithDeadline(.until(Self.past)) {
            fifo.enqueue {
                try? await semaphore.wait()
                taken.append("FIFOQueue")
            }
            work.async {
                try? semaphore.blockingWait()
                taken.append("WorkQueue")
            }
            coordinator.enqueueWrite {
                try? semaphore.blockingWait()
                taken.append("ReadWriteCoordinator")
            }
        }
        await waitUntil { semaphore.waitingCount == 3 }
        try semaphore.signal(3)
        try await fifo.drain()
        try await work.drain()
        try await coordinator.suspending.drain()
        #expect(Set(taken.value) == ["FIFOQueue", "WorkQueue", "ReadWriteCoordinator"])
    }

    /// Whoever gives a broken resource back happens to have it closed.
    @Test
    func theClosingOfAResourceIsNotBounded() async throws {
        let semaphore = PrioritySemaphore(value: 0), closed = Flag()
        let pool = ResourcePool(
            maximum: 1,
            close: { (_: Int) in
                try? await semaphore.wait()
                closed.raise()
            }, make: { 1 })
        try await pool.withResource { _ in }
        try await withDeadline(Self.past) { try await pool.withResource { _, lease in lease.discard() } }
        await waitUntil { semaphore.waitingCount == 1 }
        #expect(!closed.isRaised)
        try semaphore.signal()
        await waitUntil { closed.isRaised }
    }

    @Test
    func onceItHasPassedAPoolMakesNothing() async {
        let made = Shared(0), pool = ResourcePool(maximum: 1, make: { made.increment() })
        await #expect(throws: ResourcePoolError.timedOut) {
            try await withDeadline(Self.past) { try await pool.withResource { _ in } }
        }
        let soon = ContinuousClock.now + .milliseconds(1)
        await #expect(throws: ResourcePoolError.timedOut) {
            try await withDeadline(soon) {
                while ContinuousClock.now < soon + .milliseconds(1) { await Task.yield() }
                try await pool.withResource { _ in }
            }
        }
        #expect(made.value == 0)
    }

    // MARK: - What it costs

    @Test
    func itIsLookedUpOnceWhereAWaitBeginsAndNeverElsewhere() async throws {
        let busy = await BusyObjects()
        for call in busy.calls {
            #expect(await RequestLookups.counted { _ = await call.hasTimedOut(within: Self.past) } == 1, "\(call.name)")
        }
        #expect(
            await RequestLookups.counted {
                for call in busy.dispatched { _ = await call.hasTimedOut(within: Self.past, TimeLimit.all(.zero)[0]) }
            } == 0)
        await busy.release()
        for call in busy.calls where call.isFreeAtOnce {
            #expect(
                await RequestLookups.counted { _ = await call.hasTimedOut(within: .now + Duration.seconds(1000)) } == 0,
                "\(call.name)")
        }
        let pool = ResourcePool(maximum: 1, make: { 1 })
        #expect(await RequestLookups.counted { try? await pool.withResource { _ in } } == 1)
        let fifo = FIFOQueue()
        #expect(
            await RequestLookups.counted {
                try? await fifo.enqueueAndWait { () async throws in }
                try? await fifo.enqueueWaitingForRoom {}
            } == 0)
    }

    // MARK: - What it is otherwise

    @Test
    func itReturnsAndThrowsWhatItsBodyDoes() async throws {
        let far = ContinuousClock.now + Duration.seconds(1000), exact = SuspendingClock.now + Duration.seconds(1000)
        func fails() throws -> Int { throw Failure.expected }
        #expect(blockingWithDeadline(.until(far)) { 1 } == 1)
        #expect(
            await withDeadline(far) {
                await Task.yield(); return 2
            } == 2)
        #expect(
            await withDeadline(exact, clock: .suspending) {
                await Task.yield(); return 3
            } == 3)
        #expect(throws: Failure.expected) { try blockingWithDeadline(.until(far)) { try fails() } }
        #expect(throws: Failure.expected) { try blockingWithDeadline(.until(exact)) { try fails() } }
        await #expect(throws: Failure.expected) {
            try await withDeadline(far) {
                await Task.yield()
                _ = try fails()
            }
        }
        #expect(RequestDeadline.nearest == Deadline.never)
    }

    @Test @MainActor
    func itsBodyRunsWhereItsCallerDoes() async {
        var steps = 0
        await withDeadline(.now + Duration.seconds(1000)) {
            MainActor.preconditionIsolated()
            await Task.yield()
            MainActor.preconditionIsolated()
            steps += 1
        }
        #expect(steps == 1)
    }
}
