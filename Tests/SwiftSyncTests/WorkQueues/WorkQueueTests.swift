import Dispatch
import Synchronization
import Testing

@testable import SwiftSync

/// Keeps the worker of a queue busy until it is let go: what is queued meanwhile waits.
final class Blocked: Sendable {
    private let begun = DispatchSemaphore(value: 0), released = DispatchSemaphore(value: 0)

    init(_ queue: WorkQueueBase) {
        let begun = begun, released = released
        queue.async {
            begun.signal()
            released.wait()
        }
        begun.wait()
    }

    func release() { released.signal() }
}

@Suite struct WorkQueueTests {
    @Test func workRunsInTheOrderItCame() {
        let queue = WorkQueue(name: "order"), seen = Shared([Int]())
        for i in 0..<1000 { queue.async { seen.append(i) } }
        queue.blockingDrain()
        #expect(seen.value == Array(0..<1000))
    }

    @Test func aHigherPriorityGoesBeforeWhatWaits() {
        let queue = WorkQueue(name: "priorities"), seen = Shared([String]())
        let blocked = Blocked(queue)
        queue.async { seen.append("normal 1") }
        queue.async(priority: .low) { seen.append("low 1") }
        queue.async(priority: .high) { seen.append("high 1") }
        queue.async { seen.append("normal 2") }
        queue.async(priority: .low) { seen.append("low 2") }
        queue.async(priority: .high) { seen.append("high 2") }
        blocked.release()
        queue.blockingDrain()
        #expect(seen.value == ["high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"])
    }

    @Test func producersKeepTheirOwnOrder() {
        let queue = WorkQueue(name: "producers"), seen = Shared([[Int]](repeating: [], count: 4))
        Threads.run(4) { producer in
            for i in 0..<2000 { queue.async { seen.access { $0[producer].append(i) } } }
        }
        queue.blockingDrain()
        #expect(seen.value == [[Int]](repeating: Array(0..<2000), count: 4))
    }

    @Test func onlyOneRunsAtATime() {
        let queue = WorkQueue(name: "alone"), inside = Atomic(0), most = Atomic(0)
        Threads.run(4) { _ in
            for i in 0..<500 {
                let enter: @Sendable () -> Void = {
                    most.max(inside.add(1, ordering: .sequentiallyConsistent).newValue, ordering: .relaxed)
                    inside.subtract(1, ordering: .sequentiallyConsistent)
                }
                if i % 3 == 0 { queue.sync(enter) } else { queue.async(enter) }
            }
        }
        queue.blockingDrain()
        #expect(most.load(ordering: .relaxed) == 1)
    }

    @Test func syncRunsOnTheCallersThreadAfterWhatCameBefore() throws {
        let queue = WorkQueue(name: "sync"), seen = Shared([Int]())
        for i in 0..<100 { queue.async { seen.append(i) } }
        let caller = Threads.current
        let count = queue.sync {
            #expect(Threads.current == caller)
            return seen.value.count
        }
        #expect(count == 100)
        struct Odd: Error {}
        #expect(throws: Odd.self) { try queue.sync { () throws(Odd) in throw Odd() } }
        #expect(try queue.sync(timeout: .seconds(1)) { 7 } == 7)
    }

    @Test func aTimeoutTakesACallerOutOfTheQueue() {
        let queue = WorkQueue(name: "timeout")
        let blocked = Blocked(queue)
        let ran = Flag()
        #expect(throws: WorkQueueError.timedOut) { try queue.sync(timeout: .milliseconds(1)) { ran.raise() } }
        #expect(throws: WorkQueueError.timedOut) { try queue.blockingDrain(timeout: .milliseconds(1)) }
        blocked.release()
        queue.blockingDrain()
        #expect(!ran.isRaised)
    }

    @Test func waitingForItselfIsAnErrorAndNotAHang() {
        let queue = WorkQueue(name: "itself"), outer = ConcurrentWorkQueue(name: "outer")
        queue.sync {
            #expect(queue.isCurrent)
            #expect(throws: WorkQueueError.wouldDeadlock) { try queue.sync(timeout: .never) {} }
            #expect(throws: WorkQueueError.wouldDeadlock) { try queue.blockingDrain(timeout: .never) }
            outer.sync {
                #expect(throws: WorkQueueError.wouldDeadlock) { try queue.sync(timeout: .never) {} }
            }
        }
        #expect(!queue.isCurrent)
    }

    @Test func syncInsideItsOwnWorkStopsWithAMessage() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = WorkQueue(name: "log")
            onThreadThatIsWaitedFor { queue.sync { queue.sync {} } }
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("WorkQueue log: sync was called inside the queue's own work"))
    }

    @Test func queuedWorkOutlivesTheQueueObject() {
        let ran = Shared()
        var queue: WorkQueue? = WorkQueue(name: "short-lived")
        weak let gone = queue
        let blocked = Blocked(queue!)
        for _ in 0..<100 { queue!.async { ran.increment() } }
        queue = nil
        #expect(gone == nil)
        blocked.release()
        waitUntil { ran.value == 100 }
    }

    @Test func aSuspendedQueueThatIsReleasedRunsWhatItHolds() {
        let ran = Flag()
        do {
            let queue = WorkQueue(name: "suspended")
            queue.suspend()
            queue.async { ran.raise() }
        }
        waitUntil { ran.isRaised }
    }

    @Test func theLastReferenceMayGoInsideTheQueuesWork() {
        let done = Flag()
        do {
            let queue = WorkQueue(name: "self-keeping")
            queue.async { [queue] in
                _ = queue.name
                done.raise()
            }
        }
        waitUntil { done.isRaised }
    }

    @Test func nothingBeginsWhileSuspended() {
        let queue = WorkQueue(name: "suspend"), ran = Shared()
        queue.suspend()
        queue.suspend()
        queue.async { ran.increment() }
        queue.resume()
        #expect(throws: WorkQueueError.timedOut) { try queue.blockingDrain(timeout: .milliseconds(2)) }
        #expect(ran.value == 0)
        queue.resume()
        queue.blockingDrain()
        #expect(ran.value == 1)
    }

    @Test func afterAShutdownWorkIsRefusedAndWhatWasAcceptedRuns() async throws {
        let queue = WorkQueue(name: "shutdown"), ran = Shared()
        let blocked = Blocked(queue)
        for _ in 0..<10 { #expect(queue.async { ran.increment() }) }
        queue.shutdown()
        #expect(!queue.async { ran.increment() })
        #expect(throws: WorkQueueError.shutDown) { try queue.sync(timeout: .never) {} }
        await #expect(throws: WorkQueueError.shutDown) { try await queue.run(timeout: .never) {} }
        blocked.release()
        try await queue.drain()
        #expect(ran.value == 10)
    }

    @Test func aShutdownThatCancelsReleasesWhatHasNotBegun() async throws {
        let queue = WorkQueue(name: "cancel"), alive = Shared(), ran = Shared()
        let blocked = Blocked(queue)
        for i in 0..<10 {
            let tracked = Tracked(alive, number: i)
            queue.async { ran.access { $0 += tracked.number } }
        }
        let waiting = Task { try await queue.run(timeout: .never) { ran.increment() } }
        await waitUntil { queue.waitingCount == 11 }
        queue.shutdown(cancelsPending: true)
        await #expect(throws: WorkQueueError.cancelled) { try await waiting.value }
        #expect(alive.value == 0)
        blocked.release()
        try await queue.drain()
        #expect(ran.value == 0)
    }

    @Test func aFullQueueRefuses() {
        let queue = WorkQueue(name: "refuses", capacity: 2, whenFull: .refuse), ran = Shared()
        let blocked = Blocked(queue)
        #expect(queue.async { ran.increment() })
        #expect(queue.async { ran.increment() })
        #expect(!queue.async { ran.increment() })
        blocked.release()
        queue.blockingDrain()
        #expect(ran.value == 2)
    }

    @Test func aFullQueueDropsItsOldest() {
        let queue = WorkQueue(name: "drops", capacity: 2, whenFull: .dropOldest), seen = Shared([Int]())
        let blocked = Blocked(queue)
        for i in 0..<5 { #expect(queue.async { seen.append(i) }) }
        blocked.release()
        queue.blockingDrain()
        #expect(seen.value == [3, 4])
    }

    @Test func aFullQueueMakesItsCallersWait() {
        let queue = WorkQueue(name: "waits", capacity: 3, whenFull: .wait), ran = Shared()
        Threads.run(4) { _ in
            for _ in 0..<500 { queue.async { ran.increment() } }
        }
        queue.blockingDrain()
        #expect(ran.value == 2000)
    }

    @Test func delayedWorkIsNeverEarly() {
        let queue = WorkQueue(name: "delayed"), at = Shared<ContinuousClock.Instant?>(nil)
        let start = ContinuousClock.now
        queue.async(after: .milliseconds(5)) { at.access { $0 = .now } }
        waitUntil { at.value != nil }
        #expect(at.value! - start >= .milliseconds(5))
        let soon = Flag()
        queue.async(after: .seconds(-1)) { soon.raise() }
        waitUntil { soon.isRaised }
        let later = Flag()
        queue.asyncAfter(deadline: .now() + .milliseconds(2)) { later.raise() }
        waitUntil { later.isRaised }
    }

    @Test func delayedWorkCanBeCancelledOnce() {
        let queue = WorkQueue(name: "cancelled"), alive = Shared()
        let ran = Flag()
        do {
            let tracked = Tracked(alive)
            let delayed = queue.async(after: .seconds(Int64.max)) {
                _ = tracked
                ran.raise()
            }
            #expect(delayed.cancel())
            #expect(!delayed.cancel())
        }
        #expect(alive.value == 0)
        #expect(!ran.isRaised)
    }

    @Test func cancellingRacesWithBeginning() {
        let queue = WorkQueue(name: "race"), ran = Shared(), cancelled = Shared()
        for _ in 0..<500 {
            let delayed = queue.async(after: .microseconds(20)) { ran.increment() }
            if delayed.cancel() { cancelled.increment() }
        }
        waitUntil { ran.value + cancelled.value == 500 }
        queue.blockingDrain()
        #expect(ran.value + cancelled.value == 500)
    }

    @Test func periodicWorkRunsUntilItIsCancelledByItself() {
        let queue = WorkQueue(name: "periodic"), count = Shared(), alive = Shared()
        let handle = Shared<DelayedWork?>(nil), cancelled = Flag()
        do {
            let tracked = Tracked(alive)
            let periodic = queue.async(every: .milliseconds(1)) {
                _ = tracked
                count.increment()
                guard count.value == 5 else { return }
                // Five periods may have passed before the handle is in its place.
                waitUntil { handle.value != nil }
                handle.value?.cancel()
                cancelled.raise()
            }
            handle.access { $0 = periodic }
        }
        // Not when the fifth has been counted: the work still needs the handle then.
        waitUntil { cancelled.isRaised }
        handle.access { $0 = nil }
        waitUntil { alive.value == 0 }
        #expect(count.value == 5)
    }

    @Test func manyQueuesThatBlockAtOnceAllMakeProgress() {
        let queues = (0..<300).map { WorkQueue(name: "blocks \($0)") }, begun = Shared(),
            all = DispatchSemaphore(value: 0)
        for queue in queues {
            queue.async {
                if begun.access({
                    $0 += 1; return $0
                }) == 300 {
                    for _ in 0..<300 { all.signal() }
                }
                all.wait()
            }
        }
        for queue in queues { queue.blockingDrain() }
        #expect(begun.value == 300)
    }
}

@Suite struct WorkQueueRecorderTests {
    @Test func aRecorderTellsWhatHappenedInOrder() async throws {
        let recorder = EventRecorder(name: "log")
        let queue = WorkQueue(name: "log", recorder: recorder)
        let blocked = Blocked(queue)
        queue.async(tag: "low", priority: .low) {}
        queue.async(tag: "normal") {}
        #expect(throws: WorkQueueError.timedOut) { try queue.sync(timeout: .milliseconds(1)) {} }
        await #expect(throws: WorkQueueError.timedOut) { try await queue.run(timeout: .milliseconds(1)) {} }
        blocked.release()
        try await queue.drain()
        #expect(await queue.run { 1 } == 1)
        let events = recorder.events.map { "\($0.kind) \($0.tag)" }
        #expect(
            events == [
                "pushed log", "started log", "pushed low", "pushed normal", "pushed log", "cancelled log", "pushed log",
                "cancelled log",
                "finished log", "started normal", "finished normal", "started low", "finished low", "pushed log",
                "started log", "finished log",
            ])
        #expect(recorder.events.last?.depth == 0)
    }

    @Test func whatIsDroppedIsRecorded() {
        let recorder = EventRecorder(name: "drops")
        let queue = WorkQueue(name: "drops", capacity: 1, whenFull: .dropOldest, recorder: recorder)
        let blocked = Blocked(queue)
        queue.async(tag: "old") {}
        queue.async(tag: "new") {}
        blocked.release()
        queue.blockingDrain()
        queue.shutdown()
        #expect(!queue.async(tag: "late") {})
        let events = recorder.events.map { "\($0.kind) \($0.tag)" }
        #expect(events.contains("dropped old") && events.contains("finished new") && events.contains("dropped late"))
        #expect(recorder.events.last?.depth == 0)
    }
}
