import Testing

@testable import SwiftSync

/// How sections end: by return, by throwing, and what becomes of values that can't be copied.
@Suite(.endsInTime)
struct LockEndTests {
    private enum Failure: Error { case expected }

    @Test(arguments: [GatePolicy.fast, .strict])
    func aThrowLeavesTheMutexToWhoeverWaits(policy: GatePolicy) throws {
        let mutex = PriorityMutex(0, policy: policy)
        for _ in 0..<100 {
            var waiter: Thread?
            #expect(throws: Failure.expected) {
                try mutex.withLock { number in
                    number += 1
                    waiter = Thread { mutex.withLock { $0 += 1 } }
                    waitUntil { mutex.waitingCount == 1 }
                    throw Failure.expected
                }
            }
            waiter?.join()
        }
        #expect(mutex.withLock { $0 } == 200)
    }

    @Test
    func aThrowFromEachFormLeavesTheMutexFree() {
        let mutex = PriorityMutex(0)
        for _ in 0..<3 {
            #expect(throws: Failure.expected) { try mutex.withLock { _ in throw Failure.expected } }
            #expect(throws: Failure.expected) { try mutex.withLockIfAvailable { _ in throw Failure.expected } }
            #expect(throws: Failure.expected) { try mutex.withLock(priority: .high) { _ in throw Failure.expected } }
            #expect(throws: Failure.expected) {
                try mutex.withLock(priority: .low, timeout: .zero) { _ in throw Failure.expected }
            }
            // Asked from another thread, since re-entry would be refused for another reason.
            Threads.run(1) { _ in #expect(mutex.withLockIfAvailable { $0 += 1 } != nil) }
        }
        #expect(mutex.withLock { $0 } == 3)
    }

    /// Throws that leave one level only.
    private func throwInside(_ section: CriticalSection) {
        #expect(throws: Failure.expected) { try section.execute { throw Failure.expected } }
        #expect(throws: Failure.expected) { try section.execute(timeout: .zero) { throw Failure.expected } }
        #expect(throws: Failure.expected) { try section.executeWithTimeout(1) { throw Failure.expected } }
    }

    @Test
    func aThrowLeavesTheSectionToWhoeverWaits() {
        let section = CriticalSection(), entered = Shared(0)
        for _ in 0..<100 {
            var waiter: Thread?
            #expect(throws: Failure.expected) {
                try section.execute {
                    waiter = Thread { section.execute { entered.increment() } }
                    waitUntil { section.waitingCount == 1 }
                    throwInside(section)
                    #expect(section.waitingCount == 1)
                    throw Failure.expected
                }
            }
            waiter?.join()
        }
        #expect(entered.value == 100)
    }

    private struct Ticket: ~Copyable {
        let tracked: Tracked
        init(_ alive: Shared<Int>, _ number: Int) { tracked = Tracked(alive, number: number) }
        consuming func take() -> Int { tracked.number }
    }

    @Test
    func noncopyableValuesMoveInAndOut() {
        let alive = Shared(0)
        do {
            let mutex = PriorityMutex(Ticket(alive, 1))
            mutex.withLock { $0 = Ticket(alive, 2) }
            #expect(alive.value == 1)
            let number = mutex.withLock(priority: .high) { $0.tracked.number }
            #expect(number == 2)
        }
        #expect(alive.value == 0)
        let slot = PriorityMutex<Ticket?>(Ticket(alive, 3))
        let taken = slot.withLock { $0.take() }
        #expect(alive.value == 1)
        #expect(slot.withLock { $0 == nil })
        #expect(taken?.take() == 3)
        #expect(alive.value == 0)
        #expect(slot.withLockIfAvailable { $0 = Ticket(alive, 4) } != nil)
        #expect(alive.value == 1)
    }

    @Test
    func threadsPassANoncopyableValueAround() {
        let alive = Shared(0), slot = PriorityMutex<Ticket?>(Ticket(alive, 0)), taken = Shared(0)
        Threads.run(4) { number in
            for _ in 0..<500 {
                waitUntil {
                    guard let ticket = slot.withLock({ $0.take() }) else { return false }
                    let next = ticket.take() + 1
                    taken.increment()
                    slot.withLock { $0 = Ticket(alive, next) }
                    return true
                }
            }
        }
        #expect(taken.value == 2000)
        #expect(alive.value == 1)
        #expect(slot.withLock { $0.take() }?.take() == 2000)
        #expect(alive.value == 0)
    }
}
