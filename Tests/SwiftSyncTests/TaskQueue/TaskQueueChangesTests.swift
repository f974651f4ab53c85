import Foundation
import Synchronization
import Testing

@testable import SwiftSync

/// Handlers learn of every change of a queue, in order, one at a time.
@Suite(.endsInTime)
struct TaskQueueChangesTests {
    private typealias Change = TaskQueue.Change

    @Test func everyChangeIsToldInOrder() {
        let queue = TaskQueue.make(), changes = Shared<[Change]>([])
        queue.push("unseen") { $0.release() }
        let observation = queue.observe { changes.append($0) }
        let release = queue.hold("a")
        queue.push("b") { $0.release() }
        release()
        #expect(
            changes.value == [
                .pushed(tag: "a", id: 2), .running, .started(tag: "a", id: 2), .pushed(tag: "b", id: 3),
                .finished(tag: "a", id: 2),
                .started(tag: "b", id: 3), .finished(tag: "b", id: 3), .idle,
            ])
        observation.end()
        observation.end()
        queue.push("c") { $0.release() }
        #expect(changes.value.count == 8)
    }

    /// It used to keep the handler for as long as the observation lived, and the object's with it.
    @Test func anObjectThatKeepsItsOwnObservationIsFreedByTheEnd() {
        final class Observer: Sendable {
            let observation = Shared<TaskQueue.Observation?>(nil)
            let tracked: Tracked
            init(_ alive: Shared<Int>) { tracked = Tracked(alive) }
        }
        let queue = TaskQueue.make(), alive = Shared()
        for endsInside in [false, true] {
            var observation: TaskQueue.Observation?
            do {
                let observer = Observer(alive)
                observation = queue.observe { [observer] change in
                    if endsInside, change == .idle { observer.observation.value?.end() }
                }
                observer.observation.access { $0 = observation }
            }
            #expect(alive.value == 1)
            queue.push { $0.release() }
            if !endsInside { observation?.end() }
            #expect(alive.value == 0)
            observation?.end()
        }
    }

    @Test func startedIsToldBeforeExecute() {
        let queue = TaskQueue.make(), log = Shared<[String]>([])
        _ = queue.observe { if case .started(let tag, _) = $0 { log.append("started \(tag)") } }
        let release = queue.hold("a")
        queue.push("b") { lock in
            log.append("execute b")
            lock.release()
        }
        release()
        #expect(log.value == ["started a", "started b", "execute b"])
    }

    @Test func severalHandlersAreToldAndEndByThemselves() {
        let queue = TaskQueue.make(), first = Shared<[Change]>([]), second = Shared<[Change]>([])
        let one = queue.observe { first.append($0) }
        let two = queue.observe { second.append($0) }
        queue.push { $0.release() }
        #expect(first.value.count == 5 && first.value == second.value)
        one.end()
        queue.push { $0.release() }
        #expect(first.value.count == 5 && second.value.count == 10)
        two.end()
    }

    @Test func aHandlerMayUseTheQueueWithoutEnd() {
        let queue = TaskQueue.make(), left = Shared(20_000), depth = Shared(0), deepest = Shared(0)
        let observation = queue.observe { change in
            guard change == .idle else { return }
            let now = depth.access {
                $0 += 1; return $0
            }
            deepest.access { $0 = max($0, now) }
            if left.access({
                $0 -= 1; return $0 > 0
            }) {
                queue.push { $0.release() }
            }
            depth.access { $0 -= 1 }
        }
        queue.push { $0.release() }
        #expect(left.value == 0 && queue.isIdle && deepest.value == 1)
        observation.end()
    }

    /// A handler called on two threads at once would lose counts of this.
    private final class Seen: @unchecked Sendable {
        var isRunning = false
        var depth = 0
        var started: [UInt64] = []
        var mistakes = 0
    }

    @Test func handlersOfManyThreadsAreCalledOneAtATimeAndInOrder() async {
        let queue = TaskQueue.make(), seen = Seen()
        let observation = queue.observe { change in
            switch change {
            case .running:
                if seen.isRunning { seen.mistakes += 1 }
                seen.isRunning = true
            case .idle:
                if !seen.isRunning || seen.depth != 0 { seen.mistakes += 1 }
                seen.isRunning = false
            case .pushed: seen.depth += 1
            case .started(_, let id): seen.started.append(id)
            case .finished, .dropped: seen.depth -= 1
            }
        }
        Threads.run(4) { _ in
            for _ in 0..<1000 { queue.push { $0.release() } }
        }
        await waitUntil { queue.isIdle }
        observation.end()
        #expect(seen.mistakes == 0 && !seen.isRunning && seen.depth == 0)
        #expect(seen.started == Array(1...4000))
    }

    @Test func observersComeAndGoWhileTasksRun() {
        let queue = TaskQueue.make(), isOver = Flag()
        let worker = Thread {
            while !isOver.isRaised { queue.push { $0.release() } }
        }
        Threads.run(3) { _ in
            for _ in 0..<200 {
                let count = Atomic(0)
                let observation = queue.observe { _ in count.add(1, ordering: .relaxed) }
                queue.push { $0.release() }
                waitUntil { count.load(ordering: .relaxed) > 0 }
                observation.end()
            }
        }
        isOver.raise()
        worker.join()
        #expect(!queue.changes.isObservedNow)
    }

    @Test func pushesWaitWhereAHandlerIsSlower() {
        let queue = TaskQueue.make(), goOn = Flag(), isBlocked = Flag(), started = Shared(0)
        _ = queue.observe { change in
            if !isBlocked.isRaised {
                isBlocked.raise()
                waitUntil { goOn.isRaised }
            }
            if case .started = change { started.access { $0 += 1 } }
        }
        let deliverer = Thread { queue.push { $0.release() } }
        waitUntil { isBlocked.isRaised }
        // The deliverer has yet to execute its task, so these only join the queue.
        for _ in 0..<TaskQueueChanges.capacity { queue.push { $0.release() } }
        let before = ContinuousClock.now
        for _ in 0..<2 { queue.push { $0.release() } }
        #expect(ContinuousClock.now - before > .milliseconds(150))
        #expect(queue.changes.untoldCount == TaskQueueChanges.capacity + 2)
        goOn.raise()
        deliverer.join()
        #expect(queue.isIdle && queue.changes.untoldCount == 0 && started.value == TaskQueueChanges.capacity + 3)
    }

    @Test func aHandlerMayWaitForThreadsThatPush() {
        let queue = TaskQueue.make(), told = Shared(0)
        _ = queue.observe { _ in
            // The third call finds the most that may wait.
            guard
                told.access({
                    $0 += 1; return $0 == 3
                })
            else { return }
            Thread { for _ in 0..<TaskQueueChanges.capacity + 2 { queue.push { $0.release() } } }.join()
        }
        queue.push { $0.release() }
        #expect(queue.isIdle && queue.changes.untoldCount == 0 && told.value > 2 * TaskQueueChanges.capacity)
    }

    /// Two threads push without end until one push of each has returned after it had told a change of the other's.
    @Test func aThreadThatTellsWhatOthersChangeComesBack() {
        let queue = TaskQueue.make(), returned = Shared(Set<Int>()), tellers = Shared<[pthread_t: Int]>([:])
        _ = queue.observe { _ in tellers.access { $0[pthread_self(), default: 0] += 1 } }
        Threads.run(2) { index in
            var count = 0
            while returned.value.count < 2 {
                let before = tellers.value[pthread_self(), default: 0]
                queue.push { $0.release() }
                count = tellers.value[pthread_self(), default: 0] - before
                if count > 5 { returned.access { _ = $0.insert(index) } }
            }
        }
        #expect(queue.isIdle && queue.changes.untoldCount == 0)
    }

    /// Each of two threads tells the changes of one queue and pushes to the other meanwhile.
    @Test func handlersThatPushToEachOthersQueuesGoOn() {
        let queues = [TaskQueue.make(), TaskQueue.make()], left = Shared(20 * TaskQueueChanges.turn)
        for (index, queue) in queues.enumerated() {
            _ = queue.observe { change in
                guard change == .idle,
                    left.access({
                        $0 -= 1; return $0 > 0
                    })
                else { return }
                queues[1 - index].push { $0.release() }
                queue.push { $0.release() }
            }
        }
        Threads.run(2) { queues[$0].push { $0.release() } }
        waitUntil { queues.allSatisfy { $0.isIdle && $0.changes.untoldCount == 0 } }
        #expect(left.value <= 0)
    }
}
