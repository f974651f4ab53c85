import Dispatch
import SwiftSync
import Testing

/// Histories of real threads, each of which must have an order that a sequential object could have gone through.
@Suite struct LinearizabilityTests {
    static let rounds = 300

    @Test func valuesByAllSchedules() {
        for round in 0..<Self.rounds {
            let value = QueueSafeValue(value: 0)
            let found = Histories.of(threads: 3) { (index, own: inout History<NumberModel.Operation>) in
                for turn in 0..<4 {
                    switch (index + turn + round) % 4 {
                    case 0:
                        own.record { .incremented(to: (try? value.wait.lowestPriority.set { $0 += 1 }.get()) ?? -1) }
                    case 1: own.record { .read((try? value.wait.highestPriority.get().get()) ?? -1) }
                    case 2:
                        let new = 1000 * (index + 1) + turn
                        own.record { .replaced(by: (try? value.wait.priority(.high).set(newValue: new).get()) ?? -1) }
                    default:
                        own.record {
                            let done = DispatchSemaphore(value: 0)
                            let result = Shared(-1)
                            value.async(performIn: .global()).highestPriority.set(accessClosure: { $0 += 1 }) {
                                outcome in
                                result.access { $0 = (try? outcome.get()) ?? -1 }
                                done.signal()
                            }
                            done.wait()
                            return .incremented(to: result.value)
                        }
                    }
                }
            }
            #expect(found.isLinearizable(NumberModel()), "\(found)")
        }
    }

    /// Those that wait and those that only try are told apart: what is promised to a thread that waits, nobody else
    /// sees, though that thread takes the best element there is when it runs.
    @Test(arguments: [true, false]) func blockingPriorityQueues(poppersWait: Bool) {
        let priorities: [CommandPriority] = [.low, .high, .normal]
        for round in 0..<Self.rounds {
            let queue = BlockingPriorityQueue<Int>()
            let found = Histories.of(threads: 4) { (index, own: inout History<PriorityQueueModel.Operation>) in
                for turn in 0..<4 {
                    if index >= 2 {
                        own.record { .popped(poppersWait ? queue.pop() : queue.tryPop()) }
                        continue
                    }
                    let number = 10 * index + turn
                    let priority = priorities[(turn + index + round) % 3]
                    own.record {
                        queue.push(number, priority: priority)
                        return .pushed(number, priority)
                    }
                }
            }
            #expect(found.isLinearizable(PriorityQueueModel()), "\(found)")
        }
    }

    @Test func commandQueues() {
        let priorities: [CommandPriority] = [.low, .high, .normal]
        for round in 0..<Self.rounds {
            let queue = CommandQueue()
            let found = Histories.of(threads: 3) { (index, own: inout History<PriorityQueueModel.Operation>) in
                for turn in 0..<4 {
                    let number = 10 * index + turn
                    let priority = priorities[(turn + index + round) % 3]
                    own.record {
                        queue.append(priority: .priority(priority)) {
                            let begun = History<PriorityQueueModel.Operation>.now
                            CommandQueueTurn.current?.began(number, at: begun)
                        }
                        return .pushed(number, priority)
                    }
                }
                CommandQueueTurn.perform(queue, into: &own)
            }
            #expect(found.calls.count == 24)
            #expect(found.isLinearizable(PriorityQueueModel()), "\(found)")
        }
    }

    /// The checker itself must be able to say no.
    @Test func impossibleHistoriesAreFound() {
        var stale = History<NumberModel.Operation>()
        stale.record(.replaced(by: 1), begin: 0, end: 1)
        stale.record(.read(0), begin: 2, end: 3)
        #expect(!stale.isLinearizable(NumberModel()))

        var overlapping = History<NumberModel.Operation>()
        overlapping.record(.replaced(by: 1), begin: 0, end: 3)
        overlapping.record(.read(0), begin: 2, end: 4)
        #expect(overlapping.isLinearizable(NumberModel()))

        var lost = History<NumberModel.Operation>()
        lost.record(.incremented(to: 1), begin: 0, end: 5)
        lost.record(.incremented(to: 1), begin: 1, end: 5)
        #expect(!lost.isLinearizable(NumberModel()))

        var inverted = History<PriorityQueueModel.Operation>()
        inverted.record(.pushed(1, .low), begin: 0, end: 1)
        inverted.record(.pushed(2, .high), begin: 2, end: 3)
        inverted.record(.popped(1), begin: 4, end: 5)
        #expect(!inverted.isLinearizable(PriorityQueueModel()))

        var missed = History<PriorityQueueModel.Operation>()
        missed.record(.pushed(1, .low), begin: 0, end: 1)
        missed.record(.popped(nil), begin: 2, end: 3)
        #expect(!missed.isLinearizable(PriorityQueueModel()))
    }
}

/// What a thread runs while it performs a queue's commands. One leaves the queue after the one before it on the same
/// thread has ended, and before it begins itself.
private final class CommandQueueTurn: Sendable {
    private let history = Shared(History<PriorityQueueModel.Operation>())
    private let last = Shared(UInt64(0))

    @TaskLocal static var current: CommandQueueTurn?

    func began(_ number: Int, at moment: UInt64) {
        let begin = last.value
        history.access { $0.record(.popped(number), begin: begin, end: moment) }
        last.access { $0 = History<PriorityQueueModel.Operation>.now }
    }

    static func perform(_ queue: CommandQueue, into own: inout History<PriorityQueueModel.Operation>) {
        let turn = CommandQueueTurn()
        turn.last.access { $0 = History<PriorityQueueModel.Operation>.now }
        $current.withValue(turn) { queue.perform() }
        own.append(contentsOf: turn.history.value)
    }
}
