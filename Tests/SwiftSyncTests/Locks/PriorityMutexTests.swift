import Testing

@testable import SwiftSync

@Suite(.endsInTime)
struct PriorityMutexTests {
    private struct Handle: ~Copyable { var number = 1 }
    private enum Failure: Error { case expected }
    private final class NotSendable { var number = 0 }

    @Test
    func itHasTheShapeOfMutex() {
        let mutex = PriorityMutex(Handle())
        #expect(
            mutex.withLock {
                $0.number += 1; return $0.number
            } == 2)
        #expect(mutex.withLockIfAvailable { $0.number } == 2)
        #expect(throws: Failure.expected) { try mutex.withLock { (_) throws(Failure) in throw Failure.expected } }
        #expect(mutex.withLock(priority: .high, timeout: .zero) { $0.number } == 2)
        let reference = PriorityMutex(NotSendable())
        reference.withLock { $0.number += 1 }
        #expect(reference.withLock { $0.number } == 1)
    }

    @Test
    func aNamedPriorityAloneRunsItsBodyThoughTheDeadlineOfTheRequestHasPassed() {
        let mutex = PriorityMutex(0), isHeld = Flag(), isFree = Flag()
        let holder = Thread {
            mutex.withLock { _ in
                isHeld.raise()
                waitUntil { isFree.isRaised }
            }
        }
        waitUntil { isHeld.isRaised }
        let waiter = Thread {
            blockingWithDeadline(.until(SuspendingClock.now - .seconds(1))) {
                #expect(mutex.withLock(priority: .high, timeout: .seconds(600)) { $0 += 100 } == nil)
                mutex.withLock(priority: .high) { $0 += 1 }
                mutex.withLock(when: { $0 > 0 }, priority: .high) { $0 += 1 }
            }
        }
        waitUntil { mutex.waitingCount == 1 }
        isFree.raise()
        holder.join()
        waiter.join()
        #expect(mutex.withLock { $0 } == 2)
    }

    @Test
    func reentryIsRefusedOrStops() async {
        let mutex = PriorityMutex(0)
        mutex.withLock { _ in #expect(mutex.withLockIfAvailable { $0 } == nil) }
        await #expect(processExitsWith: .failure) {
            let mutex = PriorityMutex(0)
            mutex.withLock { _ in mutex.withLock { $0 += 1 } }
        }
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func waitersAreServedByPriority(policy: GatePolicy) {
        let mutex = PriorityMutex([Int32](), policy: policy), priorities: [Int32] = [0, 5, -3, 5, .max, .min, 1]
        let threads = Shared<[Thread]>([])
        mutex.withLock { _ in
            for (index, priority) in priorities.enumerated() {
                threads.append(
                    Thread { mutex.withLock(priority: CommandPriority(rawValue: priority)) { $0.append(priority) } }
                )
                waitUntil { mutex.waitingCount == index + 1 }
            }
        }
        threads.value.forEach { $0.join() }
        #expect(mutex.withLock { $0 } == priorities.sorted(by: >))
    }

    @Test
    func aTimeoutGivesNilAndIsNeverEarly() {
        let mutex = PriorityMutex(0), clock = ContinuousClock(), waited = Shared<Duration?>(nil)
        mutex.withLock { _ in
            Threads.run(1) { _ in
                let start = clock.now
                #expect(mutex.withLock(priority: .high, timeout: .milliseconds(2)) { $0 } == nil)
                let span = clock.now - start
                waited.access { $0 = span }
                #expect(mutex.withLock(priority: .high, timeout: .seconds(-1)) { $0 } == nil)
            }
        }
        #expect(waited.value! >= .milliseconds(2))
    }

    @Test
    func aSectionWithATimeoutThatReturnsNothingSaysWhetherItRan() {
        let mutex = PriorityMutex(0), lock = ReadWriteLock(0), limit = TimeLimit.milliseconds(1)
        let sections: @Sendable () -> [Bool] = {
            [
                mutex.withLock(timeout: limit) { $0 += 1 },
                mutex.withLock(when: { _ in true }, timeout: limit) { $0 += 1 },
                lock.withWriteLock(timeout: limit) { $0 += 1 }, lock.withReadLock(timeout: limit) { _ in },
            ]
        }
        mutex.withLock { _ in
            lock.withWriteLock { _ in Threads.run(1) { _ in #expect(sections() == [false, false, false, false]) } }
        }
        #expect(mutex.withLock { $0 } == 0 && lock.withReadLock { $0 } == 0)
        #expect(sections() == [true, true, true, true])
        #expect(mutex.withLock { $0 } == 2 && lock.withReadLock { $0 } == 1)
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func oneThreadAtATime(policy: GatePolicy) {
        let mutex = PriorityMutex(0, policy: policy, bypassLimit: 4)
        Threads.run(6) { number in
            for _ in 0..<3000 { mutex.withLock(priority: CommandPriority(rawValue: Int32(number))) { $0 += 1 } }
        }
        #expect(mutex.withLock { $0 } == 18_000)
    }

    @Test
    func theValueEndsWithTheMutex() {
        let alive = Shared(0)
        do { _ = PriorityMutex(Tracked(alive)) }
        #expect(alive.value == 0)
    }
}
