import Testing

@testable import SwiftSync

/// Work that nobody waits for and that sees the task-local values of who has submitted it.
@Suite(.endsInTime)
struct QueueTaskLocalsTests {
    private enum Locals {
        @TaskLocal static var number = 0
    }

    @Test
    func theWorkOfAFIFOQueueSeesThemInItsOrder() async throws {
        let queue = FIFOQueue(), ledger = Ledger(), door = await queue.stopAtDoor()
        for number in 0..<100 {
            Locals.$number.withValue(number) {
                switch number % 3 {
                case 0: queue.enqueue(inheritingTaskLocals: true) { await ledger.write(Locals.number) }
                case 1: queue.enqueue(on: ledger, inheritingTaskLocals: true) { $0.write(Locals.number) }
                default: queue.enqueue(inheritingTaskLocals: false) { await ledger.write(number - Locals.number) }
                }
            }
        }
        door.open()
        try await queue.drain()
        #expect(await ledger.lines == Array(0..<100))
    }

    @Test
    func theWorkOfAnActorQueueSeesThemAndBeginsInItsOrder() async throws {
        let ledger = Ledger(), queue = ledger.queue, goOn = await queue.stop()
        for number in 0..<100 {
            Locals.$number.withValue(number) {
                _ = queue.enqueue(inheritingTaskLocals: number % 3 != 0) { ledger in
                    ledger.write(number % 3 == 0 ? number + Locals.number : Locals.number)
                    if number % 5 == 0 { await Task.yield() }
                }
            }
        }
        await goOn()
        try await queue.drain()
        #expect(await ledger.lines == Array(0..<100))
    }

    @Test
    func theWorkOfTheMainActorSeesThem() async {
        let seen = Shared([Int]())
        Locals.$number.withValue(5) {
            _ = MainActor.queue.enqueue(inheritingTaskLocals: true) { @MainActor in seen.append(Locals.number) }
        }
        await MainActor.queue.enqueueAndWait {}
        #expect(seen.value == [5])
    }

    @Test
    func itIsToldThatItWouldWaitForItself() async throws {
        let queue = FIFOQueue(), told = Shared(0)
        queue.enqueue(inheritingTaskLocals: true) {
            await #expect(throws: OrderedQueueError.wouldDeadlock) { try await queue.drain() }
            async let child: Void? = #expect(throws: OrderedQueueError.wouldDeadlock) { try await queue.drain() }.map {
                _ in ()
            }
            _ = await child
            told.increment()
        }
        try await queue.drain()
        #expect(told.value == 1)
    }

    @Test
    func itIsDroppedAndReleasedLikeOtherWork() async throws {
        let queue = FIFOQueue(capacity: 1, whenFull: .dropOldest), alive = Shared(0), ran = Shared(0),
            door = await queue.stopAtDoor()
        for _ in 0..<50 {
            let tracked = Tracked(alive)
            #expect(queue.enqueue(inheritingTaskLocals: true) { withExtendedLifetime(tracked) { ran.increment() } })
        }
        await waitUntil("all but the last are released") { alive.value == 1 }
        door.open()
        try await queue.drain()
        #expect(ran.value == 1)
        queue.shutdown()
        let refused = Tracked(alive)
        #expect(!queue.enqueue(inheritingTaskLocals: true) { withExtendedLifetime(refused) { mustNotRun() } })
    }

    /// It has a task of its own, which must not have the priority of who has submitted the work.
    @Test
    func itRunsAtTheQueuesPriority() async throws {
        let queue = FIFOQueue(priority: .background), ledger = Ledger(), seen = Shared([TaskPriority?]())
        queue.enqueue(inheritingTaskLocals: true) { seen.append(Task.basePriority) }
        queue.enqueue(on: ledger, inheritingTaskLocals: true) { _ in seen.append(Task.basePriority) }
        try await queue.drain()
        #expect(seen.value == [.background, .background])
    }
}
