import Glibc
import Testing

@testable import SwiftSync

/// Work that a cancellable queue enqueues: one task runs it, and is replaced once it is cancelled.
@Suite(.endsInTime)
struct CancellableWorkTests {
    private let fifo: FIFOQueue
    private let queue: CancellableQueue<FIFOQueue>
    private let seen = Shared([Bool]())

    private enum Locals {
        @TaskLocal static var number = 0
    }

    init() {
        fifo = FIFOQueue(priority: .low)
        queue = CancellableQueue(underlyingQueue: fifo)
    }

    /// Submits work that runs until it is cancelled, and waits until it has begun.
    private func runUntilCancelled(inheriting: Bool = false) async {
        let began = Flag()
        queue.enqueue(inheritingTaskLocals: inheriting) {
            began.raise()
            while !Task.isCancelled { await Task.yield() }
        }
        await waitUntil { began.isRaised }
    }

    private func note(inheriting: Bool = false) {
        queue.enqueue(inheritingTaskLocals: inheriting) { [seen] in seen.append(Task.isCancelled) }
    }

    @Test(arguments: [false, true])
    func workThatRunsAndThatWaitsIsCancelledAndLaterWorkIsNot(inheriting: Bool) async throws {
        for _ in 0..<10 {
            seen.access { $0 = [] }
            await runUntilCancelled(inheriting: inheriting)
            for _ in 0..<3 { note(inheriting: inheriting) }
            queue.cancelTasks()
            for _ in 0..<3 { note(inheriting: inheriting) }
            try await fifo.drain()
            #expect(seen.value == [true, true, true, false, false, false])
        }
        await waitUntil { queue.trackedCount == 0 }
    }

    @Test func workOfTheQueueItselfIsNotCancelledThoughItRunsBeside() async throws {
        await runUntilCancelled()
        fifo.enqueue { [seen] in seen.append(Task.isCancelled) }
        note()
        fifo.enqueue { [seen] in seen.append(Task.isCancelled) }
        Task(on: queue) { [seen] in seen.append(Task.isCancelled) }
        Task(on: fifo) { [seen] in seen.append(Task.isCancelled) }
        queue.cancelTasks()
        try await fifo.drain()
        #expect(seen.value == [false, true, false, true, false])
    }

    /// The task that has run it goes on with other work, which must not be cancelled later.
    @Test func whoHasRunItIsNotCancelledAfterIt() async throws {
        let began = Flag(), door = Door()
        note()
        fifo.enqueue { [seen] in
            began.raise()
            await door.pass()
            seen.append(Task.isCancelled)
        }
        await waitUntil { began.isRaised }
        queue.cancelTasks()
        door.open()
        try await fifo.drain()
        #expect(seen.value == [false, false])
    }

    @Test func anotherCancellableQueueOverTheSameQueueHasItsOwnWork() async throws {
        let other = CancellableQueue(underlyingQueue: fifo)
        await runUntilCancelled()
        other.enqueue { [seen] in seen.append(Task.isCancelled) }
        note()
        queue.cancelTasks()
        other.enqueue { [seen] in seen.append(Task.isCancelled) }
        try await fifo.drain()
        #expect(seen.value == [false, true, false])
        other.cancelTasks()
        note()
        try await fifo.drain()
        #expect(seen.value.last == false)
    }

    @Test func workThatCancelsItsQueueIsCancelledItselfAndLaterWorkIsNot() async throws {
        for _ in 0..<100 {
            let door = await fifo.stopAtDoor()
            queue.enqueue { [queue, seen] in
                queue.cancelTasks()
                seen.append(Task.isCancelled)
                queue.enqueue { seen.append(Task.isCancelled) }
            }
            note()
            door.open()
            try await fifo.drain()
            try await fifo.drain()
        }
        #expect(seen.value == (0..<100).flatMap { _ in [true, true, false] })
    }

    /// Else it ends, and a task behind it begins in the moment before it is cancelled itself.
    @Test func workThatRunsIsCancelledAfterTheTasksThatWaitBehindIt() async {
        let began = Flag(), isCancelled = Door(), pending = Shared<[Task<Bool, Never>]>([])
        let door = await fifo.stopAtDoor()
        queue.enqueue { [seen] in
            began.raise()
            // The runtime calls no handler of work that ends as soon as it sees that it is cancelled.
            await withTaskCancellationHandler {
                await isCancelled.pass()
            } onCancel: {
                pending.value.forEach { seen.append($0.isCancelled) }
                isCancelled.open()
            }
        }
        pending.access { $0 = (0..<3).map { _ in Task(on: queue) { Task.isCancelled } } }
        door.open()
        await waitUntil { began.isRaised }
        queue.cancelTasks()
        for task in pending.value { #expect(await task.value) }
        #expect(seen.value == [true, true, true])
    }

    private enum Kind: CaseIterable { case work, inheritingWork, task, throwingTask }

    /// The moment in which others have been cancelled, and the task that runs the work not yet.
    @Test(arguments: Kind.allCases)
    private func whatBeginsWhileAllAreCancelledIsCancelled(kind: Kind) async throws {
        let began = Flag(), isRunning = Flag(), isCancelled = Door(), door = Door(),
            entry = TrackedTasks.Entry(of: queue.tasks)
        queue.enqueue {
            began.raise()
            await door.pass()
        }
        await waitUntil { began.isRaised }
        switch kind {
        case .work: note()
        case .inheritingWork: note(inheriting: true)
        case .task: Task(on: queue) { [seen] in seen.append(Task.isCancelled) }
        case .throwingTask: Task<Void, any Error>(on: queue) { [seen] in seen.append(Task.isCancelled) }
        }
        let other = Task { [seen] in
            entry.begin()
            defer { entry.end() }
            await withTaskCancellationHandler {
                isRunning.raise()
                await isCancelled.pass()
            } onCancel: {
                door.open()
                while seen.value.isEmpty { sched_yield() }
                isCancelled.open()
            }
        }
        await waitUntil { isRunning.isRaised && queue.trackedCount == (kind == .work ? 2 : 3) }
        queue.cancelTasks()
        await other.value
        #expect(seen.value == [true])
    }

    @Test func itStandsInOneOrderWithAllOtherWork() async throws {
        let ledger = Ledger(), door = await fifo.stopAtDoor()
        for number in stride(from: 0, to: 400, by: 4) {
            queue.enqueue { await ledger.write(number) }
            fifo.enqueue { await ledger.write(number + 1) }
            Task(on: queue, isolatedTo: ledger) { $0.write(number + 2) }
            queue.enqueue(inheritingTaskLocals: number % 8 == 0) { await ledger.write(number + 3) }
            if number % 20 == 0 { queue.cancelTasks() }
        }
        door.open()
        try await fifo.drain()
        #expect(await ledger.lines == Array(0..<400))
    }

    @Test func itSeesTaskLocalValuesWhereItInheritsThem() async throws {
        let found = Shared([Int]())
        await runUntilCancelled()
        Locals.$number.withValue(1) {
            _ = queue.enqueue { found.append(Locals.number) }
            _ = queue.enqueue(inheritingTaskLocals: true) { [seen] in
                found.append(Locals.number)
                seen.append(Task.isCancelled)
            }
        }
        queue.cancelTasks()
        try await fifo.drain()
        #expect(found.value == [0, 1] && seen.value == [true])
    }

    /// The task that comes in the place of a cancelled one must not fall back.
    @Test func itRunsAtTheQueuesPriorityOrThatOfATaskBehindIt() async throws {
        let found = Shared([TaskPriority]()), fifo = fifo
        await runUntilCancelled()
        queue.cancelTasks()
        queue.enqueue { found.append(Task.currentPriority) }
        // A drain would raise the work to this task's priority.
        await waitUntil { !found.value.isEmpty }
        await runUntilCancelled()
        queue.cancelTasks()
        await runUntilCancelled()
        fifo.enqueue { found.append(Task.currentPriority) }
        let waiting = Task.detached(priority: .high) { try await fifo.drain() }
        await waitUntil { fifo.waitingCount == 2 }
        queue.cancelTasks()
        try await waiting.value
        #expect(found.value == [.low, .high])
    }

    @Test func itIsRefusedWhenTheQueueIsFullOrWasShutDown() async throws {
        let alive = Shared(0), fifo = FIFOQueue(capacity: 1, whenFull: .dropOldest),
            queue = CancellableQueue(underlyingQueue: fifo), door = await fifo.stopAtDoor()
        for _ in 0..<50 {
            let tracked = Tracked(alive)
            #expect(queue.enqueue { withExtendedLifetime(tracked) {} })
        }
        await waitUntil("all but the last are released") { alive.value == 1 }
        queue.shutdown()
        let tracked = Tracked(alive)
        #expect(!queue.enqueue { withExtendedLifetime(tracked) { mustNotRun() } })
        #expect(!queue.enqueue(inheritingTaskLocals: true) { withExtendedLifetime(tracked) { mustNotRun() } })
        door.open()
        try await queue.drain()
        let refusing = CancellableQueue(underlyingQueue: FIFOQueue(capacity: 1, whenFull: .refuse)),
            other = await refusing.underlyingQueue.stopAtDoor()
        #expect(refusing.enqueue {})
        #expect(!refusing.enqueue { mustNotRun() })
        other.open()
        try await refusing.drain()
    }

    @Test(arguments: [false, true])
    func itOutlivesTheQueueAndNothingOfItIsKept(isRecorded: Bool) async throws {
        let alive = Shared(0), ended = Shared(0)
        do {
            let fifo = FIFOQueue(recorder: isRecorded ? EventRecorder(name: "work") : nil)
            let queue = CancellableQueue(underlyingQueue: fifo), door = await fifo.stopAtDoor()
            for number in 0..<100 {
                let tracked = Tracked(alive)
                if number == 50 { queue.cancelTasks() }
                queue.enqueue(inheritingTaskLocals: number % 10 == 0) {
                    #expect(Task.isCancelled == (number < 50))
                    withExtendedLifetime(tracked) { ended.increment() }
                }
            }
            door.open()
        }
        await waitUntil { ended.value == 100 && alive.value == 0 }
    }

    @Test func workThatWasHandedOverIsReleasedWhenItHasEnded() async throws {
        let alive = Shared(0), began = Flag(), door = Door()
        await runUntilCancelled()
        queue.cancelTasks()
        do {
            let tracked = Tracked(alive)
            queue.enqueue { withExtendedLifetime(tracked) {} }
        }
        queue.enqueue {
            began.raise()
            await door.pass()
        }
        await waitUntil { began.isRaised && alive.value == 0 }
        door.open()
        try await fifo.drain()
    }

    @Test func workThatWouldWaitForItselfIsToldSo() async throws {
        queue.enqueue { [queue, seen] in
            await #expect(throws: OrderedQueueError.wouldDeadlock) { try await queue.drain() }
            seen.append(true)
        }
        try await fifo.drain()
        #expect(seen.value == [true])
    }
}
