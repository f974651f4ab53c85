import Testing

@testable import SwiftSync

@MainActor private var lines = [Int]()

@Suite(.serialized, .endsInTime)
struct MainActorQueueTests {
    @Test
    func allSpellingsAreOneQueueInOneOrder() async {
        await MainActor.run { lines = [] }
        for number in stride(from: 0, to: 400, by: 4) {
            MainActorQueue.shared.enqueue { lines.append(number) }
            MainActor.queue.enqueue { @MainActor in
                lines.append(number + 1)
                await Task.yield()
            }
            Task(on: MainActor.queue) { lines.append(number + 2) }
            Task<Void, any Error>(on: MainActorQueue.shared) { lines.append(number + 3) }
        }
        let seen = await MainActorQueue.shared.enqueueAndWait { lines }
        #expect(seen == Array(0..<400))
    }

    @Test
    func workMayWaitForTheQueueAndThrow() async throws {
        struct Fault: Error {}
        let sum = await MainActor.queue.enqueueAndWait {
            MainActor.assertIsolated()
            return await MainActor.queue.enqueueAndWait { 3 } + 4
        }
        #expect(sum == 7)
        await #expect(throws: Fault.self) {
            try await MainActor.queue.enqueueAndWait { () async throws -> Int in throw Fault() }
        }
    }

    @Test
    func aQueueOfItsOwnNeedsNoAdoption() async throws {
        let queue = MainActorQueue(name: "screen", capacity: 10, whenFull: .refuse)
        #expect(queue.enqueue { MainActor.assertIsolated() })
        try await queue.drain()
    }
}
