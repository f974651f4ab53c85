import Dispatch
import Testing

@testable import SwiftSync

/// A lane of commands: how long it lasts, where its failures are told, and what it leaves to others.
@Suite(.endsInTime)
struct CommandLaneTests {
    @Test func aLaneEndsWithItsCommandsAndKeepsNothing() async {
        weak var box: ValueBox<Int>?
        do {
            let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "lane"), ended = Shared(0)
            box = value.wait.lowestPriority.box
            for _ in 0..<10 {
                value.async(performIn: queue).lowestPriority.set {
                    $0 += 1
                } completion: { _ in
                    ended.increment()
                }
            }
            _ = await value.suspending.lowestPriority.get()
            await waitUntil { ended.value == 10 }
        }
        await waitUntil("a lane is left, which keeps the value's memory") { box == nil }
    }

    /// The lanes of many queues, one after the other and at once: each command runs on its own queue.
    @Test func aLaneThatNobodyUsesBecomesThatOfAnotherQueue() async {
        let key = DispatchSpecificKey<Int>(), value = QueueSafeValue(value: 0), wrong = Shared(0), ended = Shared(0)
        for round in 0..<40 {
            let queues = (0..<10).map { index in
                let queue = DispatchQueue(label: "lane \(round) \(index)")
                queue.setSpecific(key: key, value: index)
                return queue
            }
            for (index, queue) in queues.enumerated() {
                value.async(performIn: queue).priority(.normal).set {
                    $0 += 1
                    if DispatchQueue.getSpecific(key: key) != index { wrong.increment() }
                } completion: { _ in
                    if DispatchQueue.getSpecific(key: key) != index { wrong.increment() }
                    ended.increment()
                }
            }
            _ = await value.suspending.get()
            if round % 4 == 0 { await waitUntil { ended.value == (round + 1) * 10 } }
        }
        await waitUntil { ended.value == 400 }
        #expect(wrong.value == 0)
        #expect(value.wait.lowestPriority.get() == .success(400))
    }

    @Test func aCommandThatIsRefusedIsReleased() async {
        let queue = DispatchQueue(label: "lane"), alive = Shared(0), refusals = Shared(0)
        do {
            let value = QueueSafeValue(value: 0), commands = value.async(performIn: queue).lowestPriority
            _ = consume value
            for _ in 0..<10 {
                let tracked = Tracked(alive)
                commands.set { _ in
                    withExtendedLifetime(tracked) {}
                } completion: { result in
                    if result == .failure(.valueContainerDeinited) { refusals.increment() }
                }
            }
        }
        await waitUntil { refusals.value == 10 }
        await waitUntil("a refused command is kept") { alive.value == 0 }
    }

    @Test func aSuspendingCommandThatIsRefusedKeepsNothing() async {
        weak var box: ValueBox<Int>?
        do {
            let value = QueueSafeValue(value: 0), commands = value.suspending
            box = value.wait.lowestPriority.box
            _ = consume value
            #expect(await commands.get() == .failure(.valueContainerDeinited))
        }
        await waitUntil("a refused command keeps the value's memory") { box == nil }
    }

    /// Commands that wait keep neither the owner nor, without a timeout, the memory of their value: who closes it does.
    @Test func commandsOfAValueThatGoesAreAllPerformedAndItsMemoryGoes() async {
        let queues = [DispatchQueue(label: "lane"), DispatchQueue(label: "another"), .global()]
        for round in 0..<100 {
            weak var box: ValueBox<Int>?
            let succeeded = Shared(0), failed = Shared(0)
            do {
                let value = QueueSafeValue(value: 0)
                box = value.wait.lowestPriority.box
                for index in 0..<12 {
                    let timeout: TimeLimit = index % 4 == 3 ? .microseconds(round) : .never
                    value.async(performIn: queues[index % 3], timeout: timeout).priority(.normal).set {
                        $0 += 1
                    } completion: { result in
                        if case .success = result { succeeded.increment() } else { failed.increment() }
                    }
                }
            }
            await waitUntil { succeeded.value + failed.value == 12 }
            #expect(succeeded.value >= 9)
            await waitUntil("a command that has ended keeps its value's memory") { box == nil }
        }
    }

    @Test func aFailureIsToldOnTheQueueOfItsCommand() async {
        let key = DispatchSpecificKey<Int>(), queue = DispatchQueue(label: "lane"), onQueue = Shared([Bool]())
        queue.setSpecific(key: key, value: 1)
        let value = QueueSafeValue(value: 0), letGo = await hold(value)
        value.async(performIn: queue, timeout: .milliseconds(1)).lowestPriority.get { result in
            #expect(result == .failure(.timedOut))
            onQueue.append(DispatchQueue.getSpecific(key: key) == 1)
        }
        await waitUntil { onQueue.value.count == 1 }
        letGo()
        let commands = QueueSafeValue(value: 0).async(performIn: queue).lowestPriority
        commands.get { result in
            #expect(result == .failure(.valueContainerDeinited))
            onQueue.append(DispatchQueue.getSpecific(key: key) == 1)
        }
        await waitUntil { onQueue.value.count == 2 }
        #expect(onQueue.value == [true, true])
    }

    @Test func manyCommandsLetOtherBlocksOfTheirQueueRunInBetween() async {
        let value = QueueSafeValue(value: 0), queue = DispatchQueue(label: "lane"), seen = Shared<Int?>(nil),
            ended = Shared(0)
        let inside = Flag(), leave = Semaphore()
        value.async(performIn: queue).lowestPriority.set { _ in
            inside.raise()
            leave.wait()
        }
        await waitUntil { inside.isRaised }
        for _ in 0..<200 {
            value.async(performIn: queue).lowestPriority.set {
                $0 += 1
            } completion: { _ in
                ended.increment()
            }
        }
        queue.async { seen.access { $0 = ended.value } }
        leave.signal()
        await waitUntil { ended.value == 200 }
        queue.sync {}
        #expect((0..<200).contains(seen.value ?? 200))
    }
}
