import CSyncKernel
import Testing

@testable import SwiftSync

/// How many circles have been closed by entering `inner` inside of `outer`.
private func circles(closedBy inner: String, inside outer: String) -> Int {
    let step = "\"\(inner)\" was entered inside of \"\(outer)\" at"
    return LockOrder.text().split(separator: "circle ").count { circle in
        circle.split(separator: "\n").dropFirst().first?.hasSuffix(step) == true
    }
}

/// A process whose locks are checked stays one, so each test has one of its own.
@Suite(.endsInTime)
struct LockOrderTests {
    @Test func `two mutexes that are taken in both orders are reported once, with both places`() async {
        await #expect(processExitsWith: .success) {
            try LockOrder.start()
            let sessions = PriorityMutex(0, name: "order's sessions"), users = PriorityMutex(0, name: "order's users")
            sessions.withLock { _ in users.withLock { $0 += 1 } }
            #expect(circles(closedBy: sessions.name, inside: users.name) == 0)
            for _ in 0..<3 { users.withLock { _ in sessions.withLock { $0 += 1 } } }
            #expect(circles(closedBy: sessions.name, inside: users.name) == 1)
            #expect(LockOrder.text().contains("\"order's users\" was entered inside of \"order's sessions\" at"))
            #expect(LockOrder.circleCount > 0)
            // Functions have the names that the source has.
            #expect(LockOrder.text().contains("SwiftSyncTests.LockOrderTests"))
            #expect(!LockOrder.text().contains("\n        $s"))
        }
    }

    @Test func `each kind of lock is part of the order`() async {
        await #expect(processExitsWith: .success) {
            try LockOrder.start()
            let mutex = PriorityMutex(0, name: "order's mutex"), section = CriticalSection(name: "order's section")
            let strict = PriorityMutex(0, policy: .strict, name: "order's strict mutex")
            let value = QueueSafeValue(value: 0, name: "order's value")
            mutex.withLock { _ in section.execute { section.execute {} } }
            section.execute { mutex.withLock { _ in } }
            #expect(circles(closedBy: mutex.name, inside: section.name) == 1)
            mutex.withLock { _ in strict.withLock { _ in } }
            strict.withLock { _ in mutex.withLock { _ in } }
            #expect(circles(closedBy: mutex.name, inside: strict.name) == 1)
            mutex.withLock { _ in _ = value.wait.priority(.normal).get() }
            _ = value.wait.priority(.normal).set { _ in mutex.withLock { _ in } }
            #expect(circles(closedBy: mutex.name, inside: "order's value") == 1)
        }
    }

    @Test func `locks of one name have levels, and one that is left out is not seen`() async {
        await #expect(processExitsWith: .success) {
            try LockOrder.start()
            let nodes = (0..<3).map { _ in PriorityMutex(0, name: "order's node") }
            nodes[1].setLockOrder(level: 1)
            nodes[0].withLock { _ in nodes[1].withLock { _ in } }
            #expect(circles(closedBy: "order's node", inside: "order's node") == 0)
            nodes[0].withLock { _ in nodes[2].withLock { _ in } }
            #expect(circles(closedBy: "order's node", inside: "order's node") == 1)
            let sections = (0..<2).map { _ in CriticalSection(name: "order's sections") }
            sections[1].leaveOutOfLockOrder()
            sections[0].execute { sections[1].execute {} }
            #expect(circles(closedBy: "order's sections", inside: "order's sections") == 0)
        }
    }

    @Test func `values of one name have levels, and one that is left out is not seen`() async {
        await #expect(processExitsWith: .success) {
            try LockOrder.start()
            let values = (0..<4).map { _ in QueueSafeValue(value: 0, name: "order's value") }
            let enter = { (outer: Int, inner: Int) in
                _ = values[outer].wait.lowestPriority.set { _ in _ = values[inner].wait.lowestPriority.get() }
            }
            values[1].setLockOrder(level: 1)
            values[2].leaveOutOfLockOrder()
            enter(0, 1)
            enter(0, 2)
            #expect(circles(closedBy: "order's value", inside: "order's value") == 0)
            enter(0, 3)
            #expect(circles(closedBy: "order's value", inside: "order's value") == 1)
            let synced = (0..<3).map { _ in QueueSafeSyncedValue(value: 0, name: "order's synced value") }
            synced[1].setLockOrder(level: 1)
            synced[2].leaveOutOfLockOrder()
            _ = synced[0].lowestPriority.set { _ in
                _ = synced[1].lowestPriority.get()
                _ = synced[2].lowestPriority.get()
            }
            #expect(circles(closedBy: "order's synced value", inside: "order's synced value") == 0)
        }
    }

    @Test func `a mutex that is tried begins no order`() async {
        await #expect(processExitsWith: .success) {
            try LockOrder.start()
            let outer = PriorityMutex(0, name: "order's outer"), inner = PriorityMutex(0, name: "order's inner")
            outer.withLock { _ in inner.withLock { _ in } }
            inner.withLock { _ in _ = outer.withLockIfAvailable { _ in } }
            #expect(circles(closedBy: outer.name, inside: inner.name) == 0)
        }
    }

    @Test func `nothing is checked after a stop`() async {
        await #expect(processExitsWith: .success) {
            try LockOrder.start()
            let one = PriorityMutex(0, name: "order's one"), two = PriorityMutex(0, name: "order's two")
            one.withLock { _ in two.withLock { _ in } }
            LockOrder.stop()
            two.withLock { _ in one.withLock { _ in } }
            #expect(circles(closedBy: one.name, inside: two.name) == 0)
        }
    }

    @Test func `a level that there is not stops the program with a message, in each build`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            PriorityMutex(0).setLockOrder(level: Shared(8).value)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("LockOrder: a level is from 0 to 7, not 8"))
    }
}
