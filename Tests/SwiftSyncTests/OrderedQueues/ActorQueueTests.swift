import Testing

@testable import SwiftSync

/// The order of an actor queue: that of the begins, on the actor.
@Suite(.endsInTime)
struct ActorQueueTests {
    @Test
    func workBeginsInOrderOnTheActor() async throws {
        let ledger = Ledger()
        for number in 0..<10_000 { ledger.queue.enqueue { $0.write(number) } }
        try await ledger.queue.drain()
        #expect(await ledger.lines == Array(0..<10_000))
    }

    @Test
    func laterWorkBeginsWhileEarlierIsSuspended() async throws {
        let ledger = Ledger(), door = Door()
        ledger.queue.enqueue { ledger in
            ledger.write(1)
            await door.pass()
            ledger.write(4)
        }
        ledger.queue.enqueue { $0.write(2) }
        await ledger.queue.enqueueAndWait { ledger in
            ledger.write(3)
            door.open()
        }
        try await ledger.queue.drain()
        #expect(await ledger.lines == [1, 2, 3, 4])
    }

    @Test
    func everyWayOfSubmittingStandsInOneOrderWhateverThePrioritiesAndSuspensions() async throws {
        let ledger = Ledger(queue: ActorQueue(priority: .low)), queue = ledger.queue
        var random = Seeded(9), tasks = [Task<Void, any Error>]()
        for round in 0..<40 {
            let door = Door()
            try await queue.drain()
            let goOn = await queue.stop()
            for number in (round * 30)..<(round * 30 + 30) {
                let suspends = Int.random(in: 0..<3, using: &random)
                let body: @Sendable (isolated Ledger) async -> Void = { ledger in
                    ledger.write(number)
                    if suspends == 0 { await door.pass() }
                    if suspends == 1 { await Task.yield() }
                }
                switch Int.random(in: 0..<4, using: &random) {
                case 0: queue.enqueue(body)
                case 1:
                    let task: Task<Void, Never> = Task(priority: anyPriority(&random), on: queue, operation: body)
                    tasks.append(Task { await task.value })
                case 2: tasks.append(Task(priority: anyPriority(&random), on: queue) { ledger in await body(ledger) })
                default:
                    let count = queue.storage.pendingCount
                    tasks.append(Task(priority: anyPriority(&random)) { await queue.enqueueAndWait(body) })
                    await waitUntil { queue.storage.pendingCount > count }
                }
            }
            await goOn()
            await queue.enqueueAndWait { _ in }
            door.open()
        }
        try await queue.drain()
        #expect(await ledger.lines == Array(0..<1200))
        for task in tasks { try await task.value }
    }

    @Test
    func eachOfManyProducersKeepsItsOrder() async throws {
        let ledger = Ledger(), queue = ledger.queue
        await withTaskGroup(of: Void.self) { group in
            for producer in 0..<8 {
                group.addTask {
                    for number in 0..<500 {
                        let body: @Sendable (isolated Ledger) async -> Void = { ledger in
                            ledger.write(producer * 1000 + number)
                            if number % 7 == 0 { await Task.yield() }
                        }
                        if number % 3 == 0 { await queue.enqueueAndWait(body) } else { queue.enqueue(body) }
                    }
                }
            }
        }
        try await queue.drain()
        let lines = await ledger.lines
        for producer in 0..<8 {
            #expect(lines.filter { $0 / 1000 == producer } == (0..<500).map { producer * 1000 + $0 })
        }
    }

    @Test
    func workMayWaitForItsOwnQueueEnqueueThrowAndBlock() async throws {
        struct Fault: Error {}
        let ledger = Ledger(), queue = ledger.queue
        queue.enqueue { ledger in
            ledger.write(1)
            queue.enqueue { $0.write(2) }
            Semaphore.blockBriefly()
            await queue.enqueueAndWait { $0.write(3) }
            ledger.write(4)
        }
        try await queue.drain()
        #expect(await ledger.lines == [1, 2, 3, 4])
        await #expect(throws: Fault.self) { try await queue.enqueueAndWait { _ async throws -> Int in throw Fault() } }
        let failing: Task<Int, any Error> = Task(on: queue) { _ in throw Fault() }
        await #expect(throws: Fault.self) { try await failing.value }
        #expect(await queue.enqueueAndWait { $0.lines.count } == 4)
    }

    @Test
    func othersGetToTheActorThoughItsQueueNeverRunsEmpty() async throws {
        let ledger = Ledger(), queue = ledger.queue, isOver = Flag()
        @Sendable func again() {
            if !isOver.isRaised { queue.enqueue { _ in again() } }
        }
        for _ in 0..<10 { again() }
        for _ in 0..<100 { await ledger.nothing() }
        isOver.raise()
        try await queue.drain()
    }

    private actor OnWorker {
        let queue = WorkQueue(name: "on a worker")
        nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
    }

    /// The moment in which the pump that was sent is there, and nothing says yet that somebody will come.
    @Test
    func aPlaceThatComesWhileAPumpArrivesStandsBehindWhatIsReady() async throws {
        let actor = OnWorker(), queue = ActorQueue<OnWorker>(), door = Door(), log = Shared([Int]()),
            pause = Shared<StepPause?>(nil)
        queue.adoptExecutionContext(of: actor)
        let goOn = await queue.stop()
        queue.enqueue { [storage = queue.storage] _ in
            // The next pump that comes finds two that are ready.
            pause.access { $0 = StepPause("ActorQueue: pump takes", subject: storage) }
            await door.pass()
        }
        for number in 0..<2 { queue.enqueue { _ in log.append(number) } }
        await goOn()
        await waitUntil { pause.value != nil }
        await pause.value!.isReached()
        let place = Task { await queue.enqueueAndWait { _ in log.append(2) } }
        await waitUntil { queue.storage.pendingCount == 1 }
        pause.value!.goOn()
        await place.value
        #expect(log.value == [0, 1, 2])
        door.open()
        try await queue.drain()
    }

    // MARK: - Cancelling

    @Test
    func aCancelledTaskGivesUpItsTurnWhereTheCallCanThrow() async throws {
        let ledger = Ledger(), queue = ledger.queue, goOn = await queue.stop()
        let throwing = Task { try await queue.enqueueAndWait { _ async throws in mustNotRun() } }
        await waitUntil { queue.storage.pendingCount == 1 }
        let plain = Task { await queue.enqueueAndWait { $0.write(Task.isCancelled ? 1 : 0) } }
        await waitUntil { queue.storage.pendingCount == 2 }
        queue.enqueue { $0.write(2) }
        throwing.cancel()
        plain.cancel()
        await #expect(throws: OrderedQueueError.cancelled) { try await throwing.value }
        await goOn()
        await plain.value
        try await queue.drain()
        #expect(await ledger.lines == [1, 2])
    }

    @Test
    func ofTheTurnAndTheCancellationExactlyOneWins() async throws {
        let ledger = Ledger(), queue = ledger.queue
        var random = Seeded(6), succeeded = 0, cancelled = 0
        for number in 0..<2000 {
            for _ in 0..<Int.random(in: 0...2, using: &random) { queue.enqueue { _ in } }
            let task = Task { try await queue.enqueueAndWait { ledger async throws in ledger.write(number) } }
            for _ in 0..<Int.random(in: 0...2, using: &random) { queue.enqueue { _ in } }
            for _ in 0..<Int.random(in: 0...3, using: &random) { await Task.yield() }
            task.cancel()
            do {
                try await task.value
                succeeded += 1
            } catch OrderedQueueError.cancelled {
                cancelled += 1
            }
        }
        try await queue.drain()
        #expect(await ledger.lines.count == succeeded && succeeded + cancelled == 2000)
    }

    // MARK: - Lifetime

    @Test
    func acceptedWorkRetainsItsActorAndOutlivesTheQueue() async {
        let alive = Shared(0), ran = Shared(0), door = Door()
        do {
            let ledger = Ledger(tracked: Tracked(alive))
            ledger.queue.enqueue { _ in await door.pass() }
            for _ in 0..<100 { ledger.queue.enqueue { _ in ran.increment() } }
            Task(on: ledger.queue) { _ in ran.increment() }
        }
        await waitUntil { ran.value == 101 }
        #expect(alive.value == 1)
        door.open()
        await waitUntil("the actor goes with its last work") { alive.value == 0 }
    }

    @Test
    func aQueueDoesNotKeepItsActor() async {
        let alive = Shared(0), queue = ActorQueue<Ledger>()
        do {
            let ledger = Ledger(tracked: Tracked(alive), queue: queue)
            await queue.enqueueAndWait { $0.write(1) }
            for _ in 0..<1000 { queue.enqueue { $0.write(2) } }
            await queue.enqueueAndWait { $0.write(3) }
            #expect(await ledger.lines.count == 1002)
        }
        await waitUntil { alive.value == 0 }
    }

    /// Nor does it keep the queue object: one rule with the FIFO queue.
    @Test
    func aTaskOutlivesTheQueueAndDoesNotKeepIt() async throws {
        let ledger = OnWorker(), log = Shared([Int]())
        weak var gone: ActorQueue<OnWorker>?
        let goOn: @Sendable () async -> Void, tasks: (Task<Void, Never>, Task<Void, any Error>)
        do {
            let queue = ActorQueue<OnWorker>()
            queue.adoptExecutionContext(of: ledger)
            gone = queue
            goOn = await queue.stop()
            tasks = (Task(on: queue) { _ in log.append(1) }, Task(on: queue) { _ in log.append(2) })
            #expect(queue.enqueue(inheritingTaskLocals: true) { _ in log.append(3) })
        }
        #expect(gone == nil)
        await goOn()
        await tasks.0.value
        try await tasks.1.value
        await waitUntil { log.value == [1, 2, 3] }
    }

    // MARK: - The end

    @Test
    func drainsThatAreGivenUpWhileWorkIsSuspendedLeaveNothingBehind() async throws {
        let ledger = Ledger(), queue = ledger.queue, door = Door()
        queue.enqueue { _ in await door.pass() }
        await queue.enqueueAndWait { _ in }
        for _ in 0..<100 {
            await #expect(throws: OrderedQueueError.timedOut) { try await queue.drain(timeout: .zero) }
            await #expect(throws: OrderedQueueError.timedOut) { try await queue.drain(timeout: .microseconds(100)) }
        }
        let first = Task { try await queue.drain() }, second = Task { try await queue.drain() },
            cancelled = Task { try await queue.drain() }
        cancelled.cancel()
        await #expect(throws: OrderedQueueError.cancelled) { try await cancelled.value }
        await queue.enqueueAndWait { _ in }
        door.open()
        try await first.value
        try await second.value
        try await queue.drain()
    }

    @Test
    func drainWaitsForWhatIsSuspended() async throws {
        let ledger = Ledger(), queue = ledger.queue, door = Door(), drained = Flag()
        queue.enqueue { ledger in
            await door.pass()
            ledger.write(1)
        }
        let drain = Task {
            try await queue.drain()
            drained.raise()
        }
        // What comes later does not matter to it.
        await queue.enqueueAndWait { _ in }
        let late = Door()
        await waitUntil { queue.storage.pendingCount == 0 }
        #expect(!drained.isRaised)
        door.open()
        try await drain.value
        queue.enqueue { _ in await late.pass() }
        #expect(await ledger.lines == [1])
        late.open()
        try await queue.drain()
    }

    @Test
    func workThatDrainsItsOwnQueueIsToldSo() async throws {
        let ledger = Ledger(), queue = ledger.queue, told = Shared(0)
        queue.enqueue { _ in
            await #expect(throws: OrderedQueueError.wouldDeadlock) { try await queue.drain() }
            told.increment()
        }
        await queue.enqueueAndWait { _ in
            await #expect(throws: OrderedQueueError.wouldDeadlock) { try await queue.drain() }
            told.increment()
        }
        try await queue.drain()
        #expect(told.value == 2)
    }

    @Test
    func afterAShutdownNothingIsAcceptedAndWhatWasRuns() async throws {
        let ledger = Ledger(), queue = ledger.queue
        for number in 0..<10 { queue.enqueue { $0.write(number) } }
        queue.shutdown()
        #expect(!queue.enqueue { _ in mustNotRun() })
        await #expect(throws: OrderedQueueError.shutDown) {
            try await queue.enqueueAndWait { _ async throws in mustNotRun() }
        }
        await #expect(throws: OrderedQueueError.shutDown) {
            try await queue.enqueueWaitingForRoom { _ in mustNotRun() }
        }
        let late: Task<Void, any Error> = Task(on: queue) { _ async throws in mustNotRun() }
        await #expect(throws: OrderedQueueError.shutDown) { try await late.value }
        try await queue.drain()
        #expect(await ledger.lines == Array(0..<10))
    }

    // MARK: - What stops the program

    private func text(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    enum Call: String, CaseIterable, Codable, Sendable {
        case enqueue, enqueueAndWait, task, drain

        func make(_ queue: ActorQueue<Ledger>) async throws {
            switch self {
            case .enqueue: queue.enqueue { _ in }
            case .enqueueAndWait: await queue.enqueueAndWait { _ in }
            case .task: Task(on: queue) { _ in }
            case .drain: try await queue.drain()
            }
        }
    }

    @Test(arguments: Call.allCases)
    func useBeforeTheAdoptionStopsWithAMessage(call: Call) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [call = call as Call] in
            try await call.make(ActorQueue(name: "ledger"))
        }
        #expect(text(result).contains("ActorQueue ledger: work was submitted before adoptExecutionContext(of:)"))
    }

    @Test(arguments: [Call.enqueueAndWait, .task])
    func waitingAfterTheEndOfTheActorStopsWithAMessage(call: Call) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [call = call as Call] in
            let queue = ActorQueue<Ledger>(name: "ledger")
            do { _ = Ledger(queue: queue) }
            try await call.make(queue)
        }
        #expect(text(result).contains("ActorQueue ledger: work was submitted after the end of its actor"))
    }

    @Test
    func adoptingASecondActorStopsWithAMessage() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = ActorQueue<Ledger>(name: "ledger"), first = Ledger(queue: queue)
            queue.adoptExecutionContext(of: first)
            let second = Ledger(queue: queue)
            withExtendedLifetime((first, second)) {}
        }
        #expect(
            text(result).contains("ActorQueue ledger: it has adopted the execution context of another actor before"))
    }
}
