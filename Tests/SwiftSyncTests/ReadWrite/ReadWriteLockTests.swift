import Testing

@testable import SwiftSync

/// Every kind of lock keeps the same promises.
struct LockKind: Sendable, CustomTestStringConvertible {
    var policy: GatePolicy, readerBias: Bool
    var testDescription: String { "\(policy)\(readerBias ? ", biased" : "")" }
    static let all = [GatePolicy.fast, .strict].flatMap { policy in
        [false, true].map { LockKind(policy: policy, readerBias: $0) }
    }

    /// A biased one has had the reads after which its readers enter by their own records.
    func lock<Value: ~Copyable & Sendable>(_ value: consuming sending Value) -> ReadWriteLock<Value> {
        let lock = ReadWriteLock(value, policy: policy, readerBias: readerBias)
        for _ in 0..<100 { lock.withReadLock { _ in } }
        return lock
    }
}

/// Until a writer, or a reader that upgrades, keeps newcomers out. A biased lock's waits for the readers' marks, and is
/// not counted as waiting.
func waitUntilNewcomersWait<Value>(_ lock: ReadWriteLock<Value>, sourceLocation: SourceLocation = #_sourceLocation) {
    waitUntil(sourceLocation: sourceLocation) {
        let entered = Shared(true)
        Threads.run(1) { _ in
            let ran = lock.withReadLockIfAvailable { _ in } != nil
            entered.access { $0 = ran }
        }
        return !entered.value
    }
}

@Suite(.endsInTime)
struct ReadWriteLockTests {
    private enum Failure: Error { case expected }
    private struct Handle: ~Copyable, Sendable {
        let tracked: Tracked
        var number = 1
        init(_ alive: Shared<Int>) { tracked = Tracked(alive) }
    }

    @Test(arguments: LockKind.all)
    func readersAreInsideTogether(kind: LockKind) {
        let lock = kind.lock(1), inside = Shared(0)
        Threads.run(5) { _ in
            lock.withReadLock { value in
                #expect(value == 1)
                inside.increment()
                waitUntil { inside.value == 5 }
            }
        }
        #expect(inside.value == 5)
    }

    @Test(arguments: LockKind.all)
    func aWriterIsAlone(kind: LockKind) {
        let lock = kind.lock([0, 0]), writers = 3, rounds = 1500
        let write: @Sendable (inout [Int]) -> Void = {
            $0[0] += 1; $0[1] += 1
        }
        Threads.run(6) { thread in
            for round in 0..<rounds {
                if thread < writers {
                    switch round % 3 {
                    case 0: lock.withWriteLock(write)
                    case 1: #expect(lock.withWriteLock(timeout: .seconds(50), write) != nil)
                    default: while lock.withWriteLockIfAvailable(write) == nil {}
                    }
                } else {
                    lock.withReadLock { #expect($0[0] == $0[1]) }
                    _ = lock.withReadLockIfAvailable { #expect($0[0] == $0[1]) }
                }
            }
        }
        #expect(lock.withReadLock { $0 } == [writers * rounds, writers * rounds])
    }

    @Test(arguments: LockKind.all)
    func whoWouldHaveToWaitGetsNil(kind: LockKind) {
        let lock = kind.lock(0)
        lock.withReadLock { _ in
            Threads.run(1) { _ in
                #expect(lock.withWriteLockIfAvailable { _ in mustNotRun() } == nil)
                #expect(lock.withReadLockIfAvailable { $0 } == 0)
            }
            #expect(lock.withWriteLockIfAvailable { _ in mustNotRun() } == nil)
            #expect(lock.withReadLockIfAvailable { $0 } == 0)
        }
        lock.withWriteLock { _ in
            Threads.run(1) { _ in
                #expect(lock.withWriteLockIfAvailable { _ in mustNotRun() } == nil)
                #expect(lock.withReadLockIfAvailable { _ in mustNotRun() } == nil)
            }
            #expect(lock.withWriteLockIfAvailable { _ in mustNotRun() } == nil)
            #expect(lock.withReadLockIfAvailable { _ in mustNotRun() } == nil)
        }
        #expect(
            lock.withWriteLockIfAvailable {
                $0 += 1; return $0
            } == 1)
    }

    @Test(arguments: LockKind.all)
    func aTimeoutGivesNilAndIsNeverEarly(kind: LockKind) {
        let lock = kind.lock(0), clock = ContinuousClock()
        func refused(_ read: Bool) {
            for span in [Duration.zero, .seconds(-1), .nanoseconds(1), .milliseconds(2)] {
                Threads.run(1) { _ in
                    let start = clock.now
                    if read {
                        #expect(lock.withReadLock(timeout: .after(span)) { _ in mustNotRun() } == nil)
                    } else {
                        #expect(lock.withWriteLock(timeout: .after(span)) { _ in mustNotRun() } == nil)
                    }
                    #expect(clock.now - start >= span)
                }
            }
        }
        lock.withReadLock { _ in refused(false) }
        lock.withWriteLock { _ in
            refused(false)
            refused(true)
        }
        for span in [
            Duration.zero, .seconds(-1), .seconds(1), Duration(secondsComponent: .max, attosecondsComponent: 0),
        ] {
            Threads.run(1) { _ in
                #expect(lock.withReadLock(timeout: .after(span)) { $0 } == 0)
                #expect(lock.withWriteLock(timeout: .after(span)) { $0 } == 0)
            }
        }
    }

    @Test(arguments: LockKind.all)
    func whatIsThrownComesOutAndTheLockIsLeft(kind: LockKind) {
        let lock = kind.lock(0)
        for _ in 0..<3 {
            #expect(throws: Failure.expected) {
                try lock.withReadLock { (_) throws(Failure) in throw Failure.expected }
            }
            #expect(throws: Failure.expected) {
                try lock.withReadLockIfAvailable { (_) throws(Failure) in throw Failure.expected }
            }
            #expect(throws: Failure.expected) {
                try lock.withReadLock(timeout: .zero) { (_) throws(Failure) in throw Failure.expected }
            }
            #expect(throws: Failure.expected) {
                try lock.withWriteLock { (_) throws(Failure) in throw Failure.expected }
            }
            #expect(throws: Failure.expected) {
                try lock.withWriteLockIfAvailable { (_) throws(Failure) in throw Failure.expected }
            }
            #expect(throws: Failure.expected) {
                try lock.withWriteLock(timeout: .zero) { (_) throws(Failure) in throw Failure.expected }
            }
            #expect(throws: Failure.expected) { try lock.withUpgradableReadLock { _, _ in throw Failure.expected } }
            Threads.run(1) { _ in #expect(lock.withWriteLockIfAvailable { $0 += 1 } != nil) }
        }
        #expect(lock.withReadLock { $0 } == 3)
    }

    @Test(arguments: LockKind.all)
    func aNestedReadEntersThoughAWriterWaits(kind: LockKind) {
        let lock = kind.lock(0)
        var writer: Thread?
        lock.withReadLock { _ in
            writer = Thread { lock.withWriteLock { $0 += 1 } }
            waitUntilNewcomersWait(lock)
            #expect(lock.withReadLock { lock.withReadLock { $0 } + $0 } == 0)
            #expect(lock.withReadLock(timeout: .zero) { $0 } == 0)
        }
        writer?.join()
        #expect(lock.withReadLock { $0 } == 1)
    }

    @Test
    func underStrictNobodyPassesAnybody() {
        let lock = ReadWriteLock([Int](), policy: .strict), log = Shared([Int]()), threads = Shared([Thread]())
        // 0 writes, 1 and 2 read together, 3 and 4 write one after the other, 5 reads.
        lock.withWriteLock { _ in
            for number in 0..<6 {
                threads.append(
                    Thread {
                        if [1, 2, 5].contains(number) {
                            lock.withReadLock { _ in log.append(number) }
                        } else {
                            lock.withWriteLock { _ in log.append(number) }
                        }
                    })
                waitUntil { lock.waitingCount == number + 1 }
            }
        }
        threads.value.forEach { $0.join() }
        var order = log.value
        order[1...2].sort()
        #expect(order == Array(0..<6))
    }

    @Test(arguments: LockKind.all)
    func aWriterGoesOnAsAReaderWithNobodyInBetween(kind: LockKind) {
        let lock = kind.lock([0]), other = Shared(Thread?.none), together = Flag()
        for round in 1...20 {
            let seen = lock.withWriteLock { numbers in
                numbers.append(round)
                other.access { $0 = Thread { lock.withWriteLock { $0.append(-round) } } }
                if !kind.readerBias { waitUntil { lock.waitingCount == 1 } }
                return numbers.count
            } thenRead: { numbers, count in
                #expect(count == numbers.count)
                return numbers.last
            }
            #expect(seen == round)
            other.value?.join()
            #expect(lock.withReadLock { $0.last } == -round)
        }
        lock.withWriteLock { _ in
        } thenRead: { _, _ in
            Threads.run(1) { _ in lock.withReadLock { _ in together.raise() } }
        }
        #expect(together.isRaised)
        #expect(throws: Failure.expected) {
            try lock.withWriteLock { (_) throws(Failure) in
                throw Failure.expected
            } thenRead: { (_, _: Void) throws(Failure) in
                mustNotRun()
            }
        }
        #expect(throws: Failure.expected) {
            try lock.withWriteLock { (_) throws(Failure) in
            } thenRead: { (_, _: Void) throws(Failure) in
                throw Failure.expected
            }
        }
        Threads.run(1) { _ in #expect(lock.withWriteLockIfAvailable { _ in } != nil) }
    }

    @Test(arguments: LockKind.all)
    func valuesThatCanNotBeCopiedAreReadChangedAndReplaced(kind: LockKind) {
        let alive = Shared(0)
        do {
            let lock = kind.lock(Handle(alive)), copy = lock
            lock.withWriteLock { $0.number += 1 }
            #expect(copy.withReadLock { $0.number } == 2)
            copy.withWriteLock { $0 = Handle(alive) }
            #expect(alive.value == 1)
            #expect(lock.withReadLock { $0.number } == 1)
            let moved = lock.withReadLock { _ in Handle(alive) }
            #expect(moved.number == 1 && alive.value == 2)
        }
        #expect(alive.value == 0)
    }

    @Test(arguments: LockKind.all)
    func theValueEndsWithTheLastCopy(kind: LockKind) {
        let alive = Shared(0)
        var copy: ReadWriteLock<Tracked>?
        do {
            let lock = kind.lock(Tracked(alive))
            copy = lock
        }
        #expect(alive.value == 1)
        copy = nil
        #expect(alive.value == 0)
        _ = copy
    }

    @Test
    func biasedLocksComeAndGoAtTheSamePlace() {
        for round in 0..<2000 {
            let lock = ReadWriteLock(round, readerBias: true)
            for _ in 0..<5 { #expect(lock.withReadLock { $0 } == round) }
            #expect(
                lock.withWriteLock {
                    $0 += 1; return $0
                } == round + 1)
        }
    }

    // MARK: - What stops the program

    private func text(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    private func expectStop(_ result: ExitTest.Result?, _ call: String) {
        #expect(
            text(result).contains(
                ": \(call) was called inside a section of the same lock by the same thread"))
    }

    @Test
    func sectionsThatWouldWaitForThemselvesStopWithAMessage() async {
        let readInWrite = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let lock = ReadWriteLock(0)
            lock.withWriteLock { _ in lock.withReadLock { _ in } }
        }
        expectStop(readInWrite, "withReadLock")
        let writeInBiasedRead = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let lock = ReadWriteLock(0, readerBias: true)
            for _ in 0..<100 { lock.withReadLock { _ in } }
            lock.withReadLock { _ in lock.withWriteLock { _ in } }
        }
        expectStop(writeInBiasedRead, "withWriteLock")
        let timedWriteInWrite = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let lock = ReadWriteLock(0)
            lock.withWriteLock { _ in _ = lock.withWriteLock(timeout: .seconds(1)) { _ in } }
        }
        expectStop(timedWriteInWrite, "withWriteLock")
    }
}
