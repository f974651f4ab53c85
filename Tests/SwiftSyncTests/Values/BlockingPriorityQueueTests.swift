import SwiftSync
import Testing

/// Order, bounds, draining, closing and lifetimes, on one thread.
@Suite struct BlockingPriorityQueueTests {
    @Test func elementsComeOutByPriorityAndWithinOneInOrder() {
        let queue = BlockingPriorityQueue<String>()
        queue.push("normal 0")
        queue.push("low", priority: .low)
        queue.push("high", priority: .high)
        queue.push("normal 1")
        queue.push("highest", priority: .highest)
        queue.push("lowest", priority: .lowest)
        queue.push("seventeen", priority: CommandPriority(rawValue: 17))
        let order = (0..<7).map { _ in queue.pop() }
        #expect(order == ["highest", "high", "seventeen", "normal 0", "normal 1", "low", "lowest"])
    }

    @Test func aPriorityCountsInEveryFormOfPush() throws {
        let queue = BlockingPriorityQueue<String>()
        queue.push("normal")
        _ = queue.tryPush("high", priority: .high)
        try queue.push("highest", priority: .highest, timeout: .seconds(50))
        #expect(queue.pop() == "highest")
        #expect(queue.pop() == "high")
        #expect(queue.pop() == "normal")
    }

    @Test func manyElementsKeepAStableOrder() {
        let queue = BlockingPriorityQueue<(Int32, Int)>()
        var generator = SystemRandomNumberGenerator()
        let pushed = (0..<20_000).map { (Int32.random(in: -5...5, using: &generator), $0) }
        for element in pushed { queue.push(element, priority: CommandPriority(rawValue: element.0)) }
        let expected = pushed.sorted { $0.0 != $1.0 ? $0.0 > $1.0 : $0.1 < $1.1 }
        let popped = (0..<pushed.count).compactMap { _ in queue.tryPop() }
        #expect(popped.elementsEqual(expected, by: ==))
        #expect(queue.count == 0)
    }

    @Test func drainTakesEverythingInOrder() {
        let queue = BlockingPriorityQueue<Int>()
        for (element, priority) in [(1, 0), (2, 9), (3, 0), (4, -9)] {
            queue.push(element, priority: CommandPriority(rawValue: Int32(priority)))
        }
        #expect(queue.count == 4)
        #expect(queue.takeAll() == [2, 1, 3, 4])
        #expect(queue.count == 0)
        #expect(queue.takeAll().isEmpty)
        #expect(queue.push(5))
        #expect(queue.pop() == 5)
    }

    @Test func aBoundedQueueRefusesWhatDoesNotFit() {
        let queue = BlockingPriorityQueue<Int>(capacity: 2)
        #expect(queue.capacity == 2)
        #expect(queue.tryPush(1))
        #expect(queue.tryPush(2))
        #expect(!queue.tryPush(3))
        #expect(throws: BlockingPriorityQueueError.timedOut) { try queue.push(3, timeout: .zero) }
        #expect(throws: BlockingPriorityQueueError.timedOut) { try queue.push(3, timeout: .seconds(-1)) }
        #expect(queue.pop() == 1)
        #expect(queue.tryPush(4))
        #expect(queue.takeAll() == [2, 4])
        #expect(BlockingPriorityQueue<Int>().capacity == nil)
    }

    @Test func tryPopOnAnEmptyQueueIsNilAndATimedPopThrows() throws {
        let queue = BlockingPriorityQueue<Int>()
        #expect(queue.tryPop() == nil)
        #expect(throws: BlockingPriorityQueueError.timedOut) { try queue.pop(timeout: .zero) }
        #expect(throws: BlockingPriorityQueueError.timedOut) { try queue.pop(timeout: .nanoseconds(-1)) }
        queue.push(1)
        #expect(try queue.pop(timeout: .zero) == 1)
        queue.push(2)
        #expect(try queue.pop(timeout: .seconds(Int64.max)) == 2)
    }

    @Test func aClosedQueueGivesWhatIsInsideAndThenNil() throws {
        let queue = BlockingPriorityQueue<Int>()
        queue.push(1)
        queue.push(2, priority: .high)
        #expect(!queue.isShutDown)
        queue.shutdown()
        queue.shutdown()
        #expect(queue.isShutDown)
        #expect(throws: BlockingPriorityQueueError.shutDown) { try queue.push(3, timeout: .seconds(1)) }
        #expect(queue.pop() == 2)
        #expect(try queue.pop(timeout: .seconds(1)) == 1)
        #expect(queue.pop() == nil)
        #expect(queue.tryPop() == nil)
        #expect(try queue.pop(timeout: .seconds(1)) == nil)
    }

    @Test func elementsAreReleasedOnEveryWayOut() throws {
        let alive = Shared()
        do {
            let queue = BlockingPriorityQueue<Tracked>(capacity: 3)
            for number in 0..<3 { queue.push(Tracked(alive, number: number)) }
            #expect(!queue.tryPush(Tracked(alive)))
            #expect(throws: BlockingPriorityQueueError.timedOut) { try queue.push(Tracked(alive), timeout: .zero) }
            #expect(alive.value == 3)
            #expect(queue.pop()?.number == 0)
            #expect(alive.value == 2)
            #expect(queue.takeAll().map(\.number) == [1, 2])
            #expect(alive.value == 0)
            queue.push(Tracked(alive))
            queue.push(Tracked(alive), priority: .high)
            #expect(alive.value == 2)
        }
        #expect(alive.value == 0)
    }

    @Test func elementsNeedNotBeSendable() {
        final class Plain {
            var text = ""
        }
        let queue = BlockingPriorityQueue<Plain>()
        let plain = Plain()
        plain.text = "sent"
        queue.push(plain)
        let received = Shared("")
        Thread { if let plain = queue.pop() { received.access { $0 = plain.text } } }.join()
        #expect(received.value == "sent")
    }

    @Test func aCapacityOfZeroOrLessStopsWithAMessage() async {
        let zero = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = BlockingPriorityQueue<Int>(capacity: 0, name: "jobs")
        }
        let negative = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = BlockingPriorityQueue<Int>(capacity: -1, name: "jobs")
        }
        for result in [zero, negative] {
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(text.contains("BlockingPriorityQueue jobs: the capacity must be positive"))
        }
    }
}

extension HandlerSettingTests {
    @Suite struct BlockingPriorityQueueReportTests {
        private struct Element {}

        @Test func aPushAfterCloseIsRefusedReleasedAndReported() {
            let reports = Shared<[SyncDiagnostics.Report]>([])
            SyncDiagnostics.setHandler { if $0.subject.contains("Element") { reports.append($0) } }
            defer { SyncDiagnostics.setHandler(nil) }
            let queue = BlockingPriorityQueue<Element>()
            queue.shutdown()
            #expect(!queue.push(Element()))
            #expect(reports.value.map(\.kind) == [.refusedAfterShutdown])
            #expect(reports.value.first?.subject == "BlockingPriorityQueue<Element> \(queue.name)")
            #expect(queue.count == 0)
        }

        @Test func whatThrowsOrOnlyTriesIsNotReported() {
            let reports = Shared<[SyncDiagnostics.Report]>([])
            SyncDiagnostics.setHandler { if $0.subject.contains("Element") { reports.append($0) } }
            defer { SyncDiagnostics.setHandler(nil) }
            let queue = BlockingPriorityQueue<Element>(capacity: 1)
            queue.push(Element())
            #expect(!queue.tryPush(Element()))
            queue.shutdown()
            #expect(!queue.tryPush(Element()))
            #expect(throws: BlockingPriorityQueueError.shutDown) { try queue.push(Element(), timeout: .zero) }
            #expect(reports.value.isEmpty)
        }
    }
}
