import Testing

@testable import SwiftSync

/// Queues with a capacity.
@Suite(.endsInTime)
struct OrderedQueueBoundTests {
    @Test
    func aFullQueueRefusesAndTakesTheOldestOrWaitsAsItWasTold() async throws {
        for whenFull in [OverflowPolicy.refuse, .dropOldest, .wait] {
            let queue = FIFOQueue(capacity: 3, whenFull: whenFull), log = Shared([Int]()),
                door = await queue.stopAtDoor()
            var accepted = [Int]()
            for number in 0..<10 where queue.enqueue({ log.append(number) }) { accepted.append(number) }
            door.open()
            try await queue.drain()
            #expect(accepted == (whenFull == .dropOldest ? Array(0..<10) : [0, 1, 2]))
            #expect(log.value == (whenFull == .dropOldest ? [7, 8, 9] : [0, 1, 2]))
            #expect(queue.enqueue { log.append(10) })
            try await queue.drain()
        }
    }

    private actor Owner {}

    @Test
    func withoutACapacityAQueueTakesAllWhateverThePolicy() async throws {
        let none: Int? = nil, owner = Owner()
        for whenFull in [OverflowPolicy.refuse, .dropOldest, .wait] {
            let queue = FIFOQueue(capacity: none, whenFull: whenFull), log = Shared([Int]())
            let door = await queue.stopAtDoor()
            for number in 0..<100 { #expect(queue.enqueue { log.append(number) }) }
            #expect(queue.beyondBoundCount == 0)
            door.open()
            try await queue.drain()
            #expect(log.value == Array(0..<100))

            let ofActor = ActorQueue<Owner>(capacity: none, whenFull: whenFull), ran = Shared([Int]())
            ofActor.adoptExecutionContext(of: owner)
            for number in 0..<100 { #expect(ofActor.enqueue { _ in ran.append(number) }) }
            try await ofActor.drain()
            #expect(ran.value == Array(0..<100))
        }
    }

    @Test
    func droppedWorkIsReleasedAtOnce() async throws {
        let queue = FIFOQueue(capacity: 2, whenFull: .dropOldest), alive = Shared(0), door = await queue.stopAtDoor()
        for _ in 0..<50 {
            let tracked = Tracked(alive)
            queue.enqueue { withExtendedLifetime(tracked) {} }
        }
        #expect(alive.value == 2)
        door.open()
        try await queue.drain()
    }

    @Test
    func senderTasksWaitForRoomInOrder() async throws {
        let queue = FIFOQueue(capacity: 2, whenFull: .wait), log = Shared([Int]()), accepted = Shared([Int]())
        let door = await queue.stopAtDoor()
        var senders = [Task<Void, any Error>]()
        for number in 0..<20 {
            senders.append(
                Task {
                    try await queue.enqueueWaitingForRoom { log.append(number) }
                    accepted.append(number)
                })
            await waitUntil { queue.storage.pendingCount == number + 1 }
        }
        #expect(!queue.enqueue { mustNotRun() })
        await waitUntil { accepted.value.count == 2 }
        let place = Task { await queue.enqueueAndWait { log.append(20) } }
        await waitUntil { queue.storage.pendingCount == 21 }
        door.open()
        for sender in senders { try await sender.value }
        await place.value
        #expect(log.value == Array(0...20))
    }

    @Test
    func aSenderThatIsCancelledLeavesAndAShutdownSendsTheRestAway() async throws {
        let queue = FIFOQueue(capacity: 1, whenFull: .wait), door = await queue.stopAtDoor(), log = Shared([Int]())
        queue.enqueue { log.append(0) }
        let cancelled = Task { try await queue.enqueueWaitingForRoom { mustNotRun() } }
        await waitUntil { queue.storage.pendingCount == 2 }
        let refused = Task { try await queue.enqueueWaitingForRoom { mustNotRun() } }
        await waitUntil { queue.storage.pendingCount == 3 }
        cancelled.cancel()
        await #expect(throws: OrderedQueueError.cancelled) { try await cancelled.value }
        queue.shutdown()
        await #expect(throws: OrderedQueueError.shutDown) { try await refused.value }
        door.open()
        try await queue.drain()
        #expect(log.value == [0])
    }

    /// Enqueues when it is released, as user code may.
    private final class Last: Sendable {
        let queue: FIFOQueue, ran: Shared<Int>
        init(_ queue: FIFOQueue, _ ran: Shared<Int>) {
            self.queue = queue
            self.ran = ran
        }
        deinit { if !queue.enqueue({ [ran] in ran.increment() }) { ran.increment() } }
    }

    @Test(arguments: [OverflowPolicy.wait, .dropOldest])
    func workIsReleasedOutsideOfTheLock(whenFull: OverflowPolicy) async throws {
        let queue = FIFOQueue(capacity: 2, whenFull: whenFull), door = await queue.stopAtDoor(), ran = Shared(0)
        if whenFull == .wait {
            queue.enqueue {}
            queue.enqueue {}
            let task = Task {
                let last = Last(queue, ran)
                try await queue.enqueueWaitingForRoom { withExtendedLifetime(last) { mustNotRun() } }
            }
            await waitUntil { queue.storage.pendingCount == 3 }
            task.cancel()
            await #expect(throws: OrderedQueueError.cancelled) { try await task.value }
            await waitUntil("it does not wait for its turn") { ran.value == 1 }
        } else {
            let last = Last(queue, ran)
            queue.enqueue { withExtendedLifetime(last) { mustNotRun() } }
            for _ in 0..<2 { queue.enqueue {} }
        }
        door.open()
        await waitUntil { ran.value == 1 }
        try await queue.drain()
        #expect(queue.enqueue {})
    }

    @Test
    func aFullQueueThatRefusesSaysSoToSenders() async throws {
        let queue = FIFOQueue(capacity: 1, whenFull: .refuse), door = await queue.stopAtDoor()
        try await queue.enqueueWaitingForRoom {}
        await #expect(throws: OrderedQueueError.full) { try await queue.enqueueWaitingForRoom { mustNotRun() } }
        door.open()
        try await queue.drain()
        try await queue.enqueueWaitingForRoom {}
    }

    @Test
    func workThatWouldWaitForRoomInItsOwnQueueIsToldSo() async throws {
        let queue = FIFOQueue(capacity: 1, whenFull: .wait), told = Flag()
        queue.enqueue {
            queue.enqueue {}
            await #expect(throws: OrderedQueueError.wouldDeadlock) {
                try await queue.enqueueWaitingForRoom { mustNotRun() }
            }
            told.raise()
        }
        try await queue.drain()
        #expect(told.isRaised)
    }

    @Test
    func manySendersGoThroughASmallQueue() async throws {
        let queue = FIFOQueue(capacity: 4, whenFull: .wait), counts = Unprotected([Int](repeating: 0, count: 6))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for producer in 0..<6 {
                group.addTask {
                    for number in 0..<300 {
                        try await queue.enqueueWaitingForRoom {
                            #expect(counts.value[producer] == number)
                            counts.value[producer] += 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await queue.drain()
        #expect(counts.value == [Int](repeating: 300, count: 6))
    }

    @Test
    func anActorQueueHasABoundToo() async throws {
        let ledger = Ledger(queue: ActorQueue(capacity: 2, whenFull: .wait)), queue = ledger.queue
        for number in 0..<500 { try await queue.enqueueWaitingForRoom { $0.write(number) } }
        try await queue.drain()
        #expect(await ledger.lines == Array(0..<500))

        let dropping = Ledger(queue: ActorQueue(capacity: 2, whenFull: .dropOldest)), goOn = await dropping.queue.stop()
        for number in 0..<10 { dropping.queue.enqueue { $0.write(number) } }
        await goOn()
        try await dropping.queue.drain()
        #expect(await dropping.lines == [8, 9])
    }

    @Test
    func aCapacityOfZeroStopsWithAMessage() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = FIFOQueue(capacity: 0, whenFull: .refuse, fileID: "Module/Made.swift", line: 7)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("FIFOQueue Module/Made.swift:7: the capacity must be positive"))
    }
}
