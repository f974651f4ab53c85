import Testing

@testable import SwiftSync

/// Each call that takes `until:`, with an instant of either clock.
@Suite(.endsInTime)
struct UntilTests {
    @Test
    func noWaitEndsBeforeItsInstantAndEachReportsIt() async {
        let busy = await BusyObjects()
        for call in busy.calls + busy.dispatched {
            await When.neverEarly(.milliseconds(2)) { when in
                #expect(await call.hasTimedOut(when), "\(call.name), \(when)")
            }
        }
        await busy.release()
    }

    @Test
    func anInstantThatIsNotAheadTriesOnce() async {
        let busy = await BusyObjects()
        for call in busy.calls + busy.dispatched {
            for when in When.all(.seconds(-1)) + When.all(.zero) {
                #expect(await call.hasTimedOut(when), "\(call.name), \(when)")
            }
        }
        await busy.release()
        for call in busy.calls where call.isFreeAtOnce {
            for when in When.all(.seconds(-1)) {
                #expect(await !call.hasTimedOut(when), "\(call.name), \(when)")
            }
        }
    }

    @Test
    func whoGaveUpHasTakenNothingAndAnInstantThatIsFarIsWaitedFor() async {
        let busy = await BusyObjects()
        for call in busy.calls + busy.dispatched {
            for when in When.all(.zero) { _ = await call.hasTimedOut(when) }
        }
        await busy.release()
        for call in busy.calls + busy.dispatched {
            for when in When.all(When.far) + When.all(.seconds(Int64.max)) + [.ofRequest] {
                #expect(await !call.hasTimedOut(when), "\(call.name), \(when)")
            }
        }
        #expect(busy.mutex.waitingCount + busy.semaphore.waitingCount + busy.coordinator.waitingCount == 0)
        #expect(busy.semaphore.availablePermits == 2)
    }

    @Test
    func anInstantThatIsSpelledShortlyIsOneOfTheContinuousClock() async throws {
        let mutex = PriorityMutex(1), semaphore = PrioritySemaphore(value: 1), value = QueueSafeValue(value: 1)
        #expect(mutex.withLock(until: .now + .seconds(1000)) { $0 } == 1)
        #expect(value.wait(until: .now + .seconds(1000)).lowestPriority.get() == .success(1))
        #expect(await value.suspending(until: .now + .seconds(1000)).get() == .success(1))
        try await semaphore.withPermit(until: .now + .seconds(1000)) {}
        try await WorkQueue(label: "short").run(until: .now + .seconds(1000)) {}
        await withDeadline(.now + .seconds(1000)) { await Task.yield() }
    }

    @Test @MainActor
    func theQueueOfTheMainActorTakesAnInstant() async throws {
        let queue = MainActorQueue(name: "until")
        for when in When.all(When.far) {
            switch when {
            case .continuous(let instant):
                #expect(try await queue.enqueueAndWait(until: instant) { 1 } == 1)
                try await queue.enqueueWaitingForRoom(until: instant) {}
            case .suspending(let instant):
                #expect(try await queue.enqueueAndWait(until: instant) { 1 } == 1)
                try await queue.enqueueWaitingForRoom(until: instant) {}
            case .ofRequest: break
            }
        }
        let letGo = await queue.stop()
        await #expect(throws: OrderedQueueError.timedOut) {
            try await queue.enqueueAndWait(until: ContinuousClock.now + .milliseconds(1)) {}
        }
        await #expect(throws: OrderedQueueError.timedOut) {
            try await queue.enqueueAndWait(until: SuspendingClock.now + .milliseconds(1)) {}
        }
        await letGo()
    }

    @Test
    func theShutdownOfAPoolTakesAnInstant() async {
        let busy = await BusyObjects()
        await When.neverEarly(.milliseconds(2)) { when in
            let report =
                switch when {
                case .continuous(let instant): await busy.pool.shutdown(until: instant)
                case .suspending(let instant): await busy.pool.shutdown(until: instant)
                case .ofRequest: await busy.pool.shutdown()
                }
            #expect(!report.isComplete)
        }
        let instant = ContinuousClock.now + .milliseconds(2)
        #expect(await !withDeadline(instant) { await busy.pool.shutdown() }.isComplete)
        #expect(ContinuousClock.now >= instant)
        await busy.release()
        #expect(await busy.pool.shutdown(until: .now + When.far).isComplete)
    }
}
