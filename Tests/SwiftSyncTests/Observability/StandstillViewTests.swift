import CSyncKernel
import Testing

@testable import SwiftSync

/// Why a program stands still although nobody waits for a lock: task queues whose tasks keep them, and suspended
/// queues. The objects' names are the tests' own.
@Suite(.endsInTime, .serialized)
struct StandstillViewTests {
    typealias Object = InspectionReport.Object

    /// The first view that has all, and in which the object, or its absence, is as the predicate says.
    @discardableResult
    private func seen(
        _ name: String, line: Int = #line, where isSo: (Object?) -> Bool
    ) async -> Object? {
        var found: Object?
        await waitUntil("no view shows \(name) so, which line \(line) waits for") {
            let view = SyncInspector.report()
            found = view.objects.first { $0.name == name }
            return view.isWhole && isSo(found)
        }
        return found
    }
    private func seenNoMore(_ name: String, line: Int = #line) async {
        await seen(name, line: line) { $0 == nil }
    }

    /// The locks of tasks that have begun.
    private final class Locks: Sendable {
        private let locks = PriorityMutex([QueueLock]())
        func add(_ lock: QueueLock) { locks.withLock { $0.append(lock) } }
        func takeFirst() -> QueueLock? { locks.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
        func releaseFirst() { takeFirst()?.release() }
    }
    /// A task that keeps its lock.
    private struct Held: TaskQueue.Task {
        let tag: String
        let locks: Locks
        func execute(queueLock: QueueLock) { locks.add(queueLock) }
    }
    /// A task that calls a closure with its lock.
    private struct Called: TaskQueue.Task {
        let tag: String
        let body: @Sendable (QueueLock) -> Void
        func execute(queueLock: QueueLock) { body(queueLock) }
    }

    // MARK: - Task queues

    @Test
    func aTaskQueueShowsItsTasks() async throws {
        await listingTasks {
            let queue = TaskQueue(identifier: "view: steps"), locks = Locks()
            for tag in ["fetch", "resize", ""] { queue.push(task: Held(tag: tag, locks: locks)) }
            let two = await seen("view: steps") { $0?.waiters.count == 2 }!
            #expect(two.kind == .taskQueue && two.holder == .queueTask && two.holderTaskName == "fetch")
            #expect(two.runningFor! >= .zero && two.waitingCount == 2)
            #expect(two.waiters.map(\.taskName) == ["resize", nil])
            #expect(two.waiters.allSatisfy { $0.purpose == .turn && $0.thread == nil && $0.waitedFor! >= .zero })
            await waitUntil {
                SyncInspector.text().contains("\"view: steps\", held by task \"fetch\", its work has run for ")
            }
            locks.releaseFirst()
            let one = await seen("view: steps") { $0?.holderTaskName == "resize" }!
            #expect(one.waiters.map(\.taskName) == [nil])
            locks.releaseFirst()
            let last = await seen("view: steps") { $0?.waiters.isEmpty == true }!
            #expect(last.holder == .queueTask && last.holderTaskName == nil)
            locks.releaseFirst()
            await seenNoMore("view: steps")
            #expect(queue.isIdle)
        }
    }

    /// Tasks that release their locks inside, and push to their own queue: each has its turn from when the queue says
    /// so, although the thread is to execute it later.
    @Test
    func aTaskHasItsTurnBeforeItIsExecuted() async throws {
        await listingTasks {
            let queue = TaskQueue(identifier: "view: inside"), locks = Locks()
            let views = PriorityMutex([String?]())
            @Sendable func note() {
                waitUntil {
                    let view = SyncInspector.report()
                    guard view.isWhole, let found = view.objects.first(where: { $0.name == "view: inside" }) else {
                        return false
                    }
                    #expect(found.waiters.isEmpty)
                    views.withLock { $0.append(found.holderTaskName) }
                    return true
                }
            }
            queue.push(task: Held(tag: "before", locks: locks))
            queue.push(
                task: Called(tag: "pushes") { lock in
                    lock.release()
                    queue.push(task: Held(tag: "pushed", locks: locks))
                    note()
                })
            locks.releaseFirst()
            locks.releaseFirst()
            queue.push(task: Held(tag: "before again", locks: locks))
            queue.push(
                task: Called(tag: "releases") { lock in
                    lock.release()
                    note()
                })
            queue.push(task: Held(tag: "behind", locks: locks))
            locks.releaseFirst()
            #expect(views.withLock { $0 } == ["pushed", "behind"])
            locks.releaseFirst()
            await seenNoMore("view: inside")
            #expect(queue.isIdle)
        }
    }

    /// Locks that go without a release, and that are released twice.
    @Test
    func aTaskQueueShowsNoTaskThatHasEnded() async throws {
        await listingTasks {
            let queue = TaskQueue(identifier: "view: ended"), locks = Locks()
            for tag in ["dropped", "twice", "last"] { queue.push(task: Held(tag: tag, locks: locks)) }
            _ = locks.takeFirst()
            await seen("view: ended") { $0?.holderTaskName == "twice" && $0?.waiters.count == 1 }
            let twice = locks.takeFirst()!
            twice.release()
            twice.release()
            await seen("view: ended") { $0?.holderTaskName == "last" && $0?.waiters.isEmpty == true }
            locks.releaseFirst()
            await seenNoMore("view: ended")
        }
    }

    /// What was pushed before anybody asks is not told of, and neither is its end. Nobody else asks in this process.
    @Test
    func aTaskThatWasPushedBeforeIsNotShown() async throws {
        await #expect(processExitsWith: .success) {
            let tests = StandstillViewTests()
            let queue = TaskQueue(identifier: "early"), locks = Locks()
            for tag in ["first", "second"] { queue.push(task: Held(tag: tag, locks: locks)) }
            try await listingTasks {
                try #require(SyncInspector.report().objects.isEmpty)
                locks.releaseFirst()
                queue.push(task: Held(tag: "third", locks: locks))
                let found = await tests.seen("early") { $0?.waiters.count == 1 }!
                try #require(found.waiters[0].taskName == "third" && found.holder == .nobody)
                locks.releaseFirst()
                let third = await tests.seen("early") { $0?.waiters.isEmpty == true }!
                try #require(third.holderTaskName == "third")
                queue.push(task: Held(tag: "fourth", locks: locks))
            }
            locks.releaseFirst()
            locks.releaseFirst()
            try #require(queue.isIdle && SyncInspector.report().objects.isEmpty)
        }
    }

    @Test(.countsAlone)
    func tasksOfATaskQueueAreCounted() async throws {
        try SyncMetrics.start()
        try ContentionProfile.start(threshold: .microseconds(1))
        let queue = TaskQueue(identifier: "counted: steps"), locks = Locks()
        for tag in ["first", "second", "third"] { queue.push(task: Held(tag: tag, locks: locks)) }
        let begin = ContinuousClock.now
        await waitUntil { ContinuousClock.now - begin > .milliseconds(2) }
        for _ in 0..<3 { locks.releaseFirst() }
        ContentionProfile.stop()
        SyncMetrics.stop()
        let counted = try #require(SyncMetrics.current().waits.first { $0.name == "counted: steps" })
        #expect(counted.kind == .taskQueue && counted.grantedCount == 2 && counted.spans.total >= .milliseconds(4))
        #expect(SyncMetrics.openMetrics().contains("kind=\"task_queue\",name=\"counted: steps\""))
        let entries = ContentionProfile.current().entries.filter { $0.name == "counted: steps" && $0.side == .waiting }
        #expect(entries.reduce(.zero) { $0 + $1.delay } >= .milliseconds(4))
    }

    // MARK: - Suspended queues

    @Test
    func aSuspendedQueueIsShown() async throws {
        try await listingTasks {
            let queue = WorkQueue(name: "view: paused")
            queue.suspend()
            queue.async {}
            let paused = await seen("view: paused") { $0?.isSuspended == true }!
            #expect(paused.kind == .workQueue && paused.count == 1 && paused.waiters.isEmpty)
            queue.resume()
            try await queue.drain()
            await seenNoMore("view: paused")
        }
    }
}
