import Testing

@testable import SwiftSync

@Suite struct OrderedQueueRecorderTests {
    private func texts(_ recorder: EventRecorder) -> [String] { recorder.events.map { "\($0.kind) \($0.id)" } }

    @Test func aFIFOQueueRecordsWhatHappensInOrder() async throws {
        let recorder = EventRecorder(name: "uploads"), queue = FIFOQueue(name: "uploads", recorder: recorder),
            door = Door()
        queue.enqueue { await door.pass() }
        queue.enqueue {}
        let task = Task(on: queue) {}
        door.open()
        await task.value
        #expect(try await queue.enqueueAndWait { () throws -> Int in 7 } == 7)
        await queue.enqueueAndWait {}
        let events = texts(recorder).filter { !$0.hasPrefix("pushed") }
        #expect(events == (1...5).flatMap { ["started \($0)", "finished \($0)"] })
        #expect(recorder.events.allSatisfy { $0.tag == "FIFOQueue uploads" } && recorder.events.last?.depth == 0)
    }

    @Test func whatIsRefusedOrCancelledIsRecordedAsDropped() async {
        let recorder = EventRecorder(name: "drops"), door = Door()
        let queue = FIFOQueue(capacity: 1, whenFull: .dropOldest, recorder: recorder)
        queue.enqueue { await door.pass() }
        await waitUntil { texts(recorder).contains("started 1") }
        queue.enqueue {}
        queue.enqueue {}
        let waiting = Task { try await queue.enqueueAndWait { () throws in } }
        await waitUntil { texts(recorder).contains("pushed 4") }
        waiting.cancel()
        await #expect(throws: OrderedQueueError.cancelled) { try await waiting.value }
        door.open()
        try? await queue.drain()
        let events = texts(recorder)
        #expect(
            events.contains("dropped 2") && events.contains("finished 3") && events.contains("dropped 4"), "\(events)")
    }

    private actor Screen {
        let queue: ActorQueue<Screen>
        init(_ recorder: EventRecorder) {
            queue = ActorQueue(name: "screen", recorder: recorder)
            queue.adoptExecutionContext(of: self)
        }
    }

    @Test func anActorQueueRecordsToo() async {
        let recorder = EventRecorder(name: "screen"), screen = Screen(recorder)
        screen.queue.enqueue { _ in }
        await screen.queue.enqueueAndWait { _ in }
        await Task(on: screen.queue) { _ in }.value
        let events = texts(recorder).filter { !$0.hasPrefix("pushed") }
        #expect(events == (1...3).flatMap { ["started \($0)", "finished \($0)"] }, "\(events)")
    }
}
