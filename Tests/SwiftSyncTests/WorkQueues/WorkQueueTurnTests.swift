import Dispatch
import Foundation
import Testing

@testable import SwiftSync

/// Callers of a work queue: whose code runs where, as whom, and what a busy, full or closed queue does to them.
///
/// More than 400 lines: each promise is a short test at the same kinds of queues.
@Suite(.endsInTime)
struct WorkQueueTurnTests {
    enum Request {
        @TaskLocal static var id = 0
    }
    struct Odd: Error {}

    private static func queues() -> [WorkQueueBase] {
        [WorkQueue(name: "serial"), ConcurrentWorkQueue(name: "concurrent", width: 2)]
    }

    private static func queues(capacity: Int) -> [WorkQueueBase] {
        [
            WorkQueue(name: "serial", capacity: capacity, whenFull: .wait),
            ConcurrentWorkQueue(name: "concurrent", width: 2, capacity: capacity, whenFull: .wait),
        ]
    }

    // MARK: - Whose code runs where

    @Test
    func aCallerOfSyncRunsNothingOfWhatIsBeforeIt() {
        let queue = WorkQueue(name: "strangers"), ran = Shared(0)
        for _ in 0..<500 {
            // No worker is there yet when the caller comes.
            Thread {
                let caller = Threads.current
                queue.async { if Threads.current == caller { ran.increment() } }
                queue.sync {}
            }.join()
        }
        #expect(ran.value == 0)
    }

    @Test
    func aTimeoutOfSyncIsNotHeldUpByAStrangersWork() {
        for _ in 0..<50 {
            let queue = WorkQueue(name: "late"), leave = DispatchSemaphore(value: 0), timedOut = Flag()
            let thread = Thread {
                queue.async { leave.wait() }
                do { try queue.sync(timeout: .milliseconds(1)) {} } catch {
                    if error as? WorkQueueError == .timedOut { timedOut.raise() }
                }
            }
            waitUntil("the caller comes back while the work before it still runs") { timedOut.isRaised }
            leave.signal()
            thread.join()
            queue.blockingDrain()
        }
    }

    @Test
    func strangersWorkNeverSeesTheTaskLocalValuesOfACaller() async throws {
        for queue in Self.queues() {
            let wrong = Shared(0)
            await withTaskGroup(of: Void.self) { group in
                for id in 1...8 {
                    group.addTask {
                        await Request.$id.withValue(id) {
                            for round in 0..<250 {
                                queue.async { if Request.id != 0 { wrong.increment() } }
                                let seen = await queue.run { Request.id }
                                if seen != id || Request.id != id { wrong.increment() }
                                if round % 16 == 0 {
                                    try? queue.sync(timeout: .never) { if Request.id != id { wrong.increment() } }
                                }
                            }
                        }
                    }
                }
            }
            try await queue.drain()
            #expect(wrong.value == 0)
        }
    }

    // MARK: - The caller's own task

    @Test
    func runIsAPartOfTheCallersTaskInsideTheQueuesWork() async throws {
        for queue in Self.queues() {
            let task = Task(priority: .low) {
                while !Task.isCancelled { await Task.yield() }
                return await Request.$id.withValue(7) {
                    await queue.run {
                        (Request.id, Task.isCancelled, queue.isCurrent, withUnsafeCurrentTask { $0 != nil })
                    }
                }
            }
            task.cancel()
            let seen = await task.value
            #expect(seen == (7, true, true, true))
            #expect(!queue.isCurrent)
            await #expect(throws: Odd.self) { try await queue.run { () throws(Odd) in throw Odd() } }
            // The turn has ended although its body threw.
            #expect(try await queue.run(timeout: .seconds(3600)) { 1 } == 1)
            await waitUntil { queue.runningCount == 0 }
        }
    }

    @Test
    func workThatInheritsTaskLocalValuesHasThemInTheQueuesOrder() async throws {
        let queue = WorkQueue(name: "inherits"), seen = Shared([Int]())
        queue.suspend()
        Request.$id.withValue(1) { _ = queue.async(inheritingTaskLocals: true) { seen.append(Request.id) } }
        Request.$id.withValue(2) { _ = queue.async(inheritingTaskLocals: false) { seen.append(Request.id) } }
        Request.$id.withValue(3) {
            _ = queue.async(inheritingTaskLocals: true) { seen.append(queue.isCurrent ? Request.id : -1) }
        }
        Request.$id.withValue(4) {
            _ = queue.async(inheritingTaskLocals: true, priority: .high) { seen.append(Request.id) }
        }
        #expect(queue.waitingCount == 4)
        queue.resume()
        try await queue.drain()
        #expect(seen.value == [4, 1, 0, 3])
        let concurrent = ConcurrentWorkQueue(name: "inherits", width: 2), barrier = Shared([Int]())
        Request.$id.withValue(5) {
            _ = concurrent.async(barrier: true, inheritingTaskLocals: true) { barrier.append(Request.id) }
        }
        Request.$id.withValue(6) { _ = SwiftSync.async(inheritingTaskLocals: true) { barrier.append(Request.id) } }
        await waitUntil { barrier.value.sorted() == [5, 6] }
    }

    @Test
    func workThatInheritsAndIsRefusedReleasesItsClosure() async throws {
        let recorder = EventRecorder(name: "inherits"), alive = Shared(0)
        let queue = WorkQueue(name: "inherits", capacity: 1, whenFull: .refuse, recorder: recorder)
        let blocked = Blocked(queue)
        for number in 0..<2 {
            let tracked = Tracked(alive)
            #expect(queue.async(inheritingTaskLocals: true) { withExtendedLifetime(tracked) {} } == (number == 0))
        }
        await waitUntil { alive.value == 1 }
        blocked.release()
        try await queue.drain()
        await waitUntil { alive.value == 0 }
        let kinds = recorder.events.map(\.kind)
        #expect(kinds.filter { $0 == .dropped }.count == 1 && kinds.filter { $0 == .finished }.count == 2)
    }

    // MARK: - Leaving

    @Test
    func aCancelledCallerLeavesTheQueueAtOnceAndItsPlaceIsFree() async throws {
        let queue = WorkQueue(name: "leaves", capacity: 1, whenFull: .refuse), ran = Flag()
        let blocked = Blocked(queue)
        let task = Task { try await queue.run(timeout: .never) { ran.raise() } }
        await waitUntil { queue.waitingCount == 1 }
        task.cancel()
        await #expect(throws: WorkQueueError.cancelled) { try await task.value }
        #expect(queue.waitingCount == 0)
        #expect(queue.async {})
        blocked.release()
        try await queue.drain()
        #expect(!ran.isRaised)
    }

    @Test
    func aLateCallerLeavesTheQueueAtOnceAndItsPlaceIsFree() async throws {
        let queue = WorkQueue(name: "leaves", capacity: 1, whenFull: .refuse)
        let blocked = Blocked(queue)
        await #expect(throws: WorkQueueError.timedOut) { try await queue.run(timeout: .milliseconds(1)) {} }
        #expect(queue.waitingCount == 0)
        #expect(queue.async {})
        blocked.release()
        try await queue.drain()
    }

    // MARK: - Full queues

    /// In a process of its own, whose executor has no other tasks.
    @Test(arguments: [true, false])
    func callersThatWaitForRoomLeaveThePoolToOthers(runs: Bool) async {
        await #expect(processExitsWith: .success) { [runs] in
            let queue = WorkQueue(name: "full", capacity: 1, whenFull: .wait), begun = Shared(0), ran = Shared(0)
            let blocked = Blocked(queue)
            queue.async {}
            let callers = (0..<64).map { _ in
                Task {
                    begun.increment()
                    if runs {
                        try await queue.run(timeout: .never) { ran.increment() }
                    } else {
                        try await queue.asyncWaitingForRoom { ran.increment() }
                    }
                }
            }
            // Only if the pool still has a thread.
            await Task.detached { while begun.value < 64 { await Task.yield() } }.value
            blocked.release()
            for caller in callers { try await caller.value }
            try await queue.drain()
            guard ran.value == 64 else { exit(2) }
        }
    }

    @Test
    func roomGoesToThoseThatWaitInTheOrderInWhichTheyCame() async throws {
        let queue = WorkQueue(name: "room", capacity: 1, whenFull: .wait), seen = Shared([Int]())
        let blocked = Blocked(queue)
        queue.async {}
        var tasks = [Task<Void, any Error>]()
        for number in 0..<20 {
            // Each registers on this thread before the next one does.
            tasks.append(Task.immediate { try await queue.asyncWaitingForRoom { seen.append(number) } })
        }
        tasks[3].cancel()
        tasks[11].cancel()
        await #expect(throws: WorkQueueError.cancelled) { try await tasks[3].value }
        blocked.release()
        for (number, task) in tasks.enumerated() where number != 3 && number != 11 { try await task.value }
        try await queue.drain()
        #expect(seen.value == (0..<20).filter { $0 != 3 && $0 != 11 })
    }

    /// The timer was quicker than the queue, or not.
    @Test
    func aTimeoutOfZeroTakesTheRoomThatIsThereAndNothingElse() async throws {
        let queue = WorkQueue(name: "zero", capacity: 1, whenFull: .wait), ran = Shared(0)
        for _ in 0..<200 {
            try await queue.asyncWaitingForRoom(timeout: .zero) { ran.increment() }
            try await queue.drain(timeout: .never)
            try await queue.drain(timeout: .zero)
        }
        let blocked = Blocked(queue)
        queue.async {}
        await #expect(throws: WorkQueueError.timedOut) {
            try await queue.asyncWaitingForRoom(timeout: .zero) { ran.increment() }
        }
        await #expect(throws: WorkQueueError.timedOut) { try await queue.run(timeout: .zero) { ran.increment() } }
        await #expect(throws: WorkQueueError.timedOut) { try await queue.drain(timeout: .zero) }
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await queue.run(timeout: .zero) { ran.increment() }
        }
        await #expect(throws: WorkQueueError.cancelled) { try await cancelled.value }
        blocked.release()
        try await queue.drain()
        try await queue.run(timeout: .zero) { ran.increment() }
        queue.shutdown()
        await #expect(throws: WorkQueueError.shutDown) { try await queue.run(timeout: .zero) { ran.increment() } }
        #expect(ran.value == 201)
    }

    /// One whose time was over before it came to the queue dropped the oldest work, and did not run.
    @Test(arguments: [0, 1])
    func aRunWithoutTimeDropsNothingOfAFullQueue(nanoseconds: Int) async throws {
        let queue = WorkQueue(name: "zero", capacity: 1, whenFull: .dropOldest), ran = Flag()
        let blocked = Blocked(queue)
        queue.async { ran.raise() }
        await #expect(throws: WorkQueueError.timedOut) { try await queue.run(timeout: .nanoseconds(nanoseconds)) {} }
        blocked.release()
        try await queue.drain()
        #expect(ran.isRaised)
    }

    /// In a loop they came in over the bound, and those that waited for room timed out after seconds.
    @Test(arguments: [true, false])
    func callersThatComeAgainAndAgainPassNobodyWhoWaitsForRoom(runs: Bool) async throws {
        for queue in Self.queues(capacity: 1) {
            let isOver = Flag(), calls = Shared(0)
            let callers = (0..<4).map { _ in
                Task {
                    while !isOver.isRaised {
                        if runs {
                            await queue.run { calls.increment() }
                        } else {
                            callSync(on: queue) { calls.increment() }
                        }
                        await Task.yield()
                    }
                }
            }
            await waitUntil { calls.value > 100 }
            for number in 0..<200 {
                if number % 2 == 0 {
                    try await queue.asyncWaitingForRoom {}
                } else {
                    try await queue.run(timeout: .never) {}
                }
            }
            isOver.raise()
            for caller in callers { await caller.value }
        }
    }

    private func callSync(on queue: WorkQueueBase, _ body: () -> Void) { queue.sync(body) }

    /// They took each place that was left.
    @Test
    func jobsOfAnActorThatComeAgainAndAgainLeaveRoomToOthers() async throws {
        let queue = WorkQueue(name: "jobs", capacity: 1, whenFull: .wait), isOver = Flag(), jobs = Shared(0)
        let place = PlaceOnAQueue(queue)
        let callers = (0..<8).map { _ in
            Task { while !isOver.isRaised { await place.work { jobs.increment() } } }
        }
        await waitUntil { jobs.value > 100 }
        for _ in 0..<100 {
            try await queue.asyncWaitingForRoom {}
            await queue.run {}
            try await queue.run(timeout: .never) {}
        }
        isOver.raise()
        for caller in callers { await caller.value }
    }

    private actor PlaceOnAQueue {
        private let queue: WorkQueue
        nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

        init(_ queue: WorkQueue) { self.queue = queue }

        func work(_ body: @Sendable () -> Void) { body() }
    }

    @Test
    func callersThatAreNeverRefusedTakeNoRoom() async throws {
        let queue = WorkQueue(name: "room", capacity: 1, whenFull: .refuse), seen = Shared([Int]())
        let blocked = Blocked(queue)
        let first = Task.immediate { await queue.run { seen.append(0) } }
        #expect(queue.async { seen.append(1) })
        #expect(!queue.async {})
        #expect(queue.beyondBoundCount == 1)
        blocked.release()
        await first.value
        try await queue.drain()
        #expect(seen.value == [0, 1])
    }

    @Test
    func waitingForRoomRacesWithTimeoutsCancellationsAndAShutdown() async throws {
        for queue in Self.queues(capacity: 2) {
            let ran = Shared(0), accepted = Shared(0), refused = Shared(0), alive = Shared(0)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<400 {
                    group.addTask {
                        if number == 350 { queue.shutdown() }
                        let tracked = Tracked(alive),
                            timeout: TimeLimit = number % 2 == 0 ? .microseconds(number) : .never
                        let body: @Sendable () -> Void = { withExtendedLifetime(tracked) { ran.increment() } }
                        let task = Task {
                            if number % 5 == 0 {
                                try await queue.run(timeout: timeout, body)
                            } else {
                                try await queue.asyncWaitingForRoom(timeout: timeout, body)
                            }
                        }
                        if number % 3 == 0 { task.cancel() }
                        do {
                            try await task.value
                            accepted.increment()
                        } catch { refused.increment() }
                    }
                }
            }
            try await queue.drain()
            #expect(ran.value == accepted.value)
            #expect(accepted.value + refused.value == 400)
            await waitUntil { alive.value == 0 }
        }
    }

    @Test
    func waitingForRoomIsRecordedAsAnyOtherWork() async throws {
        let recorder = EventRecorder(name: "room")
        let queue = WorkQueue(name: "room", capacity: 1, whenFull: .wait, recorder: recorder)
        try await queue.asyncWaitingForRoom {}
        try await queue.drain()
        queue.shutdown()
        await #expect(throws: WorkQueueError.shutDown) { try await queue.asyncWaitingForRoom {} }
        #expect(recorder.events.map(\.kind) == [.pushed, .started, .finished, .pushed, .dropped])
    }

    @Test
    func callersBeyondTheBoundAreCounted() async {
        let queue = WorkQueue(name: "beyond", capacity: 1, whenFull: .refuse)
        let blocked = Blocked(queue)
        queue.async {}
        let tasks = (0..<3).map { _ in Task { await queue.run {} } }
        await waitUntil { queue.waitingCount == 4 }
        #expect(queue.beyondBoundCount == 3)
        blocked.release()
        for task in tasks { await task.value }
        #expect(queue.beyondBoundCount == 0)
    }

    // MARK: - The end

    @Test
    func callersWhoseTurnItIsRunInOrderAfterAShutdownThatCancels() async {
        let queue = WorkQueue(name: "shut"), seen = Shared([Int]())
        let blocked = Blocked(queue)
        queue.async { seen.append(-1) }
        var tasks = [Task<Void, Never>]()
        for number in 0..<5 { tasks.append(Task.immediate { await queue.run { seen.append(number) } }) }
        queue.shutdown(cancelsPending: true)
        for number in 5..<10 { tasks.append(Task.immediate { await queue.run { seen.append(number) } }) }
        blocked.release()
        for task in tasks { await task.value }
        #expect(seen.value == Array(0..<10))
    }

    @Test
    func delayedWorkRunsThoughItsQueueWasSuspendedWhenItsOwnerLetGo() async {
        let ran = Flag()
        var queue: WorkQueue? = WorkQueue(name: "gone")
        queue!.suspend()
        queue!.async(after: .milliseconds(20)) { ran.raise() }
        queue = nil
        await waitUntil { ran.isRaised }
    }

    @Test
    func aDrainOfASuspendedQueueEndsWithItsShutdown() async throws {
        let queue = WorkQueue(name: "suspended"), ran = Flag()
        queue.suspend()
        queue.async { ran.raise() }
        await #expect(throws: WorkQueueError.timedOut) { try await queue.drain(timeout: .milliseconds(1)) }
        let drain = Task { try await queue.drain() }
        queue.shutdown()
        try await drain.value
        #expect(ran.isRaised)
    }

    @Test
    func topLevelCodeWaitsForQueues() throws {
        let program = Process(), output = Pipe()
        let folder = try #require(URL(string: "file:///proc/self/exe")).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        program.executableURL = folder.appendingPathComponent("TopLevelProgram")
        program.standardOutput = output
        try program.run()
        program.waitUntilExit()
        #expect(program.terminationStatus == 0)
        #expect(String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self) == "drained 3\n")
    }
}
