import Testing

@testable import SwiftSync

/// What stands before a task that waits at a FIFO queue runs at the priority of that task, at least.
@Suite(.endsInTime)
struct FIFOQueuePriorityTests {
    private let queue = FIFOQueue(priority: .background)

    /// Starts a task of a high priority that waits behind all that was submitted before.
    private func waitBehind(_ priority: TaskPriority = .high) -> Task<TaskPriority, any Error> {
        let queue = queue
        return Task.detached(priority: priority) {
            try await queue.enqueueAndWait { () async throws in Task.currentPriority }
        }
    }

    /// Starts a task that has the turn until its priority is `.high`, and returns once it has it.
    private func hold(_ priority: TaskPriority) async -> Task<TaskPriority, Never> {
        let queue = queue, isHeld = Flag()
        let holder = Task.detached(priority: priority) {
            await queue.enqueueAndWait {
                let first = Task.currentPriority
                isHeld.raise()
                await untilRaised()
                return first
            }
        }
        await waitUntil { isHeld.isRaised }
        return holder
    }

    @Test func enqueuedWorkIsRaisedByATaskThatWaitsBehindIt() async throws {
        let began = Flag(), found = Shared([TaskPriority]())
        queue.enqueue {
            found.append(Task.currentPriority)
            began.raise()
            await untilRaised()
            found.append(Task.currentPriority)
        }
        await waitUntil { began.isRaised }
        #expect(try await waitBehind().value == .high)
        #expect(found.value == [.background, .high])
    }

    @Test func aTaskThatHasTheTurnIsRaised() async throws {
        let holder = await hold(.low)
        let waiting = waitBehind()
        #expect(try await waiting.value == .high)
        #expect(await holder.value == .low)
    }

    @Test func aTaskThatIsRaisedWhileItWaitsRaisesTheOneBeforeIt() async throws {
        let holder = await hold(.low)
        let waiting = waitBehind(.background)
        await waitUntil { queue.waitingCount == 1 }
        waiting.escalatePriority(to: .high)
        #expect(try await waiting.value == .high)
        #expect(await holder.value == .low)
    }

    @Test func allThatStandsInBetweenIsRaised() async throws {
        let holder = await hold(.low), queue = queue, found = Shared([TaskPriority]())
        queue.enqueue { found.append(Task.currentPriority) }
        let between = Task.detached(priority: .background) {
            await queue.enqueueAndWait { found.append(Task.currentPriority) }
        }
        await waitUntil { queue.waitingCount == 2 }
        let task = Task.immediate(priority: .background) {
            // It waits as a job, runs on the thread of the pump, which was raised, and is raised once it is suspended.
            await Task(on: queue) {
                await untilRaised()
                found.append(Task.currentPriority)
            }.value
        }
        await waitUntil { queue.waitingCount == 3 }
        queue.enqueue { found.append(Task.currentPriority) }
        queue.enqueue(inheritingTaskLocals: true) { found.append(Task.currentPriority) }
        #expect(try await waitBehind().value == .high)
        #expect(found.value == [.high, .high, .high, .high, .high])
        await between.value
        await task.value
        _ = await holder.value
    }

    /// A task that is enqueued stays where it is, so it is raised before that.
    @Test func aTaskThatIsNextIsResumedAtThePriorityOfThoseBehindIt() async throws {
        let holder = await hold(.low), executor = JobPriorities(), queue = queue
        let next = Task.detached(executorPreference: executor, priority: .background) {
            await queue.enqueueAndWait {}
        }
        await waitUntil { queue.waitingCount == 1 && executor.isIdle }
        let first = executor.seen.value
        #expect(try await waitBehind().value == .high)
        await next.value
        #expect(await holder.value == .low)
        #expect(first.allSatisfy { $0 == .background })
        #expect(executor.seen.value.dropFirst(first.count).first == .high)
    }

    @Test func onceNobodyWaitsWorkHasItsOwnPriorityAgain() async throws {
        let holder = await hold(.low)
        #expect(try await waitBehind().value == .high)
        _ = await holder.value
        let found = Shared([TaskPriority]())
        queue.enqueue { found.append(Task.currentPriority) }
        await waitUntil { found.value.count == 1 }
        #expect(found.value == [.background])
    }

    @Test func whoGivesUpItsTurnRaisesNoMore() async throws {
        let queue = queue, isHeld = Flag(), door = Door(), isRaised = Flag(), found = Shared([TaskPriority]())
        let holder = Task.detached(priority: .low) {
            await queue.enqueueAndWait {
                isHeld.raise()
                await untilRaised()
                isRaised.raise()
                await door.pass()
            }
        }
        await waitUntil { isHeld.isRaised }
        let waiting = waitBehind()
        await waitUntil { isRaised.isRaised }
        waiting.cancel()
        await #expect(throws: OrderedQueueError.cancelled) { try await waiting.value }
        queue.enqueue { found.append(Task.currentPriority) }
        door.open()
        await waitUntil { found.value.count == 1 }
        #expect(found.value == [.background])
        await holder.value
    }

    /// The job of a task runs on the pump's thread, and has the turn alone once it is suspended.
    @Test func aTaskThatWasLentTheTurnIsRaisedOnceItHasItAlone() async throws {
        let queue = queue, began = Flag(), go = Flag()
        queue.enqueue {
            began.raise()
            await waitUntil { go.isRaised }
        }
        await waitUntil { began.isRaised }
        let lent = Task.immediate(priority: .background) {
            await Task(on: queue) { await untilRaised() }.value
        }
        await waitUntil { queue.waitingCount == 1 }
        let waiting = Task.detached(priority: .high) { await queue.enqueueAndWait {} }
        await waitUntil { queue.waitingCount == 2 }
        go.raise()
        await waitUntil { queue.waitingCount == 0 }
        await waiting.value
        await lent.value
    }

    /// A handler of the one that is raised runs in the middle of it, and may use the queue all the same.
    @Test func aHandlerMayUseTheQueueWhileItsTaskIsRaised() async throws {
        let queue = queue, isHeld = Flag(), order = Shared([String]())
        let holder = Task.detached(priority: .background) {
            await withTaskPriorityEscalationHandler {
                await queue.enqueueAndWait {
                    isHeld.raise()
                    await untilRaised()
                    await waitUntil { queue.waitingCount >= 3 }
                }
            } onPriorityEscalated: { _, _ in
                queue.enqueue { order.append("enqueued") }
                _ = Task.immediate(priority: .high) { await queue.enqueueAndWait { order.append("at once") } }
            }
        }
        await waitUntil { isHeld.isRaised }
        let urgent = Task.detached(priority: .high) { await queue.enqueueAndWait { order.append("urgent") } }
        await waitUntil { order.value.count == 3 }
        await urgent.value
        await holder.value
        #expect(order.value == ["urgent", "enqueued", "at once"])
    }

    /// A task that has the turn until `body` is over, and whose handler runs from `handles` until `goOn`. Returns once
    /// it has the turn.
    private func holdWithHandler(
        _ handles: Flag, _ goOn: Flag, within limit: Duration? = nil, _ body: @escaping @Sendable () async -> Void
    ) async -> Task<Void, Never> {
        let queue = queue, isHeld = Flag()
        @Sendable func hold() async {
            await withTaskPriorityEscalationHandler {
                await queue.enqueueAndWait {
                    isHeld.raise()
                    await body()
                }
            } onPriorityEscalated: { _, _ in
                handles.raise()
                waitUntil { goOn.isRaised }
            }
        }
        let holder = Task.detached(executorPreference: OwnThreads.shared, priority: .background) {
            if let limit { await withDeadline(in: limit) { await hold() } } else { await hold() }
        }
        await waitUntil { isHeld.isRaised }
        return holder
    }

    /// A task that waits for the turn on a thread that blocks while it raises the holder.
    private func waitOnOwnThread() -> Task<Void, Never> {
        let queue = queue
        return Task.detached(executorPreference: OwnThreads.shared, priority: .high) {
            await queue.enqueueAndWait {}
        }
    }

    /// Nobody but the one that is raised waits for the end of that.
    @Test func othersGoOnWhileAHandlerOfTheHolderRuns() async throws {
        let handles = Flag(), goOn = Flag()
        let holder = await holdWithHandler(handles, goOn) { await waitUntil { handles.isRaised } }
        let urgent = waitOnOwnThread()
        await waitUntil { handles.isRaised }
        await #expect(throws: OrderedQueueError.timedOut) {
            try await queue.enqueueAndWait(timeout: .milliseconds(1)) { () async throws in }
        }
        queue.enqueue {}
        goOn.raise()
        await urgent.value
        await holder.value
    }

    /// The runtime keeps a task from suspending while its handler runs.
    private func waitOnThisThread(_ condition: () -> Bool) { waitUntil { condition() } }

    /// The task waits for the end of that, whatever the deadline of its request. It stopped the program.
    @Test func aTaskThatIsRaisedGivesTheTurnUpThoughItsDeadlineHasPassed() async throws {
        let handles = Flag(), goOn = Flag(), isOver = Flag()
        let holder = await holdWithHandler(handles, goOn, within: .milliseconds(1)) {
            waitOnThisThread { handles.isRaised && RequestDeadline.hasPassed }
            isOver.raise()
        }
        let urgent = waitOnOwnThread()
        await waitUntil { isOver.isRaised }
        // Whoever gives up too early does so now.
        for _ in 0..<1000 { await Task.yield() }
        goOn.raise()
        await urgent.value
        await holder.value
    }

    /// The memory of a task of `async let` is its parent's, and is used again as soon as it has ended.
    @Test func tasksThatEndWhileTheyAreRaisedAreLetGoFirst() async throws {
        let queue = queue, count = Shared(0)
        let urgent = Task.detached(priority: .high) {
            for _ in 0..<1000 { await queue.enqueueAndWait { count.access { $0 += 1 } } }
        }
        let low = (0..<4).map { number in
            Task.detached(priority: .background) {
                for round in 0..<250 {
                    async let one: Void = queue.enqueueAndWait { await Task.yield() }
                    async let other: Void = queue.enqueueAndWait { count.access { $0 += 1 } }
                    async let timed: Void = queue.enqueueAndWait(timeout: .microseconds(100 * (round % 3))) {
                        () async throws in await Task.yield()
                    }
                    _ = await (one, other)
                    _ = try? await timed
                    if number == 0 { await Task(on: queue) { await Task.yield() }.value }
                }
            }
        }
        await urgent.value
        for task in low { await task.value }
        #expect(count.value == 2000)
        #expect(queue.waitingCount == 0)
    }

    // MARK: - The value

    /// Takes what a step answers. The macro can't take steps, which change the value.
    private func check(_ isRight: Bool, _ what: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(isRight, what, sourceLocation: sourceLocation)
    }

    @Test func theRuleItself() {
        var turn = FIFOTurnPriority()
        let place = OrderedPlace(.own), end = PrioritySemaphore(value: 0)
        (place.task, place.priority) = (30, .low)
        turn.take(10)
        check(turn.wait(at: .low), "nobody knows the priority of a holder that took a free turn")
        check(turn.pinHolder().map { $0 == (10, .low) } == true)
        check(turn.rise(to: .medium))
        check(turn.pinHolder() == nil, "who pins it looks again")
        check(turn.awaitUnpinned(10, end))
        check(turn.unpinHolder() != nil)
        check(!turn.awaitUnpinned(10, end))
        check(turn.pinHolder().map { $0 == (10, .medium) } == true)
        check(turn.unpinHolder() == nil)
        check(!turn.wait(at: .low), "it was raised")
        check(turn.pinHolder() == nil)
        check(turn.rise(to: .high))
        check(!turn.end(), "nobody is pinned")
        check(turn.pinHolder() == nil)
        check(turn.wants(place))
        check(turn.pin(place).map { $0 == (30, .high) } == true)
        check(turn.awaitUnpinned(30, end))
        check(turn.endWait(of: place), "it is pinned")
        check(turn.unpinWaiter() != nil)
        check(!turn.wants(place))
        check(turn.begin(20) == .high)
        check(turn.pinHolder() == nil, "it raises itself")
        check(turn.priority(of: nil) == .high && turn.priority(of: .background) == .high)
        // One that borrowed the turn goes on alone; and one that has passed it on does not.
        check(turn.leave(to: 40, from: 20) == (true, false))
        check(turn.pinHolder().map { $0 == (40, .high) } == true)
        check(turn.leave(to: 50, from: 20) == (false, false))
        check(turn.end(), "it is pinned")
        check(turn.unpinHolder() == nil)
        // One without an address has a handle.
        let task = Task {}, kept = OrderedPlace(.work)
        (kept.handle, kept.priority) = (task, .low)
        check(turn.wants(kept))
        check(turn.pin(kept) == nil)
        check(turn.raise(byHandle: kept).map { $0 == (task, .high) } == true)
        check(!turn.endWait(of: place))
        check(!turn.rise(to: .low) && turn.begin(20).rawValue == TaskPriority.low.rawValue)
        turn = FIFOTurnPriority()
        check(turn.priority(of: nil) == nil && turn.priority(of: .background) == .background)
    }
}
