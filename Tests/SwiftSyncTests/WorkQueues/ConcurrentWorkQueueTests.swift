import Dispatch
import Synchronization
import Testing

@testable import SwiftSync

@Suite struct ConcurrentWorkQueueTests {
    @Test func workRunsTogetherUpToTheWidth() {
        let queue = ConcurrentWorkQueue(name: "together", width: 3), inside = Shared(), most = Shared(),
            three = DispatchSemaphore(value: 0)
        for _ in 0..<12 {
            queue.async {
                let now = inside.access {
                    $0 += 1; return $0
                }
                if most.access({
                    $0 = max($0, now); return $0
                }) == 3 {
                    three.signal()
                }
                three.wait()
                three.signal()
                inside.access { $0 -= 1 }
            }
        }
        queue.blockingDrain()
        #expect(most.value == 3)
    }

    @Test func aBarrierRunsAloneBetweenWhatCameBeforeAndAfter() {
        let queue = ConcurrentWorkQueue(name: "barrier", width: 4), inside = Atomic(0), before = Atomic(0),
            wrong = Atomic(0)
        for round in 0..<50 {
            for i in 0..<10 {
                queue.async(priority: i % 2 == 0 ? .high : .low) {
                    inside.add(1, ordering: .sequentiallyConsistent)
                    before.add(1, ordering: .sequentiallyConsistent)
                    inside.subtract(1, ordering: .sequentiallyConsistent)
                }
            }
            queue.async(barrier: true) {
                if inside.load(ordering: .sequentiallyConsistent) != 0 { wrong.add(1, ordering: .relaxed) }
                if before.load(ordering: .sequentiallyConsistent) != (round + 1) * 10 {
                    wrong.add(1, ordering: .relaxed)
                }
            }
        }
        queue.blockingDrain()
        #expect(wrong.load(ordering: .relaxed) == 0)
    }

    @Test func barriersOfEveryKindStandInOneOrder() async {
        let queue = ConcurrentWorkQueue(name: "kinds"), seen = Shared([Int]())
        queue.async { seen.append(0) }
        onThreadThatIsWaitedFor { queue.sync(barrier: true) { seen.append(1) } }
        queue.async { seen.append(2) }
        await queue.run(barrier: true) { seen.append(3) }
        queue.async(barrier: true) { seen.append(4) }
        onThreadThatIsWaitedFor { queue.sync { seen.append(5) } }
        queue.async { seen.append(6) }
        _ = try? await queue.run(barrier: true, timeout: .never) { seen.append(7) }
        #expect(seen.value == [0, 1, 2, 3, 4, 5, 6, 7])
    }

    /// It used to stop the program.
    @Test func aWidthOfOneRunsOneClosureAtATime() async throws {
        let queue = ConcurrentWorkQueue(name: "narrow", width: 1), inside = Shared(), most = Shared()
        let run: @Sendable () -> Void = {
            let now = inside.access {
                $0 += 1
                return $0
            }
            most.access { $0 = max($0, now) }
            inside.access { $0 -= 1 }
        }
        #expect(queue.width == 1)
        for i in 0..<200 {
            switch i % 4 {
            case 0: queue.async(run)
            case 1: queue.async(barrier: true, run)
            case 2: await queue.run(run)
            default: onThreadThatIsWaitedFor { queue.sync(run) }
            }
        }
        await Task(executorPreference: queue) { run() }.value
        try await queue.drain(timeout: .never)
        #expect(most.value == 1)
    }

    @Test(arguments: [1, 2])
    func urgentWorkStaysBehindTheBarrierWhateverTheWidth(width: Int) {
        let queue = ConcurrentWorkQueue(name: "narrow", width: width), seen = Shared<[Int]>([]),
            mayEnd = DispatchSemaphore(value: 0)
        for _ in 0..<width { queue.async { mayEnd.wait() } }
        queue.async(priority: .lowest) { seen.append(1) }
        queue.async(barrier: true) { seen.append(2) }
        queue.async(priority: .highest) { seen.append(3) }
        for _ in 0..<width { mayEnd.signal() }
        queue.blockingDrain()
        #expect(seen.value == [1, 2, 3])
    }

    @Test(arguments: [0, -1, 4097])
    func aWidthOutOfBoundsStopsWithAMessage(width: Int) async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [width] in
            _ = ConcurrentWorkQueue(name: "narrow", width: width)
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("ConcurrentWorkQueue narrow: a width of \(width) is not within 1 to 4096"))
    }

    @Test func workMayQueueMoreFromInside() {
        let queue = ConcurrentWorkQueue(name: "inside", width: 2), ran = Shared()
        for _ in 0..<50 {
            queue.async { for _ in 0..<10 { queue.async { ran.increment() } } }
        }
        waitUntil { ran.value == 500 }
    }

    @Test func aQueueHasTheWidthThatItWasMadeWithWhateverElseItHas() {
        let queues = [
            ConcurrentWorkQueue(name: "quality", width: 3, priority: .low),
            ConcurrentWorkQueue(name: "bounded", width: 3, capacity: 1, whenFull: .refuse),
            ConcurrentWorkQueue(name: "both", width: 3, priority: .low, capacity: 1, whenFull: .refuse),
        ]
        for queue in queues { #expect(queue.width == 3, "\(queue.name)") }
    }
}
