import Glibc
import Testing

@testable import SwiftSync

/// Counts of objects whose names only the test has; the counting itself is the process's.
@Suite(.endsInTime, .serialized, .countsAlone)
struct SyncMetricsTests {
    private func waits(_ name: String) -> SyncMetrics.Waits? {
        SyncMetrics.current().waits.first { $0.name == name }
    }

    @Test
    func waitsAreCountedByName() async throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let first = PriorityMutex(0, name: "metrics: sessions"), second = PriorityMutex(0, name: "metrics: sessions")
        for mutex in [first, second] {
            let isInside = PrioritySemaphore(value: 0)
            let thread = Thread {
                mutex.withLock { _ in
                    try? isInside.signal()
                    waitUntil { mutex.waitingCount == 1 }
                }
            }
            try await isInside.wait() // looking whether the mutex is free could make the thread wait
            mutex.withLock { $0 += 1 }
            thread.join()
        }
        let counted = try #require(waits("metrics: sessions"))
        #expect(counted.kind == .mutex && counted.grantedCount == 2)
        #expect(counted.timedOutCount == 0 && counted.refusedCount == 0)
        #expect(counted.spans.count == 2 && counted.spans.buckets.reduce(0, +) == 2)
        #expect(counted.spans.longest > .zero && counted.spans.total >= counted.spans.longest)
    }

    @Test
    func waitsOfTasksAndTimeoutsAreCounted() async throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let semaphore = PrioritySemaphore(value: 0, name: "metrics: permits")
        // A deadline that has passed before the timer is started says nothing of timers.
        var timeouts: UInt64 = 0
        repeat {
            await #expect(throws: PrioritySemaphoreError.timedOut) {
                try await semaphore.wait(timeout: .milliseconds(2))
            }
            timeouts += 1
        } while SyncMetrics.current().timerLateness.count == 0
        let task = Task { try await semaphore.wait() }
        await waitUntil { semaphore.waitingCount == 1 }
        task.cancel()
        await #expect(throws: PrioritySemaphoreError.cancelled) { try await task.value }
        let counted = try #require(waits("metrics: permits"))
        #expect(counted.kind == .semaphore)
        #expect(counted.timedOutCount == timeouts && counted.refusedCount == 1 && counted.grantedCount == 0)
        #expect(counted.spans.longest > .zero)
    }

    @Test
    func nothingIsCountedBehindAStop() async throws {
        try SyncMetrics.start()
        SyncMetrics.stop()
        let semaphore = PrioritySemaphore(value: 0, name: "metrics: none")
        #expect(throws: PrioritySemaphoreError.timedOut) { try semaphore.blockingWait(timeout: .milliseconds(1)) }
        #expect(waits("metrics: none") == nil)
    }

    @Test
    func thePlaceIsTheNameOfWhatHasNone() async throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let semaphore = PrioritySemaphore(value: 0)
        #expect(throws: PrioritySemaphoreError.timedOut) { try semaphore.blockingWait(timeout: .milliseconds(1)) }
        #expect(waits(semaphore.name)?.timedOutCount == 1)
    }

    @Test
    func whatAQueueRefusesAndDropsIsCounted() async throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let queue = WorkQueue(name: "metrics: jobs"), leave = PrioritySemaphore(value: 0)
        let begun = PrioritySemaphore(value: 0)
        queue.async {
            try! begun.signal()
            try! leave.blockingWait()
        }
        try await begun.wait()
        for _ in 0..<3 { queue.async {} }
        queue.shutdown(cancelsPending: true)
        await #expect(throws: WorkQueueError.shutDown) { try await queue.run(timeout: .seconds(1)) {} }
        try leave.signal()
        try await queue.drain()
        let works = try #require(SyncMetrics.current().works.first { $0.name == "metrics: jobs" })
        #expect(works.droppedCount == 3)
        #expect(works.refusedCount == 1)
        #expect(works.waiting.count % 1024 == 0 && works.running.count == works.waiting.count)
    }

    @Test
    func threadsThatWaitAtAQueueAreCountedByWhatTheyWaitFor() async throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let queue = WorkQueue(name: "metrics: turns"), leave = PrioritySemaphore(value: 0)
        queue.async { try! leave.blockingWait() }
        let thread = Thread { queue.sync {} }
        await waitUntil { // the work before it would be waiting too, and a place in the queue is not a wait yet
            let seen = SyncInspector.report().objects.first { $0.name == "metrics: turns" }
            return seen?.waiters.first?.purpose == .turn
        }
        try leave.signal()
        thread.join()
        let counted = SyncMetrics.current().waits.filter { $0.name == "metrics: turns" && $0.purpose == .turn }
        #expect(counted.count == 1 && counted.first?.kind == .workQueue && counted.first?.grantedCount == 1)
        #expect(SyncMetrics.openMetrics().contains("kind=\"workqueue_turn\",name=\"metrics: turns\""))
    }

    @Test
    func theTextIsOpenMetrics() async throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let semaphore = PrioritySemaphore(value: 0, name: "metrics: a \"quoted\\name\"")
        #expect(throws: PrioritySemaphoreError.timedOut) { try semaphore.blockingWait(timeout: .milliseconds(1)) }
        let text = SyncMetrics.openMetrics()
        #expect(text.hasSuffix("# EOF\n"))
        #expect(text.contains("# TYPE csk_wait_seconds histogram\n"))
        #expect(text.contains("name=\"metrics: a \\\"quoted\\\\name\\\"\""))
    }

    @Test
    func aQuantileIsTheBoundOfItsBucket() {
        var buckets = [UInt64](repeating: 0, count: 28)
        buckets[0] = 90
        buckets[3] = 9
        buckets[27] = 1
        let spans = SyncMetrics.Spans(count: 100, total: .seconds(200), longest: .seconds(150), buckets: buckets)
        #expect(spans.quantile(0.5) == .microseconds(1))
        #expect(spans.quantile(0.9) == .microseconds(1))
        #expect(spans.quantile(0.91) == .microseconds(8))
        #expect(spans.quantile(1) == .seconds(150))
        #expect(spans.quantile(-1) == .microseconds(1))
        #expect(SyncMetrics.Spans(count: 0, total: .zero, longest: .zero, buckets: []).quantile(0.5) == .zero)
        #expect(SyncMetrics.Spans.upperBound(ofBucket: 27) == nil)
        #expect(SyncMetrics.Spans.upperBound(ofBucket: 26) == .microseconds(1 << 26))
    }

    @Test func `a bucket before the first stops the program with a message, in each build`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = SyncMetrics.Spans.upperBound(ofBucket: Shared(-1).value)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("SyncMetrics: a bucket has an index of at least 0, not -1"))
    }
}
