import Testing

@testable import SwiftSync

/// A reader that goes on as the writer.
@Suite(.endsInTime)
struct ReadWriteLockUpgradeTests {
    private enum Failure: Error { case expected }

    @Test(arguments: LockKind.all)
    func theReaderWritesAndReadsOn(kind: LockKind) throws {
        let lock = kind.lock([1: "one"])
        for key in [1, 2, 2] {
            let name: String = try lock.withUpgradableReadLock { names, upgrade in
                if let known = names[key] { return known }
                let loaded = try upgrade {
                    $0[key] = "made"; return $0[key]!
                }
                // It reads on: others read too, nobody writes.
                Threads.run(1) { _ in
                    #expect(lock.withReadLockIfAvailable { $0[key] } == "made")
                    #expect(lock.withWriteLockIfAvailable { _ in mustNotRun() } == nil)
                }
                return loaded
            }
            #expect(name == (key == 1 ? "one" : "made"))
        }
        Threads.run(1) { _ in #expect(lock.withWriteLockIfAvailable { $0.count } == 2) }
    }

    @Test(arguments: LockKind.all)
    func whatWasReadIsStillTrue(kind: LockKind) {
        let lock = kind.lock(0), refused = Shared(0), rounds = 400
        Threads.run(4) { _ in
            var left = rounds
            while left > 0 {
                do {
                    try lock.withUpgradableReadLock { value, upgrade in
                        let seen = value
                        try upgrade {
                            #expect($0 == seen)
                            $0 += 1
                        }
                    }
                    left -= 1
                } catch {
                    #expect(error as? ReadWriteError == .wouldDeadlock)
                    refused.increment()
                    lock.withReadLock { _ in }
                }
            }
        }
        #expect(lock.withReadLock { $0 } == 4 * rounds)
    }

    @Test(arguments: LockKind.all)
    func ofTwoThatUpgradeOneIsRefusedAndTheOtherGoesOn(kind: LockKind) {
        let lock = kind.lock(0), first = Flag(), inside = Flag()
        let waiting = Thread {
            #expect(throws: Never.self) {
                try lock.withUpgradableReadLock { _, upgrade in
                    first.raise()
                    waitUntil { inside.isRaised }
                    try upgrade { $0 += 1 }
                }
            }
        }
        waitUntil { first.isRaised }
        let refused = Thread {
            let error = #expect(throws: ReadWriteError.self) {
                try lock.withUpgradableReadLock { value, upgrade in
                    #expect(value == 0)
                    inside.raise()
                    waitUntilNewcomersWait(lock)
                    try upgrade { _ in mustNotRun() }
                }
            }
            #expect(error == .wouldDeadlock)
        }
        refused.join()
        waiting.join()
        #expect(lock.withReadLock { $0 } == 1)
    }

    @Test(arguments: LockKind.all)
    func aTimeoutLeavesTheReaderAReader(kind: LockKind) throws {
        let lock = kind.lock(0), leave = Flag(), inside = Flag(), clock = ContinuousClock()
        let other = Thread {
            lock.withReadLock { _ in
                inside.raise()
                waitUntil { leave.isRaised }
            }
        }
        waitUntil { inside.isRaised }
        try lock.withUpgradableReadLock { value, upgrade in
            for span in [Duration.milliseconds(2), .zero, .seconds(-1)] {
                let start = clock.now
                #expect(throws: ReadWriteError.timedOut) { try upgrade(timeout: .after(span)) { _ in mustNotRun() } }
                #expect(clock.now - start >= span)
                Threads.run(1) { _ in
                    #expect(lock.withReadLock { $0 } == 0)
                    #expect(lock.withWriteLockIfAvailable { _ in mustNotRun() } == nil)
                }
            }
            leave.raise()
            other.join()
            let
                first = try upgrade(timeout: .seconds(50)) {
                    $0 += 1; return $0
                },
                second = try upgrade(timeout: .zero) {
                    $0 += 1; return $0
                }
            #expect(first == 1 && second == 2)
        }
        Threads.run(1) { _ in #expect(lock.withWriteLockIfAvailable { $0 } == 2) }
    }

    @Test(arguments: LockKind.all)
    func aThrowInsideTheUpgradeLeavesTheReaderAReader(kind: LockKind) throws {
        let lock = kind.lock(0)
        try lock.withUpgradableReadLock { _, upgrade in
            for _ in 0..<3 {
                #expect(throws: Failure.expected) {
                    try upgrade {
                        $0 += 1
                        throw Failure.expected
                    }
                }
                Threads.run(1) { _ in #expect(lock.withReadLockIfAvailable { _ in } != nil) }
            }
        }
        Threads.run(1) { _ in #expect(lock.withWriteLockIfAvailable { $0 } == 3) }
    }

    @Test(arguments: LockKind.all)
    func aReaderOfSeveralLevelsIsRefused(kind: LockKind) throws {
        let lock = kind.lock(0)
        try lock.withReadLock { _ in
            try lock.withUpgradableReadLock { _, upgrade in
                #expect(throws: ReadWriteError.wouldDeadlock) { try upgrade { _ in mustNotRun() } }
                #expect(throws: ReadWriteError.wouldDeadlock) { try upgrade(timeout: .zero) { _ in mustNotRun() } }
            }
        }
        lock.withWriteLock { _ in
            _ = #expect(throws: ReadWriteError.wouldDeadlock) {
                try lock.withUpgradableReadLock { _, _ in mustNotRun() }
            }
        }
        Threads.run(1) { _ in #expect(lock.withWriteLockIfAvailable { $0 } == 0) }
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func anUpgradeGoesBeforeWritersThatWait(policy: GatePolicy) throws {
        let lock = ReadWriteLock([Int](), policy: policy)
        var writer: Thread?
        try lock.withUpgradableReadLock { _, upgrade in
            writer = Thread { lock.withWriteLock { $0.append(2) } }
            waitUntil { lock.waitingCount == 1 }
            try upgrade { $0.append(1) }
        }
        writer?.join()
        #expect(lock.withReadLock { $0 } == [1, 2])
    }

    /// What was borrowed before the upgrade is not changed, or freed, under the reader's hands.
    @Test(arguments: LockKind.all)
    func theBorrowedValueStaysWhatItWas(kind: LockKind) throws {
        let lock = kind.lock((0..<100).map { "a string that does not fit into a word: \($0)" })
        try lock.withUpgradableReadLock { strings, upgrade in
            try upgrade { $0 = ["replaced"] }
            #expect(strings.count == 100)
            #expect(strings.last == "a string that does not fit into a word: 99")
        }
        #expect(lock.withReadLock { $0 } == ["replaced"])
    }
}
