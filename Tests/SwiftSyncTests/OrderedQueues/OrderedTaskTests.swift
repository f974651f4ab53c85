import Dispatch
import Testing

@testable import SwiftSync

/// What tasks of `Task(on:)` see of themselves, and how they pass the turn on, whoever runs them.
@Suite(.endsInTime)
struct OrderedTaskTests {
    private enum Locals {
        @TaskLocal static var number = 0
    }

    private struct Seen: Equatable {
        var name: String?
        var priority: TaskPriority
        var number: Int
        var isOnAnExecutorOfItsOwn: Bool
    }

    private static func look() -> Seen {
        withUnsafeCurrentTask { task in
            Seen(
                name: Task.name, priority: Task.currentPriority, number: Locals.number,
                isOnAnExecutorOfItsOwn: task!.unownedTaskExecutor != nil)
        }
    }

    /// The actor is free, so the operation could begin at once.
    @Test
    func whoStartsATaskOfAnActorQueueDoesNotRunItsOperation() async {
        let ledger = Ledger(), queue = ledger.queue, leave = Semaphore(), returned = Flag(), began = Flag()
        onThread {
            Task(on: queue) { (_: isolated Ledger) in
                began.raise()
                leave.wait()
            }
            returned.raise()
        }
        await waitUntil("the call runs the operation") { returned.isRaised }
        leave.signal()
        await waitUntil { began.isRaised }
    }

    /// All of them are run by the pump, which has another priority; the one that is started on a free queue is not.
    @Test
    func theyKeepNamePriorityAndLocalsAndNeitherTheyNorTheirChildrenSeeAnExecutor() async {
        let queue = FIFOQueue(priority: .background), ledger = Ledger()
        let door = await queue.stopAtDoor()
        // Not lower than that of the test, which would raise it by waiting.
        let priorities: [TaskPriority] = [.medium, .high, TaskPriority(rawValue: 29)]
        var tasks = [Task<[Seen], Never>]()
        for (number, priority) in priorities.enumerated() {
            tasks.append(
                Locals.$number.withValue(number) {
                    Task(name: "task \(number)", priority: priority, on: queue) {
                        let first = Self.look()
                        await ledger.nothing()
                        await Task.yield()
                        async let child = Self.look()
                        var seen = [first, Self.look(), await child]
                        seen[2].name = first.name
                        return seen
                    }
                })
        }
        door.open()
        for (number, task) in tasks.enumerated() {
            let expected = Seen(
                name: "task \(number)", priority: priorities[number], number: number, isOnAnExecutorOfItsOwn: false)
            let seen = await task.value
            #expect(seen == [expected, expected, expected])
        }
        let alone = await Task(name: "alone", priority: .high, on: queue) { Self.look() }.value
        #expect(alone == Seen(name: "alone", priority: .high, number: 0, isOnAnExecutorOfItsOwn: false))
    }

    @Test
    func tasksThatMayThrowHaveTheirNameAndPriorityToo() async throws {
        let name = "saved", priority = TaskPriority.background
        // Work of an actor queue has no lower priority than its queue.
        let fifo = FIFOQueue(), ledger = Ledger(queue: ActorQueue(priority: priority))
        let cancellable = CancellableQueue(underlyingQueue: fifo)
        let ofActor = CancellableQueue(underlyingQueue: ledger.queue)
        let look = { @Sendable () throws -> Bool in Task.name == "saved" && Task.basePriority == .background }
        let tasks: [Task<Bool, any Error>] = [
            Task(name: name, priority: priority, on: fifo) { try look() },
            Task(name: name, priority: priority, on: fifo, isolatedTo: ledger) { _ in try look() },
            Task(name: name, priority: priority, on: cancellable) { try look() },
            Task(name: name, priority: priority, on: cancellable, isolatedTo: ledger) { _ in try look() },
            Task(name: name, priority: priority, on: ledger.queue) { _ in try look() },
            Task(name: name, priority: priority, on: ofActor) { _ in try look() },
        ]
        for (number, task) in tasks.enumerated() { #expect(try await task.value, "task \(number)") }
    }

    @Test
    func aTaskThatSuspendsKeepsTheTurnThoughItGoesOnBeforeItsRunnerHasLeft() async {
        let queue = FIFOQueue(), inside = Unprotected(0), ended = Unprotected(0), ledger = Ledger()
        let tasks = (0..<5000).map { number in
            Task(on: queue) {
                #expect(inside.value == 0 && ended.value == number)
                inside.value += 1
                switch number % 4 {
                case 0: await Task.yield()
                case 1: await ledger.write(number)
                case 2: await Task.detached {}.value
                default: break
                }
                inside.value -= 1
                ended.value += 1
            }
        }
        for task in tasks { await task.value }
        #expect(ended.value == 5000)
    }

    @Test
    func aTaskHasEndedForWhoeverWaitsThoughTheNextOneBlocksItsThread() async {
        let queue = FIFOQueue(), semaphore = Semaphore()
        let door = await queue.stopAtDoor()
        let first = Task(on: queue) { 1 }
        let second = Task(on: queue) {
            block(until: semaphore)
            return 2
        }
        door.open()
        #expect(await first.value == 1)
        semaphore.signal()
        #expect(await second.value == 2)
    }

    @Test
    func tasksStartTasksOnOtherQueuesAndOnTheirOwn() async throws {
        let first = FIFOQueue(), second = FIFOQueue(), log = Shared([Int]())
        var outer = [Task<Void, Never>]()
        for number in 0..<200 {
            outer.append(
                Task(on: first) {
                    Task(on: first) { log.append(1000 + number) }
                    let inner = Task(on: second) { log.append(number) }
                    if number % 2 == 0 { await inner.value }
                })
        }
        for task in outer { await task.value }
        try await first.drain()
        try await second.drain()
        let lines = log.value
        #expect(lines.filter { $0 < 1000 } == Array(0..<200))
        #expect(lines.filter { $0 >= 1000 } == Array(1000..<1200))
    }

    @Test
    func aTaskThatOutlivesTheWorkThatStartedItMayWaitWhileLaterWorkHasTheTurn() async throws {
        let queue = FIFOQueue(), began = Flag(), door = Door()
        let started = await Task(on: queue) {
            Task {
                await waitUntil { began.isRaised }
                return try await queue.enqueueAndWait { () async throws in 1 }
            }
        }.value
        let later = Task(on: queue) {
            began.raise()
            await door.pass()
        }
        await waitUntil { queue.storage.pendingCount == 1 }
        door.open()
        #expect(try await started.value == 1)
        await later.value
    }

    /// The thread, on purpose.
    private func block(until semaphore: Semaphore) { semaphore.wait() }

    /// They are turns of their own: a full queue accepts them, nothing drops them, and a shutdown comes too late for
    /// them.
    @Test(arguments: [OverflowPolicy.refuse, .dropOldest, .wait])
    func tasksThatCanNotFailStandBetweenTheWorkOfABoundedQueue(_ overflow: OverflowPolicy) async throws {
        let queue = FIFOQueue(capacity: 2, whenFull: overflow), log = Shared([Int]())
        let door = await queue.stopAtDoor()
        var tasks = [Task<Void, Never>]()
        for number in 0..<12 {
            if number % 3 == 0 {
                queue.enqueue { log.append(number) }
            } else {
                tasks.append(Task(on: queue) { log.append(number) })
            }
        }
        #expect(queue.waitingCount == (overflow == .dropOldest ? 10 : 9))
        #expect(queue.beyondBoundCount == queue.waitingCount - 2)
        queue.shutdown()
        door.open()
        for task in tasks { await task.value }
        try await queue.drain()
        let kept = overflow == .dropOldest ? [6, 9] : [0]
        #expect(log.value == (0..<12).filter { $0 % 3 != 0 || kept.contains($0) })
        #expect(queue.waitingCount == 0 && queue.beyondBoundCount == 0)
    }

    /// So a producer that starts tasks is held back by it.
    @Test
    func aFullQueueThatRefusesFailsTasksThatCanFail() async throws {
        let queue = FIFOQueue(capacity: 2, whenFull: .refuse), log = Shared([Int]())
        let door = await queue.stopAtDoor()
        let tasks = (0..<5).map { number in Task<Void, any Error>(on: queue) { log.append(number) } }
        for task in tasks[2...] { await #expect(throws: OrderedQueueError.full) { try await task.value } }
        #expect(queue.waitingCount == 2 && queue.beyondBoundCount == 0)
        door.open()
        for task in tasks[..<2] { try await task.value }
        #expect(log.value == [0, 1])
        try await Task<Void, any Error>(on: queue) { log.append(5) }.value
        #expect(queue.waitingCount == 0)
    }

    @Test
    func startingAndShuttingDownRace() async throws {
        for _ in 0..<300 {
            let queue = FIFOQueue(), ran = Shared(0)
            async let shutdown: Void = queue.shutdown()
            let tasks = (0..<4).map { _ in Task<Void, any Error>(on: queue) { ran.increment() } }
            var accepted = 0
            for task in tasks {
                do {
                    try await task.value
                    accepted += 1
                } catch { #expect(error as? OrderedQueueError == .shutDown) }
            }
            await shutdown
            try await queue.drain()
            #expect(ran.value == accepted)
        }
    }

    /// The call has queued the task's place, and the turn comes before the task is suspended there. The task may not go
    /// on where it is, on the calling thread, inside of the call.
    @Test(arguments: [false, true])
    func aTaskWhoseTurnComesWhileItIsStartedDoesNotBeginOnTheCallingThread(canFail: Bool) async throws {
        let ledger = Ledger(), goOn = await ledger.queue.stop(), pause = StepPause("TaskWait: is queued")
        let caller = Shared<UInt>(0), ranOn = Shared<UInt>(0), started = Shared<(any Sendable)?>(nil)
        let leave = DispatchSemaphore(value: 0) // a later thread may have the same identity as one that has ended
        let operation: @Sendable (isolated Ledger) async -> Void = { _ in
            ranOn.access { $0 = Threads.current }
        }
        let thread = Thread {
            caller.access { $0 = Threads.current }
            pause.within {
                if canFail {
                    let failing: @Sendable (isolated Ledger) async throws -> Void = operation
                    let task = Task<Void, any Error>(on: ledger.queue, operation: failing)
                    started.access { $0 = task }
                } else {
                    let task = Task<Void, Never>(on: ledger.queue, operation: operation)
                    started.access { $0 = task }
                }
            }
            leave.wait()
        }
        await pause.isReached()
        await goOn()
        await waitUntil { ledger.queue.waitingCount == 0 }
        // The grant is made on the actor: whoever is there after it comes after it.
        await ledger.nothing()
        pause.goOn()
        await waitUntil { ranOn.value != 0 }
        leave.signal()
        thread.join()
        if canFail {
            try await (started.value as? Task<Void, any Error>)?.value
        } else {
            await (started.value as? Task<Void, Never>)?.value
        }
        #expect(ranOn.value != caller.value)
    }

    /// The same without a queue: the place is granted before its task is suspended, and nothing but the place keeps the
    /// task from going on where it is.
    @Test
    func aPlaceThatIsGrantedBeforeItsTaskIsSuspendedKeepsItFromItsCallersThread() async {
        let place = OrderedPlace(.own), pause = StepPause("TaskWait: is queued", subject: place)
        let caller = Shared<UInt>(0), ranOn = Shared<UInt>(0), leave = DispatchSemaphore(value: 0)
        let thread = Thread {
            caller.access { $0 = Threads.current }
            Task.immediate {
                await place.waitElsewhere(at: nil)
                ranOn.access { $0 = Threads.current }
            }
            place.startReturns()
            leave.wait()
        }
        await pause.isReached()
        #expect(place.grant())
        pause.goOn()
        await waitUntil { ranOn.value != 0 }
        leave.signal()
        thread.join()
        #expect(ranOn.value != caller.value)
    }

    /// The task yields on its caller's thread, and another thread may resume it before it is suspended there. It yields
    /// until its caller has gone on. One yield alone fails in about one round of 200 000.
    @Test
    func aPlaceThatIsGrantedBeforeItsTaskIsStartedKeepsItFromItsCallersThread() async {
        let rounds = 100_000, leave = DispatchSemaphore(value: 0)
        let ran = Shared(0), onItsCallersThread = Shared(0)
        let awake = Task { while !Task.isCancelled { await Task.yield() } } // a thread that takes the job at once
        defer { awake.cancel() }
        let thread = Thread {
            let caller = Threads.current
            for _ in 0..<rounds {
                let place = OrderedPlace(.own)
                #expect(place.grant())
                Task.immediate {
                    await place.waitElsewhere(at: nil)
                    if Threads.current == caller { onItsCallersThread.access { $0 += 1 } }
                    ran.access { $0 += 1 }
                }
                place.startReturns()
            }
            leave.wait()
        }
        await waitUntil { ran.value == rounds }
        leave.signal()
        thread.join()
        #expect(onItsCallersThread.value == 0)
    }
}
