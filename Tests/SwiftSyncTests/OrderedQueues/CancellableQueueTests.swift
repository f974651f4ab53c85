import Glibc
import Testing

@testable import SwiftSync

@Suite(.endsInTime)
struct CancellableQueueTests {
    @Test
    func tasksThatRunAndThatWaitAreCancelledAndLaterOnesAreNot() async {
        let queue = CancellableQueue(underlyingQueue: FIFOQueue()), began = Flag()
        let running = Task(on: queue) {
            began.raise()
            while !Task.isCancelled { await Task.yield() }
            return true
        }
        let pending = (0..<100).map { _ in Task(on: queue) { Task.isCancelled } }
        let throwing: Task<Int, any Error> = Task(on: queue) {
            try Task.checkCancellation()
            return 1
        }
        await waitUntil { began.isRaised }
        queue.cancelTasks()
        #expect(running.isCancelled && pending.allSatisfy(\.isCancelled) && throwing.isCancelled)
        let later = Task(on: queue) { Task.isCancelled }
        #expect(await running.value)
        for task in pending { #expect(await task.value) }
        await #expect(throws: CancellationError.self) { try await throwing.value }
        #expect(await later.value == false)
        #expect(!later.isCancelled)
    }

    @Test
    func itsMembersAreThoseOfTheQueueUnderIt() async throws {
        let fifo = FIFOQueue(name: "under"), queue = CancellableQueue(underlyingQueue: fifo), goOn = Flag()
        #expect(queue.name == "under")
        queue.recorder = EventRecorder(name: "both")
        #expect(fifo.recorder === queue.recorder && fifo.recorder != nil)
        let running = Task(on: queue) { while !goOn.isRaised { await Task.yield() } }
        let waiting = Task(on: queue) {}
        await waitUntil { fifo.waitingCount == 1 }
        #expect(queue.waitingCount == 1)
        await #expect(throws: OrderedQueueError.timedOut) { try await queue.drain(timeout: .milliseconds(1)) }
        queue.shutdown()
        #expect(!fifo.enqueue {})
        goOn.raise()
        try await queue.drain()
        await running.value
        await waiting.value
    }

    /// Else it ends, and one behind it begins in the moment before it is cancelled itself.
    @Test
    func aRunningTaskIsCancelledAfterThoseThatWaitBehindIt() async {
        let queue = CancellableQueue(underlyingQueue: FIFOQueue()), began = Flag(), isCancelled = Door()
        let pending = Shared<[Task<Bool, Never>]>([]), seen = Shared<[Bool]>([])
        let running = Task(on: queue) {
            began.raise()
            // The runtime calls no handler of work that ends as soon as it sees that it is cancelled.
            await withTaskCancellationHandler {
                await isCancelled.pass()
            } onCancel: {
                seen.access { $0 = pending.value.map(\.isCancelled) }
                isCancelled.open()
            }
        }
        pending.access { $0 = (0..<3).map { _ in Task(on: queue) { Task.isCancelled } } }
        await waitUntil { began.isRaised }
        queue.cancelTasks()
        await running.value
        for task in pending.value { #expect(await task.value) }
        #expect(seen.value == [true, true, true])
    }

    @Test
    func suspendedTasksOfAnActorQueueAreCancelledToo() async {
        let ledger = Ledger(), queue = CancellableQueue(underlyingQueue: ledger.queue), began = Shared(0)
        let tasks = (0..<10).map { _ in
            Task(on: queue) { _ in
                began.increment()
                while !Task.isCancelled { await Task.yield() }
                return true
            }
        }
        await waitUntil { began.value == 10 }
        queue.cancelTasks()
        for task in tasks { #expect(await task.value) }
        #expect(await Task(on: queue) { _ in Task.isCancelled }.value == false)
    }

    @Test
    func tasksThatWaitForTheirTurnInAnActorQueueAreCancelledAtOnce() async throws {
        let ledger = Ledger(), queue = CancellableQueue(underlyingQueue: ledger.queue), goOn = await ledger.queue.stop()
        let task = Task(on: queue) { _ in Task.isCancelled }
        let throwing = Task<Bool, any Error>(on: queue) { _ in Task.isCancelled }
        queue.cancelTasks()
        #expect(task.isCancelled && throwing.isCancelled)
        await goOn()
        #expect(await task.value)
        #expect(try await throwing.value)
    }

    /// The moment in which later ones have been cancelled, and this one not yet.
    @Test(arguments: [false, true])
    func aTaskThatBeginsOnAnActorWhileAllAreCancelledIsCancelled(mayFail: Bool) async throws {
        let ledger = Ledger(), queue = CancellableQueue(underlyingQueue: ledger.queue), goOn = await ledger.queue.stop()
        let seen = Shared([Bool]()), isRunning = Flag(), isCancelled = Door(),
            entry = TrackedTasks.Entry(of: queue.tasks)
        if mayFail {
            Task<Void, any Error>(on: queue) { _ in seen.append(Task.isCancelled) }
        } else {
            Task(on: queue) { _ in seen.append(Task.isCancelled) }
        }
        let later = Task {
            entry.begin()
            defer { entry.end() }
            await withTaskCancellationHandler {
                isRunning.raise()
                await isCancelled.pass()
            } onCancel: {
                Task(executorPreference: OwnThreads.shared) { await goOn() }
                while seen.value.isEmpty { sched_yield() }
                isCancelled.open()
            }
        }
        await waitUntil { isRunning.isRaised && queue.trackedCount == 2 }
        queue.cancelTasks()
        await later.value
        #expect(seen.value == [true])
    }

    @Test
    func itKeepsTheOrderOfTheUnderlyingQueue() async throws {
        let fifo = FIFOQueue(), queue = CancellableQueue(underlyingQueue: fifo), ledger = Ledger()
        var tasks = [Task<Void, Never>]()
        for number in stride(from: 0, to: 300, by: 3) {
            fifo.enqueue(on: ledger) { $0.write(number) }
            tasks.append(Task(on: queue, isolatedTo: ledger) { $0.write(number + 1) })
            Task<Void, any Error>(on: queue, isolatedTo: ledger) { $0.write(number + 2) }
        }
        try await fifo.drain()
        for task in tasks { await task.value }
        #expect(await ledger.lines == Array(0..<300))
    }

    @Test
    func mainActorTasksAreCancelled() async {
        let queue = CancellableQueue(underlyingQueue: MainActor.queue)
        let (task, failing) = await MainActor.run {
            // Nothing of it begins before this has ended.
            let task = Task(on: queue) { Task.isCancelled },
                failing = Task<Void, any Error>(on: queue) { try Task.checkCancellation() }
            queue.cancelTasks()
            return (task, failing)
        }
        #expect(await task.value)
        await #expect(throws: CancellationError.self) { try await failing.value }
    }

    @Test
    func handlersThatRunInCancelTasksMayUseTheQueue() async {
        let queue = CancellableQueue(underlyingQueue: FIFOQueue()), began = Flag(),
            later = Shared<Task<Bool, Never>?>(nil), door = Door()
        let task = Task(on: queue) {
            await withTaskCancellationHandler {
                began.raise()
                await door.pass()
            } onCancel: {
                later.access { $0 = Task(on: queue) { Task.isCancelled } }
                queue.cancelTasks()
                door.open()
            }
        }
        await waitUntil { began.isRaised }
        queue.cancelTasks()
        await task.value
        #expect(await later.value!.value == true, "it was started before the second call")
    }

    @Test
    func endedTasksAreForgottenAndReleased() async throws {
        let alive = Shared(0), fifo = FIFOQueue(), queue = CancellableQueue(underlyingQueue: fifo)
        for _ in 0..<1000 {
            let tracked = Tracked(alive)
            Task(on: queue) { withExtendedLifetime(tracked) {} }
        }
        try await fifo.drain()
        await waitUntil { alive.value == 0 && queue.trackedCount == 0 }
        fifo.shutdown()
        let refused: Task<Void, any Error> = Task(on: queue) { try Task.checkCancellation() }
        await #expect(throws: OrderedQueueError.shutDown) { try await refused.value }
        await waitUntil { queue.trackedCount == 0 }
    }

    @Test
    func cancellingAndEndingRace() async throws {
        let fifo = FIFOQueue(), queue = CancellableQueue(underlyingQueue: fifo), ended = Shared(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { for _ in 0..<1000 { Task(on: queue) { ended.increment() } } }
            }
            group.addTask {
                for _ in 0..<300 {
                    queue.cancelTasks()
                    await Task.yield()
                }
            }
        }
        try await fifo.drain()
        #expect(ended.value == 3000)
        await waitUntil { queue.trackedCount == 0 }
    }

    /// The moment between the start of a task and its being known to the queue.
    @Test
    func aTaskThatIsJustStartingIsCancelled() async {
        let pause = StepPause("TrackedTasks: tracks"), queue = CancellableQueue(underlyingQueue: FIFOQueue())
        let started = Shared<Task<Bool, Never>?>(nil)
        let starter = Thread { pause.within { started.access { $0 = Task(on: queue) { Task.isCancelled } } } }
        await pause.isReached()
        queue.cancelTasks()
        pause.goOn()
        starter.join()
        #expect(await started.value!.value)
        #expect(queue.trackedCount == 0)
        #expect(await Task(on: queue) { Task.isCancelled }.value == false)
    }

    @Test
    func aTaskThatCancelsItsQueueIsCancelledItselfThoughItHasJustBegun() async {
        let fifo = CancellableQueue(underlyingQueue: FIFOQueue()), ledger = Ledger(),
            actor = CancellableQueue(underlyingQueue: ledger.queue)
        var missed = 0
        for _ in 0..<10_000 {
            let first = Task(on: fifo) {
                fifo.cancelTasks()
                return Task.isCancelled
            }
            let second: Task<Bool, any Error> = Task(on: actor) { _ in
                actor.cancelTasks()
                return Task.isCancelled
            }
            if await !first.value || !first.isCancelled { missed += 1 }
            if (try? await second.value) != true || !second.isCancelled { missed += 1 }
        }
        #expect(missed == 0)
        await waitUntil { fifo.trackedCount == 0 && actor.trackedCount == 0 }
    }

    /// What is bit-cast there.
    @Test
    func aTaskAndTheCurrentTaskAreOneReference() {
        #expect(MemoryLayout<UnsafeCurrentTask>.size == MemoryLayout<Task<Void, Never>>.size)
    }
}
