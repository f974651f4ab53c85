import Dispatch
import Testing

@testable import SwiftSync

/// What suspending commands take from the task that calls: its priority and its actor.
@Suite(.endsInTime)
struct QueueSafeValueTaskTests {
    /// Starts a task of the given priority, and returns once its command waits.
    private func start(
        _ priority: TaskPriority, on value: QueueSafeValue<Int>, _ command: @escaping @Sendable () async -> Void
    ) async {
        let waiting = value.waitingCount
        Task.detached(priority: priority) { await command() }
        await waitUntil { value.waitingCount == waiting + 1 }
    }

    @Test
    func withoutANamedPriorityTasksWaitAtTheirOwn() async {
        let value = QueueSafeValue(value: 0, graceMicroseconds: 2_000_000_000), release = await hold(value)
        let entered = Shared<[String]>([])
        await start(.background, on: value) { await value.suspending.set { _ in entered.append("background") } }
        await start(.low, on: value) { await value.suspending.get { _ in entered.append("low") } }
        await start(.medium, on: value) {
            await value.suspending(timeout: .seconds(3600)).get { _, done in
                entered.append("medium")
                done()
            }
        }
        await start(.high, on: value) { _ = await value.suspending.map { _ in entered.append("high") } }
        await start(.medium, on: value) { await value.suspending.set { _ in entered.append("second medium") } }
        release()
        await waitUntil { entered.value.count == 5 }
        #expect(entered.value == ["high", "medium", "second medium", "low", "background"])
    }

    @Test
    func aGetOfALowTaskSeesTheSetOfALaterHighOne() async {
        let value = QueueSafeValue(value: 0, graceMicroseconds: 2_000_000_000), release = await hold(value)
        let seen = Shared<Result<Int, QueueSafeValueError>?>(nil)
        await start(.low, on: value) {
            let result = await value.suspending.get()
            seen.access { $0 = result }
        }
        await start(.high, on: value) { await value.suspending.set(newValue: 1) }
        release()
        await waitUntil { seen.value != nil }
        #expect(seen.value == .success(1))
    }

    @Test
    func aNamedPriorityCountsInsteadOfTheTasks() async {
        let value = QueueSafeValue(value: 0, graceMicroseconds: 2_000_000_000), release = await hold(value)
        let entered = Shared<[String]>([])
        await start(.high, on: value) { await value.suspending.priority(.low).set { _ in entered.append("low") } }
        await start(.medium, on: value) { await value.suspending.set { _ in entered.append("the task's") } }
        await start(.background, on: value) {
            await value.suspending.priority(.high).set { _ in entered.append("high") }
        }
        release()
        await waitUntil { entered.value.count == 3 }
        #expect(entered.value == ["high", "the task's", "low"])
    }

    /// Says whether code runs on the main queue, which is the main actor's executor.
    private static let mainKey = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    private nonisolated var isOnMain: Bool { DispatchQueue.getSpecific(key: Self.mainKey) == true }

    @MainActor private final class Model {
        var changes = 0
    }

    @Test @MainActor
    func suspendingCommandsFromTheMainActorRunThereAndReturnThere() async {
        #expect(isOnMain)
        for contended in [false, true] {
            let value = QueueSafeValue(value: 0), model = Model()
            let release = contended ? await hold(value) : {}
            let task = Task { @MainActor in
                await value.suspending.set {
                    #expect(isOnMain)
                    model.changes += 1
                    $0 += 1
                }
                #expect(isOnMain)
                await value.suspending.highestPriority.get { _ in
                    #expect(isOnMain)
                    model.changes += 1
                }
                #expect(isOnMain)
                await value.suspending.set { number, done in
                    #expect(isOnMain)
                    model.changes += 1
                    number += 1
                    // From elsewhere: the task comes back all the same.
                    DispatchQueue.global().async(execute: done)
                }
                #expect(isOnMain)
                #expect(await value.suspending.map { $0 + model.changes } == .success(5))
                #expect(isOnMain)
            }
            if contended { await waitUntil { value.waitingCount == 1 } }
            #expect(model.changes == 0 || !contended)
            release()
            await task.value
            #expect(model.changes == 3)
        }
    }

    @Test @MainActor
    func aFailedCommandReturnsToTheMainActorToo() async {
        let value = QueueSafeValue(value: 0), release = await hold(value)
        await value.suspending(timeout: .milliseconds(1)).lowestPriority.get {
            #expect($0 == .failure(.timedOut))
            #expect(isOnMain)
        }
        #expect(isOnMain)
        release()
    }

    private actor Account {
        var touched = 0

        func update(_ value: QueueSafeValue<Int>) async {
            await value.suspending.set {
                self.assertIsolated()
                $0 += 1
                self.touched += 1
            }
        }

        /// Keeps the actor busy while `release` lets others go on, and for so long that they do if they don't need the
        /// actor.
        func beBusy(while release: @Sendable () -> Void) {
            release()
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(1) {}
        }
    }

    /// A command that had waited was made the holder off its actor, and came back to the busy actor on another thread,
    /// which could not leave: the value stayed held for ever.
    @Test
    func aCommandOfABusyActorLeavesOnTheThreadOnWhichItEntered() async {
        let account = Account()
        for round in 1...50 {
            let value = QueueSafeValue(value: 0), release = await hold(value)
            let task = Task.detached { await account.update(value) }
            await waitUntil { value.waitingCount == 1 }
            await account.beBusy(while: release)
            await task.value
            #expect(await account.touched == round)
            #expect(value.wait(timeout: .zero).lowestPriority.get() == .success(1))
        }
    }

    @Test @MainActor
    func commandsOfTheBusyMainActorLeaveToo() async {
        let values = (0..<200).map { _ in QueueSafeValue(value: 0) }
        let tasks = (0..<6).map { _ in
            Task { @MainActor in
                for value in values { await value.suspending.set { $0 += 1 } }
            }
        }
        for task in tasks { await task.value }
        #expect(values.allSatisfy { $0.wait(timeout: .zero).lowestPriority.get() == .success(6) })
    }

    @Test
    func suspendingCommandsFromElsewhereDoNotRunOnTheMainActor() async {
        let value = QueueSafeValue(value: 0)
        await value.suspending.set { _ in #expect(!isOnMain) }
        #expect(!isOnMain)
    }

    @Test @MainActor
    func aMainActorClassMayBeTheValue() async {
        let value = QueueSafeValue(value: Model()), finished = Flag()
        value.wait.lowestPriority.get { if case .success(let model) = $0 { model.changes += 1 } }
        value.wait.highestPriority.set { model in
            model.changes += 1
            model = Model()
        }
        await value.suspending.set { $0.changes += 1 }
        value.async(performIn: .main).lowestPriority.set { model in
            let model = model
            MainActor.assumeIsolated { model.changes += 1 }
        } completion: { _ in
            finished.raise()
        }
        await waitUntil { finished.isRaised }
        #expect(value.wait.lowestPriority.map { $0.changes } == .success(2))
        #expect(await value.suspending.map { $0.changes } == .success(2))
    }

    @Test @MainActor
    func asyncCommandsFromTheMainActorRunOnTheirQueue() async {
        let value = QueueSafeValue(value: [Bool]()), finished = Shared(0), key = Self.mainKey
        for queue in [DispatchQueue.main, .global()] {
            value.async(performIn: queue).lowestPriority.set {
                $0.append(DispatchQueue.getSpecific(key: key) == true)
            } completion: { _ in
                finished.increment()
            }
            await waitUntil { finished.value == 1 }
            finished.access { $0 = 0 }
        }
        #expect(value.wait.lowestPriority.get() == .success([true, false]))
    }
}
