import Dispatch
import Testing

@testable import SwiftSync

/// Barriers in every form, and what a queue keeps of work that has ended.
@Suite(.endsInTime)
struct WorkQueuePromiseTests {
    /// Lets workers come to whatever may begin: work that they could begin has begun after so many others came and
    /// went.
    private func letWorkersCome() async {
        let other = WorkQueue(name: "others")
        for _ in 0..<100 { await other.run {} }
    }

    /// Whether what `start` starts waits for work that runs, and is waited for by what comes after it.
    private func isAlone(
        _ queue: ConcurrentWorkQueue, _ start: (_ body: @escaping @Sendable () -> Void) async -> Void
    ) async -> Bool {
        let log = Shared<[String]>([]), before = DispatchSemaphore(value: 0), during = DispatchSemaphore(value: 0),
            begun = Flag()
        queue.async {
            begun.raise()
            before.wait()
            log.append("before")
        }
        await waitUntil { begun.isRaised }
        await start {
            log.append("barrier begins")
            during.wait()
            log.append("barrier ends")
        }
        queue.async { log.append("after") }
        await letWorkersCome()
        before.signal()
        await waitUntil { log.value.contains("barrier begins") }
        await letWorkersCome()
        during.signal()
        await waitUntil { log.value.count == 4 }
        // The last one may still run; `begin` would count it.
        await #expect(throws: Never.self) { try await queue.drain() }
        return log.value == ["before", "barrier begins", "barrier ends", "after"]
    }

    /// Starts a task, and returns once what it does waits in the queue, or runs.
    private func begin(_ queue: ConcurrentWorkQueue, _ body: @escaping @Sendable () async -> Void) async {
        let works = queue.waitingCount + queue.runningCount
        Task { await body() }
        await waitUntil { queue.waitingCount + queue.runningCount > works }
    }

    @Test(arguments: [false, true])
    func aBarrierIsAloneInEveryForm(isRecorded: Bool) async {
        let recorder = isRecorded ? EventRecorder(name: "barriers") : nil
        let queue = ConcurrentWorkQueue(name: "barriers", width: 4, recorder: recorder)
        #expect(await isAlone(queue) { queue.async(barrier: true, $0) })
        #expect(await isAlone(queue) { body in await begin(queue) { await queue.run(barrier: true, body) } })
        #expect(
            await isAlone(queue) { body in
                let works = queue.waitingCount + queue.runningCount
                onThread { queue.sync(barrier: true, body) }
                await waitUntil { queue.waitingCount + queue.runningCount > works }
            })
        #expect(
            await isAlone(queue) { body in
                let works = queue.waitingCount + queue.runningCount
                onThread { _ = try? queue.sync(barrier: true, timeout: .seconds(50), body) }
                await waitUntil { queue.waitingCount + queue.runningCount > works }
            })
        #expect(
            await isAlone(queue) { body in
                await begin(queue) { _ = try? await queue.run(barrier: true, timeout: .seconds(50), body) }
            })
        #expect(await isAlone(queue) { body in _ = try? await queue.asyncWaitingForRoom(barrier: true, body) })
        #expect(await isAlone(queue) { queue.async(barrier: true, inheritingTaskLocals: true, $0) })
    }

    @Test func aPriorityCountsInEveryForm() async {
        let queue = WorkQueue(name: "priorities", priority: .high), log = Shared<[String]>([])
        queue.suspend()
        queue.async(priority: .normal) { log.append("normal") }
        queue.async { log.append("the queue's own") }
        onThread { _ = try? queue.sync(priority: .highest, timeout: .never) { log.append("sync") } }
        await waitUntil { queue.waitingCount == 3 }
        _ = try? await queue.asyncWaitingForRoom(priority: .highest) { log.append("async") }
        queue.resume()
        await waitUntil { log.value.count == 4 }
        #expect(log.value == ["sync", "async", "the queue's own", "normal"])
    }

    @Test(arguments: [false, true])
    func whatIsNoBarrierIsNotAlone(isRecorded: Bool) async {
        let recorder = isRecorded ? EventRecorder(name: "no barriers") : nil
        let queue = ConcurrentWorkQueue(name: "no barriers", width: 4, recorder: recorder)
        #expect(await !isAlone(queue) { queue.async(barrier: false, $0) })
        #expect(await !isAlone(queue) { body in await begin(queue) { await queue.run(barrier: false, body) } })
    }

    // MARK: - What is kept

    @Test func workThatEndedBeforeItsTimeoutIsReleased() async throws {
        let queue = WorkQueue(name: "in time"), alive = Shared()
        func run() async throws {
            let tracked = Tracked(alive)
            try await queue.run(timeout: .seconds(3600)) { withExtendedLifetime(tracked) {} }
        }
        try await run()
        await waitUntil { alive.value == 0 }
    }

    @Test func workThatWasCancelledBeforeItsTimeoutIsReleased() async throws {
        let queue = WorkQueue(name: "cancelled"), alive = Shared()
        queue.suspend()
        func start() -> Task<Void, any Error> {
            let tracked = Tracked(alive)
            return Task { try await queue.run(timeout: .seconds(3600)) { withExtendedLifetime(tracked) {} } }
        }
        do {
            let task = start()
            await waitUntil { queue.waitingCount == 1 }
            task.cancel()
            await #expect(throws: WorkQueueError.cancelled) { try await task.value }
        }
        queue.resume()
        try await queue.drain(timeout: .never)
        await waitUntil { alive.value == 0 }
    }
}
