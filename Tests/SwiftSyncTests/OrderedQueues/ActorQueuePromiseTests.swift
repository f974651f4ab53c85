import Testing

@testable import SwiftSync

/// Draining an actor queue whose work is suspended.
@Suite(.endsInTime)
struct ActorQueuePromiseTests {
    private let ledger = Ledger()
    private let door = Door()
    private let log = Shared<[String]>([])

    /// Submits work that is suspended until the door is opened, and waits until it has begun.
    private func suspendWork() async {
        let door = door, log = log
        ledger.queue.enqueue { _ in
            await door.pass()
            log.append("work has ended")
        }
        await ledger.queue.enqueueAndWait { _ in }
    }

    /// Starts a drain; its end goes into the log.
    private func drain(_ name: String) -> Task<Void, Never> {
        let queue = ledger.queue, log = log
        return Task {
            do {
                try await queue.drain()
                log.append("\(name) has ended")
            } catch {
                log.append("\(name): \(error)")
            }
        }
    }

    /// Gives what was submitted before every opportunity to go on: each turn begins after all that came before has
    /// begun.
    private func letAllGoOn() async {
        for _ in 0..<50 {
            await ledger.queue.enqueueAndWait { _ in }
            await Task.yield()
        }
    }

    @Test func aDrainWaitsForWorkThatIsSuspended() async {
        await suspendWork()
        let first = drain("drain")
        await letAllGoOn()
        door.open()
        await first.value
        #expect(log.value == ["work has ended", "drain has ended"])
    }

    @Test func aDrainThatComesWhileAnotherWaitsWaitsForTheSameWork() async {
        await suspendWork()
        let first = drain("drain")
        await letAllGoOn()
        let second = drain("drain")
        await letAllGoOn()
        let third = drain("drain")
        await letAllGoOn()
        door.open()
        for task in [first, second, third] { await task.value }
        #expect(log.value == ["work has ended", "drain has ended", "drain has ended", "drain has ended"])
    }

    @Test func aDrainThatComesWhileAnotherWaitsWaitsForWorkThatBeganInBetween() async {
        await suspendWork()
        let first = drain("first drain")
        await letAllGoOn()
        let later = Door(), log = log
        ledger.queue.enqueue { _ in
            await later.pass()
            log.append("later work has ended")
        }
        await letAllGoOn()
        let second = drain("second drain")
        await letAllGoOn()
        door.open()
        await first.value
        await letAllGoOn()
        later.open()
        await second.value
        #expect(
            log.value == ["work has ended", "first drain has ended", "later work has ended", "second drain has ended"])
    }

    @Test func aDrainThatComesWhileAnotherWaitsCanBeCancelled() async {
        await suspendWork()
        let first = drain("first drain")
        await letAllGoOn()
        let second = drain("second drain")
        await letAllGoOn()
        second.cancel()
        await second.value
        await letAllGoOn()
        door.open()
        await first.value
        #expect(log.value == ["second drain: cancelled", "work has ended", "first drain has ended"])
    }

    @Test func aDrainThatIsCancelledLeavesALaterOneWaiting() async {
        await suspendWork()
        let first = drain("first drain")
        await letAllGoOn()
        let second = drain("second drain")
        await letAllGoOn()
        first.cancel()
        await first.value
        await letAllGoOn()
        door.open()
        await second.value
        #expect(log.value == ["first drain: cancelled", "work has ended", "second drain has ended"])
    }

    @Test func shortWorkWithoutEndLeavesTheActorToOthers() async {
        let ledger = ledger, queue = ledger.queue, isOver = Flag(), count = Shared()
        @Sendable func again() {
            queue.enqueue { _ in
                count.increment()
                if !isOver.isRaised { again() }
            }
        }
        for _ in 0..<4 { again() }
        await waitUntil { count.value > 1000 }
        // Not by the queue: this call has to get the actor between two pieces of work.
        await ledger.nothing()
        isOver.raise()
        try? await queue.drain()
    }

    /// What can throw used to stop the program too, and so did `drain`, of which nobody can know whether the actor
    /// lives.
    @Test
    func afterTheEndOfTheActorCallsThatCanThrowThrowAndADrainReturns() async throws {
        for isShutDown in [false, true] {
            let queue = ActorQueue<Ledger>(name: "ledger")
            do { _ = Ledger(queue: queue) }
            if isShutDown { queue.shutdown() }
            try await queue.drain()
            try await queue.drain(timeout: .zero)
            await #expect(throws: OrderedQueueError.shutDown) { try await queue.enqueueWaitingForRoom { _ in } }
            await #expect(throws: OrderedQueueError.shutDown) {
                try await queue.enqueueAndWait { _ in throw CancellationError() }
            }
            await #expect(throws: OrderedQueueError.shutDown) {
                try await queue.enqueueAndWait(timeout: .seconds(1)) { _ in }
            }
            let task = Task(on: queue) { _ in throw CancellationError() }
            await #expect(throws: OrderedQueueError.shutDown) { try await task.value }
            let cancellable = CancellableQueue(underlyingQueue: queue)
            let other = Task(on: cancellable) { _ in throw CancellationError() }
            await #expect(throws: OrderedQueueError.shutDown) { try await other.value }
        }
    }
}
