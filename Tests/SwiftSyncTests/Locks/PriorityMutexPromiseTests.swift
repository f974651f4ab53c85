import Testing

@testable import SwiftSync

/// Who may enter a lock while others wait for it, and what a thread is told that would wait for itself.
struct PriorityMutexPromiseTests {
    @Test(arguments: [(CommandPriority.high, true), (.normal, false)])
    func withLockIfAvailableNeverOvertakesAWaiterOfHigherPriority(waiting: CommandPriority, isRefused: Bool) {
        let mutex = PriorityMutex(0), entered = Flag(), identity = Shared<StoppedThread.Identity?>(nil)
        let isHeld = Flag(), isFree = Flag()
        let holder = Thread {
            mutex.withLock { _ in
                isHeld.raise()
                waitUntil { isFree.isRaised }
            }
        }
        waitUntil { isHeld.isRaised } // looking whether the mutex is free could make the holder wait
        let waiter = Thread {
            identity.access { $0 = .current }
            mutex.withLock(priority: waiting) { _ in entered.raise() }
        }
        waitUntil { mutex.waitingCount == 1 }
        StoppedThread.whileStopped(identity.value!) {
            isFree.raise()
            holder.join()
            // The mutex is free, and the waiter, which has been called, can't come.
            #expect((mutex.withLockIfAvailable { _ in } == nil) == isRefused)
            #expect(!entered.isRaised)
        }
        waiter.join()
        #expect(entered.isRaised)
    }

    @Test func whoWaitsForACriticalSectionWithATimeoutDoesNotPassThoseThatCameBefore() {
        let section = CriticalSection(), entered = Shared<[Int]>([]), threads = Shared<[Thread]>([])
        section.execute {
            for number in 0..<6 {
                let thread = Thread {
                    switch number % 3 {
                    case 0: section.execute { entered.append(number) }
                    case 1: _ = section.execute(timeout: .seconds(3600)) { entered.append(number) }
                    default: _ = section.execute(timeout: .infinity) { entered.append(number) }
                    }
                }
                threads.append(thread)
                waitUntil { section.waitingCount == number + 1 }
            }
        }
        threads.value.forEach { $0.join() }
        #expect(entered.value == Array(0..<6))
    }

    @Test func aThreadThatWouldWaitForItselfStopsWithAMessageThatNamesTheFault() async {
        let mutex = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let mutex = PriorityMutex(0)
            mutex.withLock { _ in mutex.withLock { _ in } }
        }
        #expect(
            text(mutex).contains(
                ": withLock was called inside a section of the same mutex by the same thread"))
        let lock = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let lock = ReadWriteLock(0)
            lock.withWriteLock { _ in lock.withReadLock { _ in } }
        }
        #expect(
            text(lock).contains(
                ": withReadLock was called inside a section of the same lock by the same thread"))
        let snapshot = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let snapshot = Snapshot(0)
            snapshot.update { _ in snapshot.update { $0 += 1 } }
        }
        #expect(
            text(snapshot).contains(
                ": an update was begun inside an update of the same snapshot by the same thread"))
    }

    private func text(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }
}
