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

        var rows = Rows([]), allocations = Rows([])
        func turn(
            _ name: String, count: Int = 100_000, before: @escaping () -> Void = {}, after: @escaping () -> Void = {},
            _ loop: @escaping (Int) -> Void
        ) -> Turn {
            Turn(subject: name) {
                before()
                loop(100)
                let allocated = bench_allocations(), begin = bench_now_ns()
                loop(count)
                rows.add(name, Double(bench_now_ns() - begin) / Double(count))
                allocations.add(
                    name, (Double(bench_allocations() - allocated) / Double(count)).rounded(.toNearestOrEven))
                after()
            }
        }
        func report(_ group: String, baseline: String, _ turns: [Turn]) {
            rows = Rows(turns.map(\.subject))
            allocations = rows
            note("\(group) ")
            inRounds(rounds, turns)
            note("\n")
            results.print(group, "ns", baseline: baseline, rows.values)
            results.print(group, "allocations", baseline: "", allocations.values)
        }
        func pushes(_ queue: TaskQueue, _ task: Releasing) -> (Int) -> Void {
            { times in for _ in 0..<times { queue.push(task: task) } }
        }

        report(
            "task queue, push that runs and releases at once", baseline: "DispatchQueue.sync",
            [
                turn("DispatchQueue.sync") { times in
                    for _ in 0..<times { dispatch.sync { counter.withLockedValue { $0 &+= 1 } } }
                },
                turn("TaskQueue.push, idle", pushes(idle, short)),
                turn("TaskQueue.push, idle, long tag", pushes(idle, long)),
            ])
        report(
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
        report(
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
