import Dispatch
import Glibc
import Testing

@testable import SwiftSync

/// Commands that are performed on one queue or executor begin in order, however busy that is.
@Suite(.endsInTime)
struct QueueSafeValueLaneTests {
    @Test
    func fourSetsOnAQueueThatIsBusyForTenMillisecondsRunInOrder() async {
        for _ in 0..<10 {
            let value = QueueSafeValue(value: [Int]()), queue = DispatchQueue(label: "serial")
            queue.async { usleep(10_000) }
            for number in 1...4 { value.async(performIn: queue).lowestPriority.set { $0.append(number) } }
            await waitUntil {
                value.waitingCount == 0 && queue.sync { true } && value.wait.lowestPriority.get().count == 4
            }
            #expect(value.wait.lowestPriority.get() == .success([1, 2, 3, 4]))
        }
    }

    @Test
    func ofTwoSetsOnTheBusyMainQueueTheSecondOneCounts() async {
        for _ in 0..<20 {
            let value = QueueSafeValue(value: 0), done = Shared(0)
            await MainActor.run {
                for number in 1...2 {
                    value.async(performIn: .main).lowestPriority.set(newValue: number) { _ in done.increment() }
                }
                usleep(3_000)
            }
            await waitUntil { done.value == 2 }
            #expect(value.wait.lowestPriority.get() == .success(2))
        }
    }

    @Test
    func aGetAfterASetOnABusyQueueSeesTheSet() async {
        for _ in 0..<10 {
            let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "serial"), seen = Shared<Int?>(nil)
            queue.async { usleep(5_000) }
            value.async(performIn: queue).lowestPriority.set(newValue: 1)
            value.async(performIn: queue).lowestPriority.get { result in seen.access { $0 = try? result.get() } }
            await waitUntil { seen.value != nil }
            #expect(seen.value == 1)
        }
    }

    @Test
    func aSyncCommandOnMainPassesAGrantedAsyncOne() async {
        let value = QueueSafeValue(value: [String]()), done = Flag()
        await MainActor.run {
            value.async(performIn: .main).highestPriority.set {
                $0.append("async")
            } completion: { _ in
                done.raise()
            }
            #expect(value.wait.lowestPriority.set { $0.append("sync") } == .success(["sync"]))
        }
        await waitUntil { done.isRaised }
        #expect(value.wait.lowestPriority.get() == .success(["sync", "async"]))
    }

    @Test
    func aHigherPriorityThatComesWhileTheQueueIsBusyBeginsFirst() async {
        let value = QueueSafeValue(value: [Int]()), queue = DispatchQueue(label: "serial"),
            go = DispatchSemaphore(value: 0)
        queue.async { go.wait() }
        value.async(performIn: queue).priority(.normal).set { $0.append(1) }
        value.async(performIn: queue).priority(.normal).set { $0.append(2) }
        value.async(performIn: queue).priority(.high).set { $0.append(3) }
        go.signal()
        await waitUntil { value.wait.lowestPriority.get().count == 3 }
        #expect(value.wait.lowestPriority.get() == .success([3, 1, 2]))
    }

    @Test
    func commandsOfABusyQueueTimeOutInTheirTime() async {
        let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "serial"), go = DispatchSemaphore(value: 0)
        let results = Shared([Result<Int, QueueSafeValueError>]())
        queue.async { go.wait() }
        for _ in 0..<2 {
            value.async(performIn: queue, timeout: .milliseconds(20)).lowestPriority.get { results.append($0) }
        }
        // Passes what was granted, which then waits again.
        #expect(value.wait.lowestPriority.get() == .success(0))
        await waitUntil { value.waitingCount == 0 }
        go.signal()
        await waitUntil { results.value.count == 2 }
        #expect(results.value == [.failure(.timedOut), .failure(.timedOut)])
    }

    @Test
    func aCommandRunsOnItsOwnQueueNeverOnAnotherCommands() async {
        let key = DispatchSpecificKey<Int>(), value = QueueSafeValue(value: 0), elsewhere = Shared(0), done = Shared(0)
        let queues = (0..<3).map { number in
            let queue = DispatchQueue(label: "queue \(number)")
            queue.setSpecific(key: key, value: number)
            return queue
        }
        let release = await hold(value), count = 600
        for number in 0..<count {
            let which = number % 7 % 3
            value.async(performIn: queues[which]).lowestPriority.get { _ in
                if DispatchQueue.getSpecific(key: key) != which { elsewhere.increment() }
                done.increment()
            }
        }
        release()
        await waitUntil { done.value == count }
        #expect(elsewhere.value == 0)
    }

    @Test
    func twoObjectsOfOneDispatchQueueAreOneQueue() {
        #expect(QueueIdentity.wrapsAtSecondWord)
        for identity in [QueueIdentity.of, QueueIdentity.byLabel] {
            #expect(identity(.global()) == identity(.global()))
            #expect(identity(.main) == identity(.main))
            #expect(identity(.global()) != identity(.global(qos: .utility)))
            let queue = DispatchQueue(label: "one"), other = DispatchQueue(label: "one")
            withExtendedLifetime(other) { #expect(identity(queue) != identity(other)) }
        }
    }
}

/// The same for many commands, with threads that pass, timeouts and cancellations among them.
@Suite(.endsInTime)
struct QueueSafeValueLaneStressTests {
    fileprivate struct Issue: Sendable {
        let number: Int
        let priority: Int32
    }

    /// Pairs of which the later one began first, although it does not rank higher.
    private func inversions(_ begun: [Issue]) -> Int {
        var count = 0
        for (place, later) in begun.enumerated() {
            count += begun[..<place].count { $0.number > later.number && $0.priority <= later.priority }
        }
        return count
    }

    fileprivate static func makeIssue(_ number: Int, _ seed: Int) -> Issue {
        Issue(number: number, priority: Int32((number &* 7919 &+ seed) % 5 / 2) * 1024)
    }

    /// On a queue that is busy for a while, and with threads that pass.
    private func round(on queue: DispatchQueue, _ seed: Int, commands: Int) async -> Int {
        let value = QueueSafeValue(value: [Issue](), graceMicroseconds: 50), ended = Shared(0)
        queue.async { usleep(200) }
        for number in 0..<commands {
            let issue = Self.makeIssue(number, seed)
            let timeout: TimeLimit = (number + seed) % 10 == 9 ? .microseconds(100) : .never
            value.async(performIn: queue, timeout: timeout).priority(.init(rawValue: issue.priority)).set {
                $0.append(issue)
            } completion: { _ in
                ended.increment()
            }
            if number % 16 == 8 { _ = value.wait(timeout: .microseconds(100)).lowestPriority.map { $0.count } }
        }
        await waitUntil { ended.value == commands }
        return inversions((try? value.wait.lowestPriority.get().get()) ?? [])
    }

    fileprivate protocol Place: Actor {
        var issued: Int { get set }
    }

    private actor DefaultPlace: Place {
        var issued = 0
    }

    private actor PlaceOnAQueue: Place {
        private let queue = WorkQueue(name: "place")
        var issued = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
    }

    private func roundOnActor(_ place: some Place, _ seed: Int, commands: Int) async -> Int {
        let value = QueueSafeValue(value: [Issue](), graceMicroseconds: 50)
        let priorities: [TaskPriority] = [.low, .medium, .high]
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<commands {
                group.addTask {
                    let timeout: TimeLimit = (number + seed) % 10 == 9 ? .microseconds(100) : .never
                    let task = Task(priority: priorities[number % 3]) {
                        await place.command(value, seed, timeout: timeout)
                    }
                    if (number + seed) % 10 == 4 { task.cancel() }
                    if number % 16 == 8 { _ = value.wait(timeout: .microseconds(100)).lowestPriority.map { $0.count } }
                    await task.value
                }
            }
        }
        return inversions((try? value.wait.lowestPriority.get().get()) ?? [])
    }

    /// SWIFTSYNC_LANE_ROUNDS makes it longer.
    @Test
    func noCommandOvertakesAnotherOfItsQueue() async {
        let rounds = getenv("SWIFTSYNC_LANE_ROUNDS").flatMap { Int(String(cString: $0)) } ?? 100
        let serial = DispatchQueue(label: "serial")
        var found = [0, 0, 0, 0, 0]
        for seed in 0..<rounds {
            found[0] += await round(on: serial, seed, commands: 100)
            found[1] += await round(on: .main, seed, commands: 100)
            found[2] += await round(on: .global(), seed, commands: 100)
            found[3] += await roundOnActor(DefaultPlace(), seed, commands: 100)
            found[4] += await roundOnActor(PlaceOnAQueue(), seed, commands: 100)
        }
        #expect(found == [0, 0, 0, 0, 0])
    }
}

extension QueueSafeValueLaneStressTests.Place {
    fileprivate func command(
        _ value: QueueSafeValue<[QueueSafeValueLaneStressTests.Issue]>, _ seed: Int, timeout: TimeLimit
    ) async {
        let issue = QueueSafeValueLaneStressTests.makeIssue(issued, seed)
        issued += 1
        await value.suspending(timeout: timeout).priority(.init(rawValue: issue.priority)).set { $0.append(issue) }
    }
}

extension Result where Success: Collection {
    fileprivate var count: Int { (try? get().count) ?? -1 }
}
