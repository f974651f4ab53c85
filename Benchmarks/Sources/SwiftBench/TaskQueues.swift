import CBenchSupport
import Dispatch
import NIOConcurrencyHelpers
import SwiftSync

/// Nanoseconds to push tasks to a `TaskQueue`, idle or with many pending, to run them, and to record an event.
struct TaskQueues {
    let results: Results
    let rounds: Int

    private struct Releasing: TaskQueue.Task {
        let tag: String
        func execute(queueLock: QueueLock) { queueLock.release() }
    }

    private final class Holding: TaskQueue.Task, @unchecked Sendable {
        let tag = "holding"
        var lock: QueueLock?
        func execute(queueLock: QueueLock) { lock = queueLock }
        func release() { lock.take()?.release() }
    }

    func run() {
        let idle = TaskQueue.getQueue(identifier: "SwiftBench.idle"),
            busy = TaskQueue.getQueue(identifier: "SwiftBench.busy")
        let short = Releasing(tag: "short"), long = Releasing(tag: "a tag of more than fifteen bytes"),
            holding = Holding()
        let dispatch = DispatchQueue(label: "subject"), counter = NIOLockedValueBox(0)

        let loops = LoopGroup(results: results, rounds: rounds)
        func turn(
            _ name: String, count: Int = 100_000, before: @escaping () -> Void = {}, after: @escaping () -> Void = {},
            _ loop: @escaping (Int) -> Void
        ) -> Turn {
            loops.turn(name, times: count, warmUp: 100, before: before, after: after) {
                loop($0); return $0
            }
        }
        func pushes(_ queue: TaskQueue, _ task: Releasing) -> (Int) -> Void {
            { times in for _ in 0..<times { queue.push(task: task) } }
        }

        loops.report(
            "task queue, push that runs and releases at once", baseline: "DispatchQueue.sync",
            [
                turn("DispatchQueue.sync") { times in
                    for _ in 0..<times { dispatch.sync { counter.withLockedValue { $0 &+= 1 } } }
                },
                turn("TaskQueue.push, idle", pushes(idle, short)),
                turn("TaskQueue.push, idle, long tag", pushes(idle, long)),
            ])
        loops.report(
            "task queue, 5000 pushes behind others", baseline: "none pending before",
            [
                turn(
                    "none pending before", count: 5000, before: { busy.push(task: holding) }, after: holding.release,
                    pushes(busy, short)),
                turn(
                    "100 000 pending before", count: 5000,
                    before: {
                        busy.push(task: holding)
                        pushes(busy, short)(100_000)
                    }, after: holding.release, pushes(busy, short)),
            ])
        loops.report(
            "task queue, push and its share of the drain", baseline: "DispatchQueue.async",
            [
                turn("DispatchQueue.async") { times in
                    for _ in 0..<times { dispatch.async { counter.withLockedValue { $0 &+= 1 } } }
                    dispatch.sync {}
                },
                turn("TaskQueue.push") { times in
                    busy.push(task: holding)
                    pushes(busy, short)(times)
                    holding.release()
                },
            ])
    }
}
