import Dispatch
import Testing

@testable import SwiftSync

/// Nobody hangs: neither behind a queue that is stuck behind the value, nor when a task is cancelled.
@Suite(.endsInTime)
struct QueueSafeValueProgressTests {
    @Test
    func aSyncCommandOnTheQueueOfAGrantedAsyncOneGoesFirst() async {
        let value = QueueSafeValue(value: [String]()), queue = DispatchQueue(label: "serial"), done = Flag()
        queue.sync {
            value.async(performIn: queue).highestPriority.set {
                $0.append("async")
            } completion: { _ in
                done.raise()
            }
            #expect(value.wait.lowestPriority.set { $0.append("sync") } == .success(["sync"]))
        }
        await waitUntil { done.isRaised }
        #expect(value.wait.lowestPriority.get() == .success(["sync", "async"]))
    }

    @Test
    func syncCommandsOnEveryThreadOfThePoolPassSuspendedOnes() async {
        let value = QueueSafeValue(value: 0), tasks = 64
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<tasks {
                group.addTask {
                    if number % 2 == 0 {
                        await value.suspending.highestPriority.set { $0 += 1 }
                    } else {
                        value.wait.lowestPriority.set { $0 += 1 }
                    }
                }
            }
        }
        #expect(value.wait.lowestPriority.get() == .success(tasks))
    }

    @Test
    func waitingAsyncCommandsOccupyNoThread() async {
        let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "serial"), release = await hold(value)
        for _ in 0..<500 { value.async(performIn: queue).lowestPriority.set { $0 += 1 } }
        #expect(value.waitingCount == 500)
        #expect(queue.sync { true })
        release()
        await waitUntil { value.wait.lowestPriority.get() == .success(500) }
    }

    @Test
    func aCancelledTaskLeavesTheQueue() async {
        let value = QueueSafeValue(value: 0), release = await hold(value)
        let task = Task { await value.suspending.highestPriority.set { $0 += 1 } }
        await waitUntil { value.waitingCount == 1 }
        task.cancel()
        #expect(await task.value == .failure(.cancelled))
        #expect(value.waitingCount == 0)
        let cancelledBefore = Task {
            while !Task.isCancelled { await Task.yield() }
            return await value.suspending.lowestPriority.get()
        }
        cancelledBefore.cancel()
        #expect(await cancelledBefore.value == .failure(.cancelled))
        release()
        #expect(value.wait.lowestPriority.get() == .success(0))
    }

    @Test
    func ofGrantAndCancellationExactlyOneWins() async {
        let value = QueueSafeValue(value: 0)
        var successes = 0
        for round in 0..<2000 {
            let release = await holdFromQueue(value, quickly: round % 2 == 0)
            let task = Task { await value.suspending.highestPriority.set { $0 += 1 } }
            if round % 3 == 0 { await Task.yield() }
            task.cancel()
            await release()
            if case .success = await task.value { successes += 1 }
        }
        #expect(value.wait.lowestPriority.get() == .success(successes))
    }

    /// Holds the value from this task's side, without a thread.
    private func holdFromQueue(_ value: QueueSafeValue<Int>, quickly: Bool) async -> @Sendable () async -> Void {
        let completion = Shared<CommandCompletionClosure?>(nil)
        value.async(performIn: .global()).highestPriority.get { _, done in completion.access { $0 = done } }
        if !quickly { await waitUntil { completion.value != nil } }
        return {
            await waitUntil { completion.value != nil }
            completion.access { $0.take()?() }
        }
    }

    @Test
    func suspendedCommandsKeepTheirActor() async {
        actor Account {
            let shared = QueueSafeValue(value: 0)
            var touched = 0
            func update() async {
                for _ in 0..<100 {
                    await shared.suspending.priority(.normal).set {
                        self.assertIsolated()
                        $0 += 1
                        self.touched += 1
                    }
                }
            }
        }
        let account = Account()
        async let first: Void = account.update()
        async let second: Void = account.update()
        _ = await (first, second)
        #expect(await account.touched == 200)
    }
}
