import Dispatch
import Synchronization
import Testing

@testable import SwiftSync

/// Promises of ``QueueSafeValue`` about timeouts, queues, and what a section may contain.
@Suite(.endsInTime)
struct QueueSafeValuePromiseTests {
    typealias Outcome = Result<Int, QueueSafeValueError>

    // MARK: - Timeouts

    @Test func aTimeoutHoldsForThreadsWhateverPriorityIsNamed() async {
        let value = QueueSafeValue(value: 0), release = await hold(value), outcomes = Shared<[Outcome]>([])
        let schedule = value.wait(timeout: .milliseconds(1))
        let commands = [
            schedule.lowestPriority, schedule.highestPriority, schedule.priority(.high), schedule.priority(.lowest),
        ]
        let thread = Thread {
            for command in commands { outcomes.append(command.get()) }
        }
        await waitUntil { outcomes.value.count == commands.count }
        #expect(outcomes.value == commands.map { _ in .failure(.timedOut) })
        release()
        thread.join()
    }

    @Test func aTimeoutOfASyncedValueHoldsWhateverPriorityIsNamed() async {
        let value = QueueSafeSyncedValue(value: 0), outcomes = Shared<[Outcome]>([]),
            completion = Shared<CommandCompletionClosure?>(nil)
        onThread { value.highestPriority.get { _, done in completion.access { $0 = done } } }
        await waitUntil { completion.value != nil }
        let schedule = value.timeout(.milliseconds(1))
        let commands = [schedule.lowestPriority, schedule.highestPriority, schedule.priority(.normal)]
        let thread = Thread {
            for command in commands { outcomes.append(command.get()) }
        }
        await waitUntil { outcomes.value.count == commands.count }
        #expect(outcomes.value == commands.map { _ in .failure(.timedOut) })
        completion.access { $0.take() }?()
        thread.join()
    }

    @Test func aTimeoutHoldsForCommandsOfAQueueWhateverPriorityIsNamed() async {
        let value = QueueSafeValue(value: 0), release = await hold(value), outcomes = Shared<[Outcome]>([])
        for schedule in [
            value.async(performIn: .global(), timeout: .milliseconds(1)),
            value.async(performIn: .utility, timeout: .milliseconds(1)),
        ] {
            for commands in [schedule.lowestPriority, schedule.highestPriority, schedule.priority(.high)] {
                commands.get { outcomes.append($0) }
                commands.set(newValue: 1) { outcomes.append($0) }
            }
        }
        await waitUntil { outcomes.value.count == 12 }
        #expect(outcomes.value == Array(repeating: .failure(.timedOut), count: 12))
        release()
    }

    @Test func aTimeoutOfAnAsyncedValueHoldsWhateverPriorityIsNamed() async {
        let value = QueueSafeAsyncedValue(value: 0, queue: .global()), outcomes = Shared<[Outcome]>([])
        let completion = Shared<CommandCompletionClosure?>(nil)
        value.highestPriority.get { _, done in completion.access { $0 = done } }
        await waitUntil { completion.value != nil }
        let schedule = value.timeout(.milliseconds(1))
        for commands in [schedule.lowestPriority, schedule.highestPriority, schedule.priority(.low)] {
            commands.get { outcomes.append($0) }
        }
        await waitUntil { outcomes.value.count == 3 }
        #expect(outcomes.value == Array(repeating: .failure(.timedOut), count: 3))
        completion.access { $0.take() }?()
    }

    @Test func aTimeoutHoldsForTasksWhateverPriorityIsNamed() async {
        let value = QueueSafeValue(value: 0), release = await hold(value), outcomes = Shared<[Outcome]>([])
        let commands = value.suspending(timeout: .milliseconds(1))
        let task = Task {
            for command in [commands, commands.lowestPriority, commands.highestPriority, commands.priority(.high)] {
                outcomes.append(await command.get())
            }
        }
        await waitUntil { outcomes.value.count == 4 }
        #expect(outcomes.value == Array(repeating: .failure(.timedOut), count: 4))
        release()
        await task.value
    }

    // MARK: - Queues

    @Test func eachCommandRunsOnItsOwnQueueThoughAnotherQueuesLeftBeforeIt() async {
        let key = DispatchSpecificKey<Int>(), value = QueueSafeValue(value: 0), release = await hold(value),
            seen = Shared<[Bool]>([])
        let queues = (0..<3).map { number in
            let queue = DispatchQueue(label: "queue \(number)")
            queue.setSpecific(key: key, value: number)
            return queue
        }
        for round in 0..<60 {
            let number = round % 3, commands = value.async(performIn: queues[number]).lowestPriority
            if round % 2 == 0 {
                commands.get { _ in seen.append(DispatchQueue.getSpecific(key: key) == number) }
            } else {
                commands.set(accessClosure: { $0 += DispatchQueue.getSpecific(key: key) == number ? 1 : 0 }) { _ in
                    seen.append(DispatchQueue.getSpecific(key: key) == number)
                }
            }
        }
        release()
        await waitUntil { seen.value.count == 60 }
        #expect(!seen.value.contains(false))
        #expect(value.wait.highestPriority.get() == .success(30))
    }

    // MARK: - What a section contains

    /// Issues a command at its end, which tells whether that came inside of a section of the same value.
    private final class Looker: Sendable {
        private let look: @Sendable () -> Void
        init(_ look: @escaping @Sendable () -> Void) { self.look = look }
        deinit { look() }
    }

    @Test func anOldValueIsReleasedOutsideOfTheSectionThatReplacedIt() async {
        let value = QueueSafeValue<Looker?>(value: nil), seen = Shared<[Result<Int, QueueSafeValueError>]>([])
        // The commands, not the value: it would keep itself.
        let commands = value.wait(timeout: .seconds(3600)).highestPriority
        let look: @Sendable () -> Void = { seen.append(commands.map { _ in 1 }) }

        await value.suspending.set(newValue: Looker(look))
        await value.suspending.set(newValue: nil)
        await waitUntil { seen.value.count == 1 }
        await value.suspending.set(newValue: Looker(look))
        value.wait.lowestPriority.set(newValue: nil)
        await waitUntil { seen.value.count == 2 }
        await value.suspending.set(newValue: Looker(look))
        value.async(performIn: .global()).lowestPriority.set(newValue: nil)
        await waitUntil { seen.value.count == 3 }
        #expect(seen.value == Array(repeating: .success(1), count: 3))
    }

    // MARK: - Lost grants

    /// Keeps the jobs that come while it is closed.
    private final class Closable: TaskExecutor {
        private let state = Shared((isOpen: true, jobs: [UnownedJob]()))

        func close() { state.access { $0.isOpen = false } }

        func open() {
            let jobs = state.access { state in
                state.isOpen = true
                defer { state.jobs = [] }
                return state.jobs
            }
            jobs.forEach(run)
        }

        var count: Int { state.value.jobs.count }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            let isOpen = state.access { state in
                if !state.isOpen { state.jobs.append(job) }
                return state.isOpen
            }
            if isOpen { run(job) }
        }

        private func run(_ job: UnownedJob) {
            onThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test func aTaskThatIsCancelledAfterItLostItsGrantKeepsTheValueFromNobody() async {
        let alive = Shared(), executor = Closable()
        do {
            let value = QueueSafeValue(value: Tracked(alive)), release = await hold(value)
            let commands = value.suspending.highestPriority
            let task = Task(executorPreference: executor) { await commands.map { _ in 1 } }
            await waitUntil { value.waitingCount == 1 }
            executor.close()
            let passed = Flag(), other = value.wait.lowestPriority
            onThread {
                other.get { _ in }
                passed.raise()
            }
            await waitUntil { value.waitingCount == 2 }
            release()
            // The task has the grant, and no thread: the other one passes.
            await waitUntil { passed.isRaised && executor.count > 0 }
            task.cancel()
            executor.open()
            #expect(await task.value == .failure(.cancelled))
        }
        // The value ends with its owner once nobody has lost a grant that he might still want.
        await waitUntil { alive.value == 0 }
    }
}

extension HandlerSettingTests {
    @Suite(.endsInTime)
    struct ManualCompletionPromiseTests {
        /// Spins for a moment, since what is waited for comes at once where there are two processors.
        private func spin(until condition: () -> Bool) {
            for _ in 0..<2000 where condition() { return }
            waitUntil(nil, condition)
        }

        @Test func ofTwoThreadsThatCallDoneAtOnceOneCounts() {
            let rounds = 5_000, completed = Atomic(0), round = Atomic(0), ready = Atomic(0), called = Atomic(0)
            let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "done"),
                slot = Shared<CommandCompletionClosure?>(nil)
            // The second calls are reported.
            SyncDiagnostics.setHandler { _ in }
            defer { SyncDiagnostics.setHandler(nil) }
            let callers = (0..<2).map { _ in
                Thread {
                    for current in 1...rounds {
                        spin { round.load(ordering: .acquiring) == current }
                        let done = slot.value
                        ready.add(1, ordering: .acquiringAndReleasing)
                        spin { ready.load(ordering: .acquiring) == 2 * current }
                        done?()
                        called.add(1, ordering: .acquiringAndReleasing)
                    }
                }
            }
            for current in 1...rounds {
                value.async(performIn: queue).lowestPriority.set { _, done in
                    slot.access { $0 = done }
                } completion: { _ in
                    completed.add(1, ordering: .relaxed)
                }
                spin { slot.value != nil }
                round.store(current, ordering: .releasing)
                spin { called.load(ordering: .acquiring) == 2 * current }
                slot.access { $0 = nil }
            }
            callers.forEach { $0.join() }
            // What the last round left in the queue, twice: a completion may be queued by a block of it.
            for _ in 0..<2 { queue.sync {} }
            #expect(value.wait.lowestPriority.get() == .success(0))
            #expect(completed.load(ordering: .relaxed) == rounds)
        }
    }
}
