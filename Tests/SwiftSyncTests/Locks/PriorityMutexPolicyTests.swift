import Testing

@testable import SwiftSync

/// Who is next under each policy, and who is inside.
@Suite(.endsInTime)
struct PriorityMutexPolicyTests {
    /// Queues a thread for each priority behind a held mutex, and gives the positions in the order in which they
    /// entered.
    private func order(of priorities: [CommandPriority], policy: GatePolicy, bypassLimit: UInt32 = 0) -> [Int] {
        let mutex = PriorityMutex([Int](), policy: policy, bypassLimit: bypassLimit)
        var threads: [Thread] = []
        mutex.withLock { _ in
            for (index, priority) in priorities.enumerated() {
                threads.append(Thread { mutex.withLock(priority: priority) { $0.append(index) } })
                waitUntil { mutex.waitingCount == index + 1 }
            }
        }
        threads.forEach { $0.join() }
        return mutex.withLock { $0 }
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func withinAPriorityArrivalDecides(policy: GatePolicy) {
        #expect(order(of: [.low, .high, .low, .high, .low, .high], policy: policy) == [1, 3, 5, 0, 2, 4])
    }

    @Test(arguments: [GatePolicy.fast, .strict], [UInt32(1), 2, 4])
    func aWaiterIsNextWhenTheLimitOfLaterOnesHavePassed(policy: GatePolicy, limit: UInt32) {
        var expected = [1, 2, 3, 4, 5]
        expected.insert(0, at: Int(limit))
        #expect(
            order(of: [.lowest, .high, .high, .high, .high, .high], policy: policy, bypassLimit: limit) == expected)
    }

    /// Under `.fast` a newcomer may take a free mutex, but not before one of higher priority; under `.strict` before
    /// nobody.
    @Test(arguments: [(GatePolicy.fast, CommandPriority.highest, CommandPriority.lowest), (.strict, .lowest, .highest)])
    func aNewcomerDoesNotPass(policy: GatePolicy, waiting: CommandPriority, coming: CommandPriority) {
        for _ in 0..<50 {
            let mutex = PriorityMutex([String](), policy: policy)
            var waiter: Thread?
            mutex.withLock { _ in
                waiter = Thread { mutex.withLock(priority: waiting) { $0.append("waiter") } }
                waitUntil { mutex.waitingCount == 1 }
            }
            mutex.withLock(priority: coming) { $0.append("newcomer") }
            waiter?.join()
            #expect(mutex.withLock { $0 } == ["waiter", "newcomer"])
        }
    }

    @Test(arguments: [GatePolicy.fast, .strict], [UInt32(0), 3])
    func whoGivesUpWasNeverInside(policy: GatePolicy, bypassLimit: UInt32) {
        let mutex = PriorityMutex(0, policy: policy, bypassLimit: bypassLimit), entered = Shared(0)
        Threads.run(6) { number in
            var times = 0
            for turn in 0..<1500 {
                let priority = CommandPriority(rawValue: Int32((number + turn) % 4))
                switch turn % 4 {
                case 0: mutex.withLock { $0 += 1 }; times += 1
                case 1:
                    times +=
                        mutex.withLock(priority: priority, timeout: .microseconds(number * 20)) { $0 += 1 } == nil
                        ? 0 : 1
                case 2: times += mutex.withLockIfAvailable { $0 += 1 } == nil ? 0 : 1
                default: mutex.withLock(priority: priority) { $0 += 1 }; times += 1
                }
            }
            entered.access { [times] in $0 += times }
        }
        #expect(mutex.withLock { $0 } == entered.value)
        #expect(mutex.waitingCount == 0)
    }
}
