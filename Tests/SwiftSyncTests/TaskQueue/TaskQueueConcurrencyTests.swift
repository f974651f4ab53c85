import Glibc
import Synchronization
import Testing

@testable import SwiftSync

/// What holds when many threads push and release.
@Suite(.endsInTime)
struct TaskQueueConcurrencyTests {
    /// What the tasks write without a lock of their own: the queue's hand-over alone must order it.
    private final class Log: @unchecked Sendable {
        var isInside = false
        var overlaps = 0
        var entries: [(pusher: Int, number: Int)] = []
    }

    private let pushers = 4
    private let pushes = 2000

    /// Pushes from several threads tasks that `end` their lock; returns what they logged.
    private func log(_ queue: TaskQueue, _ end: @escaping @Sendable (_ number: Int, QueueLock) -> Void) async -> Log {
        let log = Log(), ended = Atomic(0)
        let threads = (0..<pushers).map { pusher in
            Thread { [pushes] in
                for number in 0..<pushes {
                    queue.push("\(pusher)") { lock in
                        if log.isInside { log.overlaps += 1 }
                        log.isInside = true
                        log.entries.append((pusher, number))
                        log.isInside = false
                        ended.add(1, ordering: .releasing)
                        end(number, lock)
                    }
                }
            }
        }
        threads.forEach { $0.join() }
        await waitUntil { ended.load(ordering: .acquiring) == pushers * pushes && queue.isIdle }
        return log
    }

    private func check(_ log: Log, _ queue: TaskQueue) {
        #expect(log.overlaps == 0)
        #expect(log.entries.count == pushers * pushes)
        for pusher in 0..<pushers {
            #expect(log.entries.filter { $0.pusher == pusher }.map(\.number) == Array(0..<pushes))
        }
        // The recorder tells the same order as the tasks themselves, and each task's lock is released before the next
        // is had.
        let events = queue.recorder.events
        let started = events.filter { $0.kind == .started }.map(\.tag)
        #expect(started == log.entries.suffix(started.count).map { "\($0.pusher)" })
        let turns = events.filter { $0.kind != .pushed }
        for (before, after) in zip(turns, turns.dropFirst()) {
            #expect((before.kind == .started) == (after.kind == .finished))
            if before.kind == .started { #expect(before.id == after.id) }
        }
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.nanoseconds <= $1.nanoseconds })
        #expect(events.last?.depth == 0)
        // Pushed in the order in which they start.
        let pushed = events.filter { $0.kind == .pushed }.map(\.id)
        #expect(pushed == pushed.sorted())
    }

    @Test func tasksThatReleaseAtOnceNeverOverlap() async {
        let queue = TaskQueue.make()
        check(await log(queue) { _, lock in lock.release() }, queue)
    }

    @Test func tasksThatAreReleasedByOtherThreadsNeverOverlap() async {
        let queue = TaskQueue.make(), locks = Shared<[QueueLock]>([]), isOver = Flag()
        let releasers = (0..<3).map { _ in
            Thread {
                while !isOver.isRaised {
                    if let lock = locks.access({ $0.popLast() }) { lock.release() } else { sched_yield() }
                }
            }
        }
        check(
            await log(queue) { number, lock in
                if number % 2 == 0 { locks.access { $0.append(lock) } } else { lock.release() }
            }, queue)
        isOver.raise()
        releasers.forEach { $0.join() }
    }

    /// The lock is released while `execute` is still running: who releases goes on with the queue, and this thread does
    /// not.
    @Test func aReleaseInTheInstantOfTheStartHandsTheQueueOver() async {
        let queue = TaskQueue.make(), slot = Shared<QueueLock?>(nil), isOver = Flag(), count = Atomic(0)
        // Two: while one executes what it has started, the other releases that.
        let releasers = (0..<2).map { _ in
            Thread {
                while !isOver.isRaised {
                    if let lock = slot.access({ $0.take() }) { lock.release() } else { sched_yield() }
                }
            }
        }
        let threads = (0..<2).map { _ in
            Thread {
                for _ in 0..<300 {
                    queue.push { lock in
                        count.add(1, ordering: .relaxed)
                        slot.access { $0 = lock }
                        waitUntil { slot.access { $0 !== lock } }
                    }
                }
            }
        }
        threads.forEach { $0.join() }
        await waitUntil { count.load(ordering: .relaxed) == 600 && queue.isIdle }
        isOver.raise()
        releasers.forEach { $0.join() }
    }

    @Test func oneReleaseOfManyAtOnceCounts() {
        for _ in 0..<300 {
            let queue = TaskQueue(identifier: "raced"), ran = Shared(), kept = Shared<QueueLock?>(nil)
            queue.push { lock in kept.access { $0 = lock } }
            queue.push { lock in
                ran.increment()
                lock.release()
            }
            let lock = kept.access { $0.take() }
            Threads.run(2) { _ in lock?.release() }
            #expect(ran.value == 1)
        }
    }

    /// A history of pushes and starts must fit a queue that takes them one by one.
    @Test func pushesAndStartsAreLinearizable() {
        for _ in 0..<200 {
            let queue = TaskQueue.make(), started = Shared<[Int]>([]), release = queue.hold()
            var history = Histories.of(threads: 3) { thread, history in
                for number in 0..<4 {
                    let task = thread * 4 + number
                    history.record {
                        queue.push { lock in
                            started.append(task)
                            lock.release()
                        }
                        return QueueModel.Operation.push(task)
                    }
                }
            }
            release()
            for task in started.value { history.record { .start(task) } }
            #expect(history.calls.count == 24 && history.isLinearizable(QueueModel()))
        }
    }

    private struct QueueModel: SequentialModel {
        enum Operation: Sendable { case push(Int), start(Int) }
        private var waiting: [Int] = []

        mutating func perform(_ operation: Operation) -> Bool {
            switch operation {
            case .push(let task):
                waiting.append(task)
                return true
            case .start(let task):
                return waiting.isEmpty ? false : waiting.removeFirst() == task
            }
        }
    }
}
