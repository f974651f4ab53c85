import SwiftSync
import Testing

/// Waiting, waking and timing between threads.
@Suite struct BlockingPriorityQueueConcurrencyTests {
    @Test func popWaitsForAPush() {
        let queue = BlockingPriorityQueue<Int>()
        let popped = Shared<Int?>(nil)
        let consumer = Thread {
            let element = queue.pop()
            popped.access { $0 = element }
        }
        waitUntil { queue.waitingCount == 1 }
        queue.push(42)
        consumer.join()
        #expect(popped.value == 42)
        #expect(queue.waitingCount == 0)
    }

    @Test func poppersAreServedInTheOrderTheyCame() {
        let queue = BlockingPriorityQueue<Int>()
        let served = Shared<[[Int]]>(Array(repeating: [], count: 3))
        let consumers = (0..<3).map { index in
            let consumer = Thread {
                if let element = queue.pop() { served.access { $0[index].append(element) } }
            }
            waitUntil { queue.waitingCount == index + 1 }
            return consumer
        }
        for element in 0..<3 {
            queue.push(element)
            waitUntil { served.value[element] == [element] }
        }
        consumers.forEach { $0.join() }
    }

    @Test func pushIntoAFullQueueWaitsForRoom() {
        let queue = BlockingPriorityQueue<Int>(capacity: 1)
        queue.push(1)
        let accepted = Flag()
        let producer = Thread {
            if queue.push(2) { accepted.raise() }
        }
        defer { producer.join() }
        waitUntil { queue.waitingCount == 1 }
        #expect(!accepted.isRaised)
        #expect(queue.pop() == 1)
        waitUntil { accepted.isRaised }
        #expect(queue.pop() == 2)
    }

    @Test func drainLetsWaitingPushersIn() {
        let queue = BlockingPriorityQueue<Int>(capacity: 1)
        queue.push(1)
        let producer = Thread { queue.push(2) }
        waitUntil { queue.waitingCount == 1 }
        #expect(queue.takeAll() == [1])
        producer.join()
        #expect(queue.takeAll() == [2])
    }

    @Test func closeWakesEverybodyWhoWaits() {
        let empty = BlockingPriorityQueue<Int>()
        let full = BlockingPriorityQueue<Int>(capacity: 1)
        full.push(1)
        let results = Shared<[String]>([])
        let threads = [
            Thread { if empty.pop() == nil { results.append("pop") } },
            Thread {
                do { if try empty.pop(timeout: .seconds(3600)) == nil { results.append("timed pop") } } catch {}
            },
            Thread {
                do throws(BlockingPriorityQueueError) {
                    try full.push(2, timeout: .seconds(3600))
                } catch {
                    if error == .shutDown { results.append("timed push") }
                }
            },
        ]
        waitUntil { empty.waitingCount == 2 && full.waitingCount == 1 }
        empty.shutdown()
        full.shutdown()
        threads.forEach { $0.join() }
        #expect(results.value.sorted() == ["pop", "timed pop", "timed push"])
        #expect(full.takeAll() == [1])
    }

    @Test(arguments: [0.2, 1, 5, 20])
    func noTimeoutIsEverEarly(_ milliseconds: Double) {
        let empty = BlockingPriorityQueue<Int>()
        let full = BlockingPriorityQueue<Int>(capacity: 1)
        full.push(1)
        let timeout = Duration.milliseconds(milliseconds)
        for _ in 0..<5 {
            let popTook = ContinuousClock().measure {
                #expect(throws: BlockingPriorityQueueError.timedOut) { try empty.pop(timeout: .after(timeout)) }
            }
            #expect(popTook >= timeout)
            let pushTook = ContinuousClock().measure {
                #expect(throws: BlockingPriorityQueueError.timedOut) { try full.push(2, timeout: .after(timeout)) }
            }
            #expect(pushTook >= timeout)
        }
        #expect(full.takeAll() == [1])
    }

    @Test func everyElementOfManyProducersReachesOneConsumer() {
        let queue = BlockingPriorityQueue<Int>(capacity: 8)
        let sums = Shared<(count: Int, sum: Int)>((0, 0))
        let consumers = (0..<2).map { _ in
            Thread {
                while let element = queue.pop() {
                    sums.access { $0 = ($0.count + 1, $0.sum + element) }
                }
            }
        }
        Threads.run(3) { producer in
            for index in 0..<5_000 {
                queue.push(producer * 5_000 + index, priority: CommandPriority(rawValue: Int32(index % 7)))
            }
        }
        queue.shutdown()
        consumers.forEach { $0.join() }
        #expect(sums.value.count == 15_000)
        #expect(sums.value.sum == (0..<15_000).reduce(0, +))
    }

    @Test func elementsThatOthersTimeOutOnAreNeverLost() {
        let queue = BlockingPriorityQueue<Int>()
        let popped = Shared<[Int]>([])
        let producer = Thread {
            for element in 0..<2_000 { queue.push(element) }
            queue.shutdown()
        }
        Threads.run(2) { _ in
            while true {
                do {
                    guard let element = try queue.pop(timeout: .microseconds(20)) else { return }
                    popped.append(element)
                } catch {}
            }
        }
        producer.join()
        #expect(popped.value.sorted() == Array(0..<2_000))
    }
}
