import Dispatch
import Testing

@testable import SwiftSync

/// What each command gives, and what it gives when it can't happen.
@Suite(.endsInTime)
struct QueueSafeValueTests {
    @Test
    func syncCommandsReadAndWrite() async {
        let value = QueueSafeValue(value: 1)
        #expect(value.wait.lowestPriority.get() == .success(1))
        #expect(value.wait.highestPriority.set(newValue: 2) == .success(2))
        #expect(value.wait.priority(.high).set { $0 += 1 } == .success(3))
        #expect(value.wait.lowestPriority.map { "\($0)" } == .success("3"))
        value.wait.lowestPriority.get { #expect($0 == .success(3)) }
        let updated = value.wait.lowestPriority.set { number, done in
            number = 4
            done()
        }
        #expect(updated == .success(4))
    }

    @Test
    func missingClosures() async {
        let value = QueueSafeValue(value: 1)
        value.wait.lowestPriority.get(completion: nil)
        value.wait.lowestPriority.get(manualCompletion: nil)
        #expect(value.wait.lowestPriority.set(completion: nil) == .success(1))
        #expect(value.wait.lowestPriority.set(manualCompletion: nil) == .success(1))
        let mapping: ((Int) -> Int)? = nil
        #expect(value.wait.lowestPriority.map(completion: mapping) == .failure(.commandClosureDeallocated))
        let results = Shared<[Result<Int, QueueSafeValueError>]>([])
        value.async(performIn: .global()).lowestPriority.set(manualCompletion: nil) { results.append($0) }
        await waitUntil { results.value == [.success(1)] }
    }

    @Test
    func aNestedSyncCommandWouldDeadlock() async {
        let value = QueueSafeValue(value: 1)
        value.wait.lowestPriority.get { _ in
            #expect(value.wait.highestPriority.get() == .failure(.wouldDeadlock))
            #expect(value.wait.highestPriority.set { _ in Issue.record("ran inside") } == .failure(.wouldDeadlock))
            #expect(value.wait(timeout: .zero).highestPriority.map { $0 } == .failure(.wouldDeadlock))
            var failure: Result<Int, QueueSafeValueError>?
            value.wait.lowestPriority.get { failure = $0 }
            #expect(failure == .failure(.wouldDeadlock))
        }
        #expect(value.wait.lowestPriority.get() == .success(1))
    }

    @Test
    func syncClosuresRunOnTheCallerAsyncOnesOnTheirQueueUnderContention() async {
        let value = QueueSafeValue(value: 0), key = DispatchSpecificKey<Int>(), wrong = Shared(0), done = Shared(0)
        let queues = (0..<3).map { number in
            let queue = DispatchQueue(label: "queue \(number)")
            queue.setSpecific(key: key, value: number)
            return queue
        }
        Threads.run(4) { thread in
            for turn in 0..<300 {
                let caller = Threads.current
                value.wait.lowestPriority.set { number in
                    number += 1
                    if Threads.current != caller { wrong.increment() }
                }
                let number = (thread + turn) % 3
                value.async(performIn: queues[number]).highestPriority.set { count in
                    count += 1
                    if DispatchQueue.getSpecific(key: key) != number { wrong.increment() }
                } completion: { _ in
                    if DispatchQueue.getSpecific(key: key) != number { wrong.increment() }
                    done.increment()
                }
            }
        }
        await waitUntil { done.value == 1200 }
        #expect(wrong.value == 0)
        #expect(value.wait.lowestPriority.get() == .success(2400))
    }

    @Test
    func timeoutsAreNeverEarlyAndLeaveTheQueue() async {
        let value = QueueSafeValue(value: 1), release = await hold(value)
        let clock = ContinuousClock(), start = clock.now
        #expect(value.wait(timeout: .milliseconds(2)).highestPriority.get() == .failure(.timedOut))
        #expect(clock.now - start >= .milliseconds(2))
        #expect(value.wait(timeout: .seconds(-1)).lowestPriority.set(newValue: 2) == .failure(.timedOut))
        let suspended = clock.now
        #expect(await value.suspending(timeout: .milliseconds(2)).highestPriority.get() == .failure(.timedOut))
        #expect(clock.now - suspended >= .milliseconds(2))
        let results = Shared<[Result<Int, QueueSafeValueError>]>([])
        value.async(performIn: .global(), timeout: .milliseconds(2)).lowestPriority.get { results.append($0) }
        await waitUntil { results.value == [.failure(.timedOut)] }
        #expect(value.waitingCount == 0)
        release()
        #expect(value.wait(timeout: .seconds(1_000_000_000_000)).lowestPriority.get() == .success(1))
    }

    @Test
    func syncedAndAsyncedValues() async {
        let synced = QueueSafeSyncedValue(value: [1]), asynced = QueueSafeAsyncedValue(value: 7, queue: .global())
        #expect(synced.highestPriority.set { $0.append(2) } == .success([1, 2]))
        #expect(synced.timeout(.zero).lowestPriority.get() == .success([1, 2]))
        #expect(synced.priority(.low).map { $0.count } == .success(2))
        let results = Shared<[Result<Int, QueueSafeValueError>]>([])
        asynced.highestPriority.set(newValue: 8) { results.append($0) }
        await waitUntil { results.value == [.success(8)] }
        asynced.timeout(.seconds(1)).lowestPriority.get { results.append($0) }
        await waitUntil { results.value == [.success(8), .success(8)] }
    }

    @Test
    func everyScheduleAtOnceLosesNothing() async {
        let value = QueueSafeValue(value: 0), completed = Shared(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for turn in 0..<500 {
                        await value.suspending.priority(CommandPriority(rawValue: Int32(turn % 3))).set { $0 += 1 }
                        value.async(performIn: .global()).lowestPriority.set {
                            $0 += 1
                        } completion: { _ in
                            completed.increment()
                        }
                    }
                }
            }
            group.addTask {
                await withUnsafeContinuation { (finished: UnsafeContinuation<Void, Never>) in
                    onThread {
                        Threads.run(3) { _ in for _ in 0..<500 { value.wait.highestPriority.set { $0 += 1 } } }
                        finished.resume()
                    }
                }
            }
        }
        await waitUntil { completed.value == 2000 }
        #expect(value.wait.lowestPriority.get() == .success(5500))
    }
}
