import CoreMetrics
import Dispatch
import Glibc
import Logging
import MetricsTestKit
import ServiceLifecycle
import SwiftSync
import Testing

/// What a publisher passes on to a backend of swift-metrics. One test after the other: each begins and ends the
/// counting, which is that of the process.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct MetricsTests {
    @Test func whatCameSinceTheLastCallIsPassedOn() throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let backend = TestMetrics(), publisher = SyncMetricsPublisher(factory: backend)
        let semaphore = PrioritySemaphore(value: 0, name: "published")
        let dimensions = [("kind", "semaphore"), ("name", "published")]
        func timedOut() throws -> [Int64] {
            try backend.expectCounter("swiftsync_waits", dimensions + [("outcome", "timed_out")]).values
        }
        var counted: [SyncMetrics.Spans] = []
        for wanted in [[1], [1, 1]] as [[Int64]] {
            #expect(throws: PrioritySemaphoreError.timedOut) { try semaphore.blockingWait(timeout: .milliseconds(1)) }
            publisher.publish()
            #expect(try timedOut() == wanted)
            counted.append(try #require(SyncMetrics.current().waits.first { $0.name == "published" }).spans)
        }
        publisher.publish()
        #expect(try timedOut() == [1, 1]) // nothing came
        let nanoseconds = try backend.expectCounter("swiftsync_wait_nanoseconds", dimensions).values
        let totals = counted.map { Int64($0.total / .nanoseconds(1)) }
        #expect(nanoseconds.count == 2 && nanoseconds.allSatisfy { $0 > 0 })
        #expect(nanoseconds == [totals[0], totals[1] - totals[0]])
        let longest = try backend.expectMeter("swiftsync_longest_wait_seconds", dimensions).values
        #expect(longest.count >= 2 && longest.prefix(2) == counted.map { $0.longest / .seconds(1) }[...])
    }

    /// Waits for a permit that never comes once the publisher has begun, and returns what was passed on of that.
    private func waitsPassedOn(
        name: String = #function, by run: (SyncMetricsPublisher, () throws -> Void) async throws -> Void
    ) async throws -> [Int64] {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let backend = TestMetrics(), semaphore = PrioritySemaphore(value: 0, name: name)
        try await run(SyncMetricsPublisher(factory: backend, interval: .seconds(3600))) {
            // It publishes at once.
            while backend.counters.isEmpty { sched_yield() }
            #expect(throws: PrioritySemaphoreError.timedOut) { try semaphore.blockingWait(timeout: .milliseconds(1)) }
        }
        let dimensions = [("kind", "semaphore"), ("name", name), ("outcome", "timed_out")]
        return try backend.expectCounter("swiftsync_waits", dimensions).values
    }

    @Test func aServiceEndsWithItsGroupWithoutAnErrorAndPassesOnTheRest() async throws {
        let passedOn = try await waitsPassedOn { publisher, wait in
            let group = ServiceGroup(services: [publisher], logger: Logger(label: "test"))
            async let ended: Void = group.run()
            try wait()
            await group.triggerGracefulShutdown()
            try await ended
        }
        #expect(passedOn == [1])
    }

    @Test func aServiceThatIsCancelledEndsWithoutAnErrorAndPassesOnTheRest() async throws {
        let passedOn = try await waitsPassedOn { publisher, wait in
            let running = Task { await publisher.run() }
            try wait()
            running.cancel()
            await running.value
        }
        #expect(passedOn == [1])
    }

    @Test func howLongWorksWaitedAndRanIsPassedOn() throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let backend = TestMetrics(), publisher = SyncMetricsPublisher(factory: backend)
        let queue = WorkQueue(name: "timed works")
        // One in 1024 is timed: that none of so many is has a probability of three in a billion.
        for _ in 0..<20_000 { queue.async {} }
        queue.blockingDrain()
        publisher.publish()
        let works = try #require(SyncMetrics.current().works.first { $0.name == "timed works" })
        let dimensions = [("name", "timed works")]
        for (what, spans) in [("work_wait", works.waiting), ("work_run", works.running)] {
            #expect(spans.count > 0)
            let sums = try backend.expectCounter("swiftsync_\(what)_nanoseconds", dimensions).values
            #expect(sums == [Int64(spans.total / .nanoseconds(1))])
            let longest = try backend.expectMeter("swiftsync_longest_\(what)_seconds", dimensions).values
            #expect(longest == [spans.longest / .seconds(1)])
            let index = try #require(spans.buckets.firstIndex { $0 > 0 })
            func bound(_ index: Int) -> String {
                SyncMetrics.Spans.upperBound(ofBucket: index).map { "\(Int64($0 / .nanoseconds(1)))" } ?? "inf"
            }
            let bucket = [("longer_than_ns", index == 0 ? "0" : bound(index - 1)), ("up_to_ns", bound(index))]
            let counted = try backend.expectCounter("swiftsync_\(what)_buckets", dimensions + bucket).values
            #expect(counted == [Int64(spans.buckets[index])])
        }
    }

    @Test func whatSeveralThreadsPublishAtOnceIsPassedOnOnce() throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let backend = TestMetrics(), publisher = SyncMetricsPublisher(factory: backend)
        let semaphore = PrioritySemaphore(value: 0, name: "published at once")
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 1...250 {
                try? semaphore.blockingWait(timeout: .microseconds(20))
                publisher.publish()
            }
        }
        publisher.publish()
        let counted = try #require(SyncMetrics.current().waits.first { $0.name == "published at once" })
        let dimensions = [("kind", "semaphore"), ("name", "published at once"), ("outcome", "timed_out")]
        let passedOn = try backend.expectCounter("swiftsync_waits", dimensions).values
        #expect(passedOn.reduce(0, +) == Int64(counted.timedOutCount))
        #expect(try backend.expectCounter("swiftsync_timer_lateness_nanoseconds").values.allSatisfy { $0 >= 0 })
    }

    private static func waitInVain(for semaphore: PrioritySemaphore, _ times: Int) {
        for _ in 0..<times { try? semaphore.blockingWait(timeout: .milliseconds(1)) }
    }

    /// In the child nothing has been counted, and what comes there is passed on. Numbers that go back would be less
    /// than nothing.
    @Test func inAChildAPublisherBeginsAnew() async {
        await #expect(processExitsWith: .success) {
            try SyncMetrics.start()
            let backend = TestMetrics(), publisher = SyncMetricsPublisher(factory: backend)
            let semaphore = PrioritySemaphore(value: 0, name: "in a child")
            Self.waitInVain(for: semaphore, 3)
            publisher.publish()
            let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
            let child = fork()
            if child == 0 {
                let own = TestMetrics()
                Self.waitInVain(for: semaphore, 1)
                publisher.publish()
                SyncMetricsPublisher(factory: own).publish()
                let dimensions = [("kind", "semaphore"), ("name", "in a child"), ("outcome", "timed_out")]
                let both = try? backend.expectCounter("swiftsync_waits", dimensions).values
                let ofNewOne = try? own.expectCounter("swiftsync_waits", dimensions).values
                let lateness = try? backend.expectCounter("swiftsync_timer_lateness_nanoseconds").values
                let isRight = both == [3, 1] && ofNewOne == [1] && lateness?.allSatisfy { $0 >= 0 } == true
                if !isRight { print("\(both ?? []) \(ofNewOne ?? []) \(lateness ?? [])") }
                _exit(isRight ? 0 : 1)
            }
            var status: Int32 = 0
            precondition(waitpid(child, &status, 0) == child)
            precondition(status == 0, "the child ended with \(status)")
        }
    }

    @Test func aPublisherThatRunsPublishesUntilItIsCancelled() async throws {
        try SyncMetrics.start()
        defer { SyncMetrics.stop() }
        let backend = TestMetrics(), publisher = SyncMetricsPublisher(factory: backend)
        let task = Task { try await publisher.run(every: .seconds(3600)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try backend.expectCounter("swiftsync_metrics_lost").values.count == 2)
    }
}
