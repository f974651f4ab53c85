import SwiftSync
import Testing

/// The types that are read more than written, by the same checker.
@Suite struct ReadMostlyLinearizabilityTests {
    static let rounds = 300

    /// Reads, blocking and enqueued writes. An enqueued write counts from its call until a later blocking call of its
    /// thread has returned.
    @Test func coordinators() {
        for round in 0..<Self.rounds {
            let coordinator = ReadWriteCoordinator()
            nonisolated(unsafe) var number = 0
            let found = Histories.of(threads: 3) { (index, own: inout History<NumberModel.Operation>) in
                for turn in 0..<4 {
                    switch (index + turn + round) % 3 {
                    case 0: own.record { .read(coordinator.read { number }) }
                    case 1:
                        own.record {
                            .incremented(
                                to: coordinator.blockingWrite {
                                    number += 1
                                    return number
                                })
                        }
                    default:
                        let new = 1000 * (index + 1) + turn, begin = History<NumberModel.Operation>.now
                        coordinator.enqueueWrite { number = new }
                        // What this thread reads next comes after its write.
                        let seen = coordinator.read { number }, end = History<NumberModel.Operation>.now
                        own.record(.replaced(by: new), begin: begin, end: end)
                        own.record(.read(seen), begin: begin, end: end)
                    }
                }
            }
            #expect(found.isLinearizable(NumberModel()), "\(found)")
        }
    }

    @Test(arguments: [false, true]) func readWriteLocks(readerBias: Bool) {
        for round in 0..<Self.rounds {
            let lock = ReadWriteLock(0, readerBias: readerBias)
            let found = Histories.of(threads: 3) { (index, own: inout History<NumberModel.Operation>) in
                for turn in 0..<5 {
                    switch (index + turn + round) % 4 {
                    case 0, 1: own.record { .read(lock.withReadLock { $0 }) }
                    case 2:
                        own.record {
                            .incremented(
                                to: lock.withWriteLock {
                                    $0 += 1
                                    return $0
                                })
                        }
                    default:
                        let new = 1000 * (index + 1) + turn
                        own.record {
                            lock.withWriteLock { $0 = new }
                            return .replaced(by: new)
                        }
                    }
                }
            }
            #expect(found.isLinearizable(NumberModel()), "\(found)")
        }
    }

    @Test func snapshots() {
        for round in 0..<Self.rounds {
            let snapshot = Snapshot(0)
            let found = Histories.of(threads: 3) { (index, own: inout History<NumberModel.Operation>) in
                for turn in 0..<5 {
                    switch (index + turn + round) % 4 {
                    case 0, 1: own.record { .read(snapshot.read { $0 }) }
                    case 2:
                        own.record {
                            .incremented(
                                to: snapshot.update {
                                    $0 += 1
                                    return $0
                                })
                        }
                    default:
                        let new = 1000 * (index + 1) + turn
                        own.record {
                            snapshot.store(new)
                            return .replaced(by: new)
                        }
                    }
                }
            }
            #expect(found.isLinearizable(NumberModel()), "\(found)")
        }
    }

    /// One key of a dictionary that grows meanwhile; each key is an object of its own.
    @Test func dictionaries() {
        for round in 0..<Self.rounds {
            let dictionary = SnapshotDictionary<Int, Int>()
            let found = Histories.of(threads: 3) { (index, own: inout History<SlotModel.Operation>) in
                for turn in 0..<5 {
                    dictionary.updateValue(0, forKey: 1000 * index + turn + 1)
                    let new = 100 * index + turn
                    switch (index + turn + round) % 4 {
                    case 0, 1: own.record { .read(dictionary[0]) }
                    case 2: own.record { .replaced(dictionary.updateValue(new, forKey: 0), by: new) }
                    default: own.record { .replaced(dictionary.removeValue(forKey: 0), by: nil) }
                    }
                }
            }
            #expect(found.isLinearizable(SlotModel()), "\(found)")
        }
    }

    /// The checker's own test: a read of what was replaced before it began, and a value that two threads removed.
    @Test func wrongHistoriesAreFound() {
        var stale = History<SlotModel.Operation>()
        stale.record(.replaced(nil, by: 1), begin: 0, end: 1)
        stale.record(.replaced(1, by: 2), begin: 2, end: 3)
        stale.record(.read(1), begin: 4, end: 5)
        #expect(!stale.isLinearizable(SlotModel()))
        var twice = History<SlotModel.Operation>()
        twice.record(.replaced(nil, by: 1), begin: 0, end: 1)
        twice.record(.replaced(1, by: nil), begin: 2, end: 5)
        twice.record(.replaced(1, by: nil), begin: 3, end: 4)
        #expect(!twice.isLinearizable(SlotModel()))
    }
}

/// A place that may be empty.
private struct SlotModel: SequentialModel {
    enum Operation: Sendable {
        case read(Int?)
        /// The former content, and the new one.
        case replaced(Int?, by: Int?)
    }

    var content: Int?

    mutating func perform(_ operation: Operation) -> Bool {
        switch operation {
        case .read(let found): return found == content
        case .replaced(let former, let new):
            guard former == content else { return false }
            content = new
            return true
        }
    }
}
