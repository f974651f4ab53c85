import Glibc
import Testing

@testable import SwiftSync

/// Sections of suspended tasks.
@Suite(.endsInTime)
struct ReadWriteCoordinatorTaskTests {
    @Test
    func aTaskThatWasCancelledBeforeRunsNothingThoughTheCoordinatorIsFree() async {
        let coordinator = ReadWriteCoordinator()
        for _ in 0..<200 {
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                await #expect(throws: ReadWriteError.cancelled) {
                    try await coordinator.suspending.read { mustNotRun() }
                }
                await #expect(throws: ReadWriteError.cancelled) {
                    try await coordinator.suspending.write { mustNotRun() }
                }
                await #expect(throws: ReadWriteError.cancelled) { try await coordinator.suspending.drain() }
            }
            task.cancel()
            await task.value
        }
    }

    @Test(arguments: [true, false])
    func cancellingTakesAWaitingSectionOut(writes: Bool) async throws {
        let coordinator = ReadWriteCoordinator(), leave = Semaphore(), alive = Shared(0)
        coordinator.enqueueWrite { leave.wait() }
        let task = Task {
            let tracked = Tracked(alive),
                body: @Sendable () -> Void = { withExtendedLifetime(tracked) { mustNotRun() } }
            if writes {
                try await coordinator.suspending.write(timeout: .seconds(50), body)
            } else {
                try await coordinator.suspending.read(body)
            }
        }
        await waitUntil { coordinator.waitingCount == 1 }
        task.cancel()
        await #expect(throws: ReadWriteError.cancelled) { try await task.value }
        #expect(coordinator.waitingCount == 0)
        leave.signal()
        try await coordinator.suspending.drain()
        await waitUntil("the section is released") { alive.value == 0 }
    }

    @Test
    func aSectionThatHasBegunEndsAndItsResultCounts() async throws {
        let coordinator = ReadWriteCoordinator(), inside = Flag(), leave = Semaphore()
        let task = Task {
            try await coordinator.suspending.write {
                inside.raise()
                leave.wait()
                return 7
            }
        }
        await waitUntil { inside.isRaised }
        task.cancel()
        leave.signal()
        #expect(try await task.value == 7)
        task.cancel()
        #expect(try await coordinator.suspending.read { 8 } == 8)
    }

    @Test
    func ofRunningTimeoutAndCancellationExactlyOneWins() async throws {
        let coordinator = ReadWriteCoordinator(), ran = Shared(0)
        var random = Seeded(7), succeeded = 0, timedOut = 0, cancelled = 0
        for round in 0..<2000 {
            let leave = Semaphore(), timeout = Duration.microseconds(Int.random(in: -1...60, using: &random))
            coordinator.enqueueWrite { leave.wait() }
            let task = Task {
                if round % 2 == 0 {
                    try await coordinator.suspending.write(timeout: .after(timeout)) { ran.increment() }
                } else {
                    try await coordinator.suspending.read(timeout: .after(timeout)) { ran.increment() }
                }
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
            if round % 3 != 0 { task.cancel() }
            leave.signal()
            do {
                try await task.value
                succeeded += 1
            } catch ReadWriteError.timedOut {
                timedOut += 1
            } catch ReadWriteError.cancelled {
                cancelled += 1
            }
        }
        try await coordinator.suspending.drain() // The writes of rounds that ended before theirs had begun.
        #expect(ran.value == succeeded)
        #expect(succeeded + timedOut + cancelled == 2000)
        #expect(coordinator.waitingCount == 0)
    }

    private enum Request {
        @TaskLocal static var id = 0
    }

    @Test
    func aSectionIsAPartOfItsTaskAndSeesItsTaskLocalValuesPriorityAndCancellation() async throws {
        let coordinator = ReadWriteCoordinator(), strangers = Shared(0)
        let look: @Sendable () -> (Int, TaskPriority, Bool) = { (Request.id, Task.currentPriority, Task.isCancelled) }
        for id in 1...200 {
            coordinator.enqueueWrite { if Request.id != 0 { strangers.increment() } }
            let over = Flag()
            let task = Task(priority: .low) {
                defer { over.raise() }
                return try await Request.$id.withValue(id) {
                    let read = try await coordinator.suspending.read(look)
                    return (read, try await coordinator.suspending.write(timeout: .seconds(3600), look))
                }
            }
            // Before anything that waits for it could raise its priority.
            await waitUntil { over.isRaised }
            let (read, write) = try await task.value
            #expect(read == (id, .low, false) && write == (id, .low, false))
        }
        #expect(strangers.value == 0)
        let task = Task {
            try await coordinator.suspending.write {
                withUnsafeCurrentTask { $0?.cancel() }
                return Task.isCancelled
            }
        }
        #expect(try await task.value)
        #expect(task.isCancelled)
    }

    @Test
    func aSectionHasBeenLeftWhenItsTaskGoesOn() async throws {
        let coordinator = ReadWriteCoordinator()
        for round in 0..<500 {
            if round % 2 == 0 {
                try await coordinator.suspending.write {}
            } else {
                try await coordinator.suspending.read {}
            }
            #expect(try coordinator.blockingWrite(timeout: .zero) { round } == round)
        }
    }

    @Test
    func anEnqueuedWriteMayInheritTheTaskLocalValuesOfWhoEnqueuesIt() async throws {
        let coordinator = ReadWriteCoordinator(), seen = Shared([Int]()), leave = Semaphore()
        coordinator.enqueueWrite { leave.wait() }
        for id in 1...20 {
            Request.$id.withValue(id) {
                _ = coordinator.enqueueWrite(inheritingTaskLocals: id % 2 == 0) { seen.append(Request.id) }
            }
        }
        leave.signal()
        try await coordinator.suspending.drain()
        #expect(seen.value == (1...20).map { $0 % 2 == 0 ? $0 : 0 })
    }

    @Test
    func drainingTakesATimeoutInBothForms() async throws {
        let coordinator = ReadWriteCoordinator(), leave = Semaphore(), ended = Flag()
        coordinator.enqueueWrite {
            leave.wait()
            ended.raise()
        }
        await #expect(throws: ReadWriteError.timedOut) {
            try await coordinator.suspending.drain(timeout: .milliseconds(1))
        }
        let inTime = Shared<ReadWriteError?>(nil)
        onThreadThatIsWaitedFor {
            do throws(ReadWriteError) { try coordinator.drain(timeout: .milliseconds(1)) } catch {
                inTime.access { $0 = error }
            }
        }
        #expect(inTime.value == .timedOut)
        leave.signal()
        try await coordinator.suspending.drain(timeout: .seconds(3600))
        #expect(ended.isRaised)
        onThreadThatIsWaitedFor { try? coordinator.drain(timeout: .never) }
        #expect(throws: ReadWriteError.wouldDeadlock) {
            try coordinator.read { try coordinator.drain(timeout: .never) }
        }
    }

    @Test
    func aThousandTasksOccupyNoThreadWhileTheyWait() async throws {
        let coordinator = ReadWriteCoordinator(), leave = Semaphore(), count = Unprotected(0)
        coordinator.enqueueWrite { leave.wait() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { try await coordinator.suspending.write { count.value += 1 } } }
            await waitUntil { coordinator.waitingCount == 1000 }
            leave.signal()
            try await group.waitForAll()
        }
        #expect(try await coordinator.suspending.read { count.value } == 1000)
    }

    /// In a process of its own, whose executor has no other tasks.
    @Test
    func suspendedSectionsRunWhileEveryThreadOfTheExecutorBlocksInARead() async {
        await #expect(processExitsWith: .success) {
            Thread {
                let coordinator = ReadWriteCoordinator(), leave = Semaphore(), count = Unprotected(0),
                    reads = Shared(0), ends = Shared(0)
                coordinator.enqueueWrite { leave.wait() }
                for _ in 0..<100 {
                    Task {
                        try await coordinator.suspending.write { count.value += 1 }
                        ends.increment()
                    }
                }
                waitUntil { coordinator.waitingCount == 100 }
                let threads = sysconf(Int32(_SC_NPROCESSORS_ONLN))
                for _ in 0..<(2 * threads) {
                    Task {
                        // What was submitted before has run, though nothing of this executor was free to run it.
                        guard coordinator.read({ count.value }) == 100 else { exit(2) }
                        reads.increment()
                    }
                }
                // One of them waits for this thread instead: the test's own.
                waitUntil { coordinator.waitingCount >= 100 + threads - 1 }
                guard coordinator.waitingCount >= 100 + max(1, threads - 1) else { exit(3) }
                leave.signal()
                waitUntil { ends.value == 100 && reads.value == 2 * threads }
                guard ends.value == 100, reads.value == 2 * threads else { exit(4) }
            }.join()
        }
    }

    @Test
    func threadsAndTasksShareOneState() async throws {
        let coordinator = ReadWriteCoordinator(), pair = Unprotected((0, 0))
        let threads = (0..<3).map { number in
            Thread {
                for round in 0..<400 {
                    switch (round + number) % 3 {
                    case 0:
                        coordinator.enqueueWrite {
                            pair.value.0 += 1; pair.value.1 += 1
                        }
                    case 1:
                        coordinator.blockingWrite {
                            pair.value.0 += 1; pair.value.1 += 1
                        }
                    default: coordinator.read { #expect(pair.value.0 == pair.value.1) }
                    }
                }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<200 {
                        try await coordinator.suspending.write {
                            pair.value.0 += 1; pair.value.1 += 1
                        }
                        #expect(try await coordinator.suspending.read { pair.value.0 == pair.value.1 })
                    }
                }
            }
            try await group.waitForAll()
        }
        threads.forEach { $0.join() }
        // Of 400 rounds by each thread's third two of three write.
        #expect(try await coordinator.suspending.write { pair.value.0 } == 800 + 3 * 400 * 2 / 3)
    }
}
