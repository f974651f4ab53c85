import CSyncKernel
import Testing

@testable import SwiftSync

/// Each call that takes a limit of time: for a time from now, and until an instant of either clock.
@Suite(.endsInTime)
struct TimeLimitTests {
    @Test
    func noWaitEndsBeforeItsInstantAndEachReportsIt() async throws {
        let busy = await BusyObjects()
        for call in busy.calls + busy.dispatched {
            await TimeLimit.neverEarly(.milliseconds(2)) { limit in
                #expect(await call.hasTimedOut(limit), "\(call.name), \(limit)")
            }
        }
        await busy.release()
    }

    @Test
    func anInstantThatIsNotAheadTriesOnce() async throws {
        let busy = await BusyObjects()
        for call in busy.calls + busy.dispatched {
            for limit in TimeLimit.all(.seconds(-1)) + TimeLimit.all(.zero) {
                #expect(await call.hasTimedOut(limit), "\(call.name), \(limit)")
            }
        }
        await busy.release()
        for call in busy.calls where call.isFreeAtOnce {
            for limit in TimeLimit.all(.seconds(-1)) {
                #expect(await !call.hasTimedOut(limit), "\(call.name), \(limit)")
            }
        }
    }

    @Test
    func whoGaveUpHasTakenNothingAndAnInstantThatIsFarIsWaitedFor() async throws {
        let busy = await BusyObjects()
        for call in busy.calls + busy.dispatched {
            for limit in TimeLimit.all(.zero) { _ = await call.hasTimedOut(limit) }
        }
        await busy.release()
        for call in busy.calls + busy.dispatched {
            for limit in TimeLimit.all(.seconds(1000)) + TimeLimit.all(.seconds(Int64.max)) + [.never] {
                #expect(await !call.hasTimedOut(limit), "\(call.name), \(limit)")
            }
        }
        #expect(busy.mutex.waitingCount + busy.semaphore.waitingCount + busy.coordinator.waitingCount == 0)
        #expect(busy.semaphore.availablePermits == 2)
    }

    @Test
    func fractionsOfSecondsRoundUpAndSaturate() {
        func nanoseconds(_ limit: TimeLimit) -> Int64 { limit.own - csk_now() }
        #expect(TimeLimit.seconds(Double.nan).own == Deadline.passed)
        #expect(TimeLimit.seconds(-1.5).own == Deadline.passed)
        #expect(TimeLimit.zero.own == Deadline.passed)
        #expect(TimeLimit.seconds(Double.infinity).own == Deadline.never)
        #expect(TimeLimit.milliseconds(1e300).own == Deadline.never)
        #expect(TimeLimit.seconds(UInt64.max).own == Deadline.never)
        #expect(TimeLimit.after(.seconds(Int64.max)).own == Deadline.never)
        #expect(TimeLimit.until(ContinuousClock.now + .seconds(Int64.max)).own == Deadline.never)
        for limit: TimeLimit in [
            .seconds(100), .seconds(100.0), .milliseconds(100_000), .milliseconds(1e5), .microseconds(100_000_000),
            .microseconds(1e8), .nanoseconds(100_000_000_000), .after(.seconds(100)), .until(.now + .seconds(100)),
            .until(SuspendingClock.now + .seconds(100)),
        ] {
            #expect((99_000_000_000...100_000_000_000).contains(nanoseconds(limit)), "\(limit)")
        }
    }

    @Test
    func anInstantThatIsSpelledShortlyIsOneOfTheContinuousClock() async throws {
        let mutex = PriorityMutex(1), semaphore = PrioritySemaphore(value: 1), value = QueueSafeValue(value: 1)
        #expect(mutex.withLock(timeout: .until(.now + .seconds(1000))) { $0 } == 1)
        #expect(value.wait(timeout: .until(.now + .seconds(1000))).lowestPriority.get() == .success(1))
        #expect(await value.suspending(timeout: .until(.now + .seconds(1000))).get() == .success(1))
        try await semaphore.withPermit(timeout: .until(.now + .seconds(1000))) {}
        try await WorkQueue(name: "short").run(timeout: .until(.now + .seconds(1000))) {}
        await withDeadline(.now + .seconds(1000)) { await Task.yield() }
    }

    @Test @MainActor
    func theQueueOfTheMainActorTakesALimit() async throws {
        let queue = MainActorQueue(name: "limit")
        for limit in TimeLimit.all(.seconds(1000)) {
            #expect(try await queue.enqueueAndWait(timeout: limit) { 1 } == 1)
            try await queue.enqueueWaitingForRoom(timeout: limit) {}
        }
        let letGo = await queue.stop()
        for limit in TimeLimit.all(.milliseconds(1)) {
            await #expect(throws: OrderedQueueError.timedOut) { try await queue.enqueueAndWait(timeout: limit) {} }
        }
        await letGo()
    }

    @Test
    func theShutdownOfAPoolTakesALimit() async throws {
        let busy = await BusyObjects()
        await TimeLimit.neverEarly(.milliseconds(2)) { limit in
            let report = await busy.pool.shutdown(timeout: limit)
            #expect(!report.isComplete)
        }
        let instant = ContinuousClock.now + .milliseconds(2)
        #expect(await !withDeadline(instant) { await busy.pool.shutdown() }.isComplete)
        #expect(ContinuousClock.now >= instant)
        await busy.release()
        #expect(await busy.pool.shutdown(timeout: .until(.now + .seconds(1000))).isComplete)
    }
}
