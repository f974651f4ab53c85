import CSyncKernel
import Synchronization
import Testing

@testable import SwiftSync

private let second: Int64 = 1_000_000_000

/// The reports of queues that stand still, from now on.
private func collectStalled() -> PriorityMutex<[SyncDiagnostics.Report]> {
    let reports = PriorityMutex([SyncDiagnostics.Report]())
    SyncDiagnostics.setHandler { report in
        if report.kind == .queueStalled { reports.withLock { $0.append(report) } }
    }
    return reports
}

@Suite(.endsInTime)
struct StalledQueuesTests {
    // MARK: - The rule

    @Test func workThatHasHeldUpOthersForTheLimitIsToldOnce() {
        var watch = StallWatch()
        func look(_ standstill: Standstill, at now: Int64, isFirst: Bool = false) -> Int64? {
            watch.look(standstill, now: now * second, limit: 2 * second, isFirst: isFirst)
        }
        #expect(look(.some(begun: 7), at: 1) == nil)
        #expect(look(.some(begun: 7), at: 2) == nil)
        #expect(look(.some(begun: 7), at: 3) == 2 * second)
        #expect(look(.some(begun: 7), at: 9) == nil)
        // The next one that holds others up is another.
        #expect(look(.some(begun: 8), at: 10) == nil)
        #expect(look(.some(begun: 8), at: 13) == 3 * second)
    }

    @Test func timeWithNothingBehindTheWorkDoesNotCountNorDoesAPauseOfTheWatch() {
        var watch = StallWatch()
        func look(_ standstill: Standstill, at now: Int64, isFirst: Bool = false) -> Int64? {
            watch.look(standstill, now: now * second, limit: 2 * second, isFirst: isFirst)
        }
        #expect(look(.some(begun: 7), at: 1) == nil)
        #expect(look(.nothing, at: 2) == nil)
        #expect(look(.some(begun: 7), at: 3) == nil)
        #expect(look(.some(begun: 7), at: 4, isFirst: true) == nil)
        #expect(look(.some(begun: 7), at: 5) == nil)
        #expect(look(.some(begun: 7), at: 6) == 2 * second)
    }

    @Test func aQueueThatIsBeingChangedIsLookedAtAgain() {
        var watch = StallWatch()
        func look(_ standstill: Standstill, at now: Int64) -> Int64? {
            watch.look(standstill, now: now * second, limit: 2 * second, isFirst: false)
        }
        #expect(look(.some(begun: 7), at: 1) == nil)
        #expect(look(.unknown, at: 3) == nil)
        #expect(look(.some(begun: 7), at: 4) == 3 * second)
    }

    // MARK: - Queues

    @Test func aFIFOQueueWhoseWorkIsSuspendedForLongIsReportedOnceForThatWork() async {
        await #expect(processExitsWith: .success) {
            let reports = collectStalled()
            try DeadlockWatch.start(limit: .milliseconds(50))
            let queue = FIFOQueue(name: "mail"), ends = [PrioritySemaphore(value: 0), PrioritySemaphore(value: 0)]
            for end in ends { queue.enqueue { try? await end.wait() } }
            queue.enqueue {}
            await waitUntil { reports.withLock { $0.count } == 1 }
            let report = try #require(reports.withLock { $0.first })
            #expect(report.subject == "FIFOQueue mail")
            #expect(report.message.contains("work waits, and none has begun for"))
            try ends[0].signal()
            await waitUntil { reports.withLock { $0.count } == 2 }
            try ends[1].signal()
            await queue.enqueueAndWait {}
            #expect(reports.withLock { $0.count } == 2)
        }
    }

    @Test func tasksBehindASuspendedTaskOfAFIFOQueueAreWorkBehindIt() async {
        await #expect(processExitsWith: .success) {
            let reports = collectStalled()
            try DeadlockWatch.start(limit: .milliseconds(50))
            let queue = FIFOQueue(name: "tasks"), end = PrioritySemaphore(value: 0)
            let first = Task(on: queue) { try await end.wait() }
            let second = Task(on: queue) {}
            await waitUntil { reports.withLock { $0.map(\.subject) } == ["FIFOQueue tasks"] }
            try end.signal()
            try await first.value
            await second.value
        }
    }

    @Test func aTaskQueueWhoseLockIsNotReleasedIsReported() async {
        struct Step: TaskQueue.Task {
            let tag = "step"
            let kept: PriorityMutex<[QueueLock]>
            func execute(queueLock: QueueLock) { kept.withLock { $0.append(queueLock) } }
        }
        await #expect(processExitsWith: .success) {
            let reports = collectStalled()
            try DeadlockWatch.start(limit: .milliseconds(50))
            let queue = TaskQueue.getQueue(identifier: "steps"), kept = PriorityMutex([QueueLock]())
            for _ in 0..<2 { queue.push(task: Step(kept: kept)) }
            await waitUntil { reports.withLock { $0.map(\.subject) } == ["TaskQueue steps"] }
            kept.withLock { $0.removeFirst() }.release()
            #expect(kept.withLock { $0.count } == 1)
            kept.withLock { $0.removeFirst() }.release()
            #expect(queue.isIdle)
        }
    }

    @Test func nothingIsReportedOfAQueueWithNothingBehindItsWorkNorAfterTheEndOfTheWatch() async {
        await #expect(processExitsWith: .success) {
            let reports = collectStalled()
            try DeadlockWatch.start(limit: .milliseconds(50))
            let alone = FIFOQueue(name: "alone"), busy = FIFOQueue(name: "busy"), end = PrioritySemaphore(value: 0)
            alone.enqueue { try? await end.wait() }
            busy.enqueue { try? await end.wait() }
            busy.enqueue {}
            await waitUntil { !reports.withLock { $0.isEmpty } }
            #expect(reports.withLock { $0.map(\.subject) } == ["FIFOQueue busy"])
            #expect(busy.waitingCount == 1)
            DeadlockWatch.stop()
            alone.enqueue {}
            try end.signal(2)
            await alone.enqueueAndWait {}
            await busy.enqueueAndWait {}
            #expect(reports.withLock { $0.count } == 1)
        }
    }

    @Test func aQueueThatIsGoneIsNotKept() {
        final class Queue: StallableQueue {
            let subject = "queue"
            let standstill = Standstill.nothing
            let isLookedAt = Atomic(false)
        }
        weak var gone: Queue?
        do {
            let queue = Queue()
            StalledQueues.add(queue)
            StalledQueues.add(queue)
            gone = queue
        }
        #expect(gone == nil)
    }
}
