import Testing

@testable import SwiftSync

/// Recorders that are given to queues which are in use.
@Suite(.endsInTime)
struct RecorderSlotTests {
    private enum Queue: String, NamedQueue {
        case watched = "RecorderSlotTests.watched"
    }

    private func kinds(_ recorder: EventRecorder) -> [EventRecorder.Event.Kind] { recorder.events.map(\.kind) }

    @Test func aNamedQueueIsWatchedFromThenOn() {
        let recorder = EventRecorder(name: "watched")
        Queue.watched.async {}
        Queue.watched.queue.recorder = recorder
        Queue.watched.async {}
        Queue.watched.queue.blockingDrain()
        #expect(kinds(recorder) == [.pushed, .started, .finished])
        #expect(recorder.events.allSatisfy { $0.tag == Queue.watched.rawValue })
        Queue.watched.queue.recorder = nil
        Queue.watched.sync {}
        #expect(recorder.events.count == 3 && Queue.watched.queue.recorder == nil)
    }

    @Test func theQueueOfTheGlobalFunctionsIsWatched() async throws {
        let recorder = EventRecorder(name: "async"), ran = Flag()
        ConcurrentWorkQueue.shared.recorder = recorder
        // Others may be using the functions too.
        defer { ConcurrentWorkQueue.shared.recorder = nil }
        async { ran.raise() }
        try await ConcurrentWorkQueue.shared.drain()
        #expect(ran.isRaised && recorder.events.contains { $0.kind == .finished && $0.tag == "SwiftSync.async" })
    }

    @Test func orderedQueuesAreWatchedToo() async {
        let recorder = EventRecorder(name: "ordered"), fifo = FIFOQueue(name: "uploads")
        await fifo.enqueueAndWait {}
        fifo.recorder = recorder
        await fifo.enqueueAndWait {}
        #expect(kinds(recorder) == [.pushed, .started, .finished] && fifo.recorder === recorder)
        let main = MainActorQueue(name: "screen")
        main.recorder = recorder
        await main.enqueueAndWait {}
        #expect(recorder.events.last?.tag == "ActorQueue screen" && kinds(recorder).count == 6)
    }

    @Test func aRecorderGoesWhenItIsReplacedAndNothingQueuedNeedsIt() {
        weak var first: EventRecorder?
        let queue = WorkQueue(name: "kept"), blocked = Blocked(queue)
        do {
            let recorder = EventRecorder(name: "first")
            first = recorder
            queue.recorder = recorder
        }
        queue.async {}
        queue.recorder = EventRecorder(name: "second")
        #expect(first != nil)
        blocked.release()
        queue.blockingDrain()
        queue.sync {}
        waitUntil { first == nil }
        #expect(queue.recorder?.events.count == 3)
    }

    /// What one recorder has begun to record of a work it goes on with, whichever is set meanwhile.
    @Test func recordersAreExchangedWhileWorkIsQueued() {
        let recorders = (0..<3).map { EventRecorder(name: "\($0)", capacity: 1 << 16) },
            queue = WorkQueue(name: "busy"), isOver = Flag()
        let exchanger = Thread {
            var turn = 0
            while !isOver.isRaised {
                queue.recorder = turn % 4 == 3 ? nil : recorders[turn % 4]
                turn += 1
            }
        }
        let ran = Shared(0)
        Threads.run(2) { _ in
            for _ in 0..<5000 { queue.async { ran.increment() } }
        }
        isOver.raise()
        exchanger.join()
        queue.blockingDrain()
        #expect(ran.value == 10_000)
        for recorder in recorders {
            for (_, events) in Dictionary(grouping: recorder.events, by: \.id) {
                #expect(events.map(\.kind) == [.pushed, .started, .finished])
            }
        }
    }
}
