import Testing

@testable import SwiftSync

/// Who may enter a mutex that is free while a waiter is on its way to it.
struct PriorityMutexPromiseTests {
    @Test(arguments: [(CommandPriority.high, true), (.normal, false)])
    func withLockIfAvailableNeverOvertakesAWaiterOfHigherPriority(waiting: CommandPriority, isRefused: Bool) {
        let mutex = PriorityMutex(0), entered = Flag(), identity = Shared<StoppedThread.Identity?>(nil), isFree = Flag()
        let holder = Thread {
            mutex.withLock { _ in waitUntil { isFree.isRaised } }
        }
        waitUntil { mutex.withLockIfAvailable { _ in } == nil }
        let waiter = Thread {
            identity.access { $0 = .current }
            _ = mutex.withLock(priority: waiting, timeout: nil) { _ in entered.raise() }
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
}
