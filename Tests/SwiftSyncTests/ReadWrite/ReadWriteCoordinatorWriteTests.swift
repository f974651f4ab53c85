import Glibc
import Testing

@testable import SwiftSync

/// Writes that run by themselves: all of them, in order, whatever they do.
@Suite(.endsInTime)
struct ReadWriteCoordinatorWriteTests {
    @Test
    func aHundredThousandWritesRunInOrderWithoutRecursion() {
        let coordinator = ReadWriteCoordinator(), log = Unprotected([Int]()), alive = Shared(0), depth = Unprotected(0)
        coordinator.blockingWrite {
            for number in 0..<100_000 {
                let tracked = number % 100 == 0 ? Tracked(alive) : nil
                coordinator.enqueueWrite {
                    depth.value += 1
                    #expect(depth.value == 1)
                    log.value.append(number)
                    withExtendedLifetime(tracked) {}
                    depth.value -= 1
                }
            }
            #expect(coordinator.waitingCount == 100_000)
            #expect(log.value.isEmpty)
        }
        coordinator.drain()
        #expect(log.value == Array(0..<100_000))
        waitUntil("closures are released once they have run") { alive.value == 0 }
    }

    @Test
    func aWriteMayEnqueueTheNextOne() {
        let coordinator = ReadWriteCoordinator(), count = Unprotected(0), done = Flag()
        @Sendable func next() {
            count.value += 1
            if count.value == 10_000 { done.raise() } else { coordinator.enqueueWrite(next) }
        }
        coordinator.enqueueWrite(next)
        waitUntil { done.isRaised }
        #expect(coordinator.read { count.value } == 10_000)
    }

    @Test
    func aWriteFromInsideAWriteStandsBehindThoseSubmittedBefore() {
        let coordinator = ReadWriteCoordinator(), log = Unprotected([Int]()), inside = Flag(), goOn = Semaphore()
        coordinator.enqueueWrite {
            inside.raise()
            goOn.wait()
            coordinator.enqueueWrite { log.value.append(2) }
            log.value.append(0)
        }
        waitUntil { inside.isRaised }
        coordinator.enqueueWrite { log.value.append(1) }
        goOn.signal()
        waitUntil { coordinator.read { log.value.count } == 3 }
        #expect(coordinator.read { log.value } == [0, 1, 2])
    }

    @Test
    func writesReturnAtOnceAndRunElsewhere() {
        let coordinator = ReadWriteCoordinator(), leave = Semaphore(), thread = Shared(UInt(0))
        coordinator.enqueueWrite {
            thread.access { $0 = Threads.current }
            leave.wait()
        }
        leave.signal() // Not reached, had the call waited for the closure.
        coordinator.drain()
        #expect(thread.value != 0 && thread.value != Threads.current)
    }

    @Test
    func writesThatWaitForEarlierOnesOfOtherCoordinatorsAllProgress() async {
        await #expect(processExitsWith: .success) {
            let coordinators = (0..<100).map { _ in ReadWriteCoordinator() }, done = (0...100).map { _ in Semaphore() }
            for (index, coordinator) in coordinators.enumerated() {
                coordinator.enqueueWrite {
                    done[index].wait()
                    done[index + 1].signal()
                }
            }
            done[0].signal()
            done[100].wait()
        }
    }

    /// Each occupies a worker until the last has come: the pool has 64 at most.
    @Test
    func writesThatWaitForLaterOnesMakeThePoolGrow() async {
        await #expect(processExitsWith: .success) {
            let coordinators = (0..<64).map { _ in ReadWriteCoordinator() }, done = (0...64).map { _ in Semaphore() }
            for (index, coordinator) in coordinators.enumerated() {
                coordinator.enqueueWrite {
                    done[index + 1].wait()
                    done[index].signal()
                }
            }
            done[64].signal()
            done[0].wait()
        }
    }

    /// At most one write of each blocks at a time, so there are always workers left of the pool's 64.
    @Test
    func writesThatBlockInOneAnothersCoordinatorsAllProgress() async {
        await #expect(processExitsWith: .success) {
            let coordinators = (0..<60).map { _ in ReadWriteCoordinator() }, count = Shared(0)
            for _ in 0..<20 {
                for (index, coordinator) in coordinators.enumerated() {
                    coordinator.enqueueWrite {
                        // Always the same direction, so that no ring closes.
                        if index > 0 {
                            coordinators[index - 1].blockingWrite { count.increment() }
                        } else {
                            count.increment()
                        }
                    }
                }
            }
            coordinators.forEach { $0.drain() }
            guard count.value == 1200 else { exit(2) }
        }
    }

    @Test
    func aCoordinatorMayGoWhileWritesWait() async throws {
        let alive = Shared(0), count = Shared(0), leave = Semaphore()
        weak var gone: ReadWriteCoordinator?
        var tasks = [Task<Int, any Error>]()
        do {
            let coordinator = ReadWriteCoordinator()
            gone = coordinator
            coordinator.enqueueWrite { leave.wait() }
            for _ in 0..<1000 {
                let tracked = Tracked(alive)
                coordinator.enqueueWrite {
                    count.increment()
                    withExtendedLifetime(tracked) {}
                }
            }
            let suspending = coordinator.suspending
            tasks.append(Task { try await suspending.read { count.value } })
            await waitUntil { coordinator.waitingCount == 1001 }
        }
        #expect(gone == nil)
        #expect(alive.value == 1000)
        leave.signal()
        #expect(try await tasks[0].value == 1000)
        await waitUntil { alive.value == 0 }
        #expect(count.value == 1000)
    }

    /// What a coordinator's lock lies in, for as long as something holds it.
    private final class Box {
        private(set) weak var value: ReadWriteBox<Void>?
        init(of coordinator: ReadWriteCoordinator) { value = coordinator.box }
    }

    @Test
    func theLockOfACoordinatorThatHasGoneLastsUntilItsWritesHaveRun() {
        let count = Shared(0), leave = Semaphore()
        let box = {
            let coordinator = ReadWriteCoordinator()
            coordinator.enqueueWrite { leave.wait() }
            for _ in 0..<100 { coordinator.enqueueWrite { count.increment() } }
            return Box(of: coordinator)
        }()
        #expect(box.value != nil)
        leave.signal()
        waitUntil { box.value == nil }
        #expect(count.value == 100)
    }

    @Test
    func aCoordinatorMayGoInsideItsOwnWrite() {
        let leave = Semaphore(), last = Shared<ReadWriteCoordinator?>(nil)
        let box = {
            let coordinator = ReadWriteCoordinator()
            last.access { $0 = coordinator }
            coordinator.enqueueWrite {
                leave.wait()
                last.access { $0 = nil }
            }
            return Box(of: coordinator)
        }()
        leave.signal()
        waitUntil { box.value == nil }
    }

    @Test
    func sectionsOfTasksOutlastTheirCoordinator() async throws {
        let suspending = ReadWriteCoordinator().suspending
        #expect(try await suspending.write { 1 } == 1)
        #expect(try await suspending.read { 2 } == 2)
    }

    @Test
    func aCoordinatorWhoseWritesHaveRunGoesAtOnce() {
        let box = {
            let coordinator = ReadWriteCoordinator()
            coordinator.enqueueWrite {}
            coordinator.drain()
            return Box(of: coordinator)
        }()
        #expect(box.value == nil)
    }
}

/// What a write may do with other coordinators.
@Suite(.endsInTime)
struct ReadWriteCoordinatorInsideWriteTests {
    @Test
    func aWriteMayWaitForOneThatItHasEnqueuedElsewhere() async {
        await #expect(processExitsWith: .success) {
            alarm(20)
            let outer = ReadWriteCoordinator(), other = ReadWriteCoordinator(), ran = Unprotected(false)
            outer.enqueueWrite {
                other.enqueueWrite { ran.value = true }
                guard other.read({ ran.value }) else { exit(2) }
                // The other way to a grant: by leaving the other coordinator.
                other.blockingWrite { _ = other.enqueueWrite { ran.value = false } }
                guard !other.read({ ran.value }) else { exit(3) }
            }
            try? outer.drain(timeout: .never)
        }
    }
}
