import Testing

@testable import SwiftSync

/// One task at a time, in order, on the thread that pushes or releases.
@Suite(.endsInTime)
struct TaskQueueTests {
    @Test func theSameIdentifierGivesTheSameQueue() {
        let queue = TaskQueue.getQueue(identifier: "TaskQueueTests.same")
        #expect(queue === TaskQueue.getQueue(identifier: "TaskQueueTests." + ["sa", "me"].joined()))
        #expect(queue !== TaskQueue.getQueue(identifier: "TaskQueueTests.other"))
        #expect(queue.identifier == "TaskQueueTests.same" && queue.recorder.name == "TaskQueueTests.same")
        #expect(TaskQueue.getQueue(identifier: "") === TaskQueue.getQueue(identifier: ""))
        // As strings compare: one spelling with a combining accent, one without.
        #expect(TaskQueue.getQueue(identifier: "e\u{301}") === TaskQueue.getQueue(identifier: "\u{e9}"))
    }

    @Test func threadsThatAskForNewQueuesAtOnceGetTheSame() {
        for round in 0..<50 {
            let found = Shared<[[ObjectIdentifier]]>([])
            Threads.run(4) { _ in
                let queues = (0..<20).map {
                    ObjectIdentifier(TaskQueue.getQueue(identifier: "TaskQueueTests.race.\(round).\($0)"))
                }
                found.append(queues)
            }
            #expect(Set(found.value).count == 1)
            #expect(Set(found.value[0]).count == 20)
        }
    }

    @Test func manyIdentifiersAreAllFoundAgain() {
        let made = (0..<20_000).map { ObjectIdentifier(TaskQueue.getQueue(identifier: "TaskQueueTests.many.\($0)")) }
        #expect(Set(made).count == made.count)
        #expect(
            made == (0..<20_000).map { ObjectIdentifier(TaskQueue.getQueue(identifier: "TaskQueueTests.many.\($0)")) })
    }

    @Test func anIdleQueueExecutesOnTheThreadThatPushes() {
        let queue = TaskQueue.make(), executed = Shared<UInt>(0)
        #expect(queue.isIdle)
        let isTaken = queue.push { lock in
            executed.access { $0 = Threads.current }
            #expect(!queue.isIdle)
            lock.release()
        }
        #expect(isTaken)
        #expect(executed.value == Threads.current)
        #expect(queue.isIdle)
    }

    @Test func aTaskThatWaitsIsExecutedByTheThreadThatReleases() {
        let queue = TaskQueue.make(), release = queue.hold(), executed = Shared<[UInt]>([])
        for _ in 0..<2 {
            queue.push { lock in
                executed.append(Threads.current)
                lock.release()
            }
        }
        #expect(executed.value.isEmpty && queue.waitingCount == 2)
        let releaser = Shared<UInt>(0)
        Thread {
            releaser.access { $0 = Threads.current }
            release()
        }.join()
        #expect(executed.value == [releaser.value, releaser.value])
        #expect(queue.isIdle && queue.waitingCount == 0)
    }

    @Test func tasksStartInTheOrderOfPushes() {
        let queue = TaskQueue.make(), release = queue.hold(), order = Shared<[Int]>([])
        for number in 0..<100 {
            queue.push { lock in
                order.append(number)
                lock.release()
            }
        }
        release()
        #expect(order.value == Array(0..<100))
    }

    @Test func theNextWaitsForTheLockAndNotForExecute() {
        let queue = TaskQueue.make(), release = queue.hold(), second = Flag()
        queue.push { lock in
            second.raise()
            lock.release()
        }
        #expect(!second.isRaised)
        release()
        #expect(second.isRaised)
    }

    @Test func aTaskMayPushToItsOwnQueue() {
        let queue = TaskQueue.make(), order = Shared<[String]>([])
        queue.push { outer in
            queue.push { lock in
                order.append("pushed before the release")
                lock.release()
            }
            order.append("before the release")
            outer.release()
            queue.push { lock in
                order.append("pushed after the release")
                lock.release()
            }
            order.append("end of execute")
        }
        #expect(
            order.value == [
                "before the release", "end of execute", "pushed before the release", "pushed after the release",
            ])
        #expect(queue.isIdle)
    }

    /// Each release would start the next task inside itself, and each of those pushes would execute inside the one
    /// before.
    @Test func aMillionTasksNeedNoStack() {
        let queue = TaskQueue.make(), release = queue.hold(), count = Shared()
        for _ in 0..<1_000_000 {
            queue.push { lock in
                count.increment()
                lock.release()
            }
        }
        release()
        #expect(count.value == 1_000_000 && queue.isIdle)

        @Sendable func pushNext(_ left: Int) {
            queue.push { lock in
                lock.release()
                if left > 0 { pushNext(left - 1) } else { count.access { $0 = -1 } }
            }
        }
        pushNext(200_000)
        #expect(count.value == -1 && queue.isIdle)
    }

    /// Two queues whose tasks start each other's, without end for all they know.
    @Test func queuesThatReleaseEachOtherNeedNoStack() {
        let queues = [TaskQueue(identifier: "ping"), TaskQueue(identifier: "pong")], left = Shared(100_000)
        @Sendable func bounce(_ index: Int) {
            queues[index].push { lock in
                lock.release()
                if left.access({
                    $0 -= 1; return $0 > 0
                }) {
                    bounce(1 - index)
                }
            }
        }
        bounce(0)
        #expect(left.value == 0 && queues.allSatisfy(\.isIdle))
    }

    @Test func aLockThatIsKeptForGoodStopsItsOwnQueueOnly() {
        let busy = TaskQueue.make(), other = TaskQueue(identifier: "other"), ran = Shared()
        let release = busy.hold()
        busy.push { lock in
            ran.increment()
            lock.release()
        }
        other.push { lock in
            ran.increment()
            lock.release()
        }
        #expect(ran.value == 1 && !busy.isIdle && busy.waitingCount == 1)
        release()
        #expect(ran.value == 2 && busy.isIdle)
    }

    @Test func aTaskIsReleasedWithItsExecuteAlsoWhenItHoldsItsLock() {
        final class Selfish: TaskQueue.Task, @unchecked Sendable {
            let tag = "selfish"
            let tracked: Tracked
            var lock: QueueLock?
            init(_ alive: Shared<Int>) { tracked = Tracked(alive) }
            func execute(queueLock: QueueLock) {
                lock = queueLock
                queueLock.release()
                lock = nil
            }
        }
        let queue = TaskQueue.make(), alive = Shared()
        queue.push(task: Selfish(alive))
        #expect(alive.value == 0)
        let release = queue.hold()
        queue.push(task: Selfish(alive))
        #expect(alive.value == 1)
        release()
        #expect(alive.value == 0)
    }

    @Test func aQueueThatNobodyNamesAnyMoreExecutesWhatItHas() {
        var queue: TaskQueue? = TaskQueue.make()
        weak let weakQueue = queue
        let release = queue!.hold(), ran = Flag()
        queue!.push { lock in
            ran.raise()
            lock.release()
        }
        queue = nil
        release()
        #expect(ran.isRaised)
        #expect(weakQueue == nil)
    }
}
