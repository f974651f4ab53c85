import Dispatch
import Testing

@testable import SwiftSync

/// Permits taken and given by threads: order, weights, deadlines, bad input.
@Suite(.endsInTime)
struct PrioritySemaphoreTests {
    @Test
    func aWaitTakesAndASignalGives() throws {
        let semaphore = PrioritySemaphore(value: 2)
        try semaphore.blockingWait()
        #expect(semaphore.tryWait() && !semaphore.tryWait())
        #expect(semaphore.availablePermits == 0)
        try semaphore.signal(3)
        #expect(!semaphore.tryWait(permits: 4) && semaphore.tryWait(permits: 3))
        try semaphore.signal()
        #expect(semaphore.availablePermits == 1 && semaphore.waitingCount == 0)
    }

    @Test
    func threadsAreServedByPriorityAndThenByArrival() throws {
        let semaphore = PrioritySemaphore(value: 0), priorities: [Int32] = [0, 5, -3, 5, .max, .min, 1]
        let served = Shared([Int]())
        let threads = priorities.enumerated().map { index, priority in
            let thread = Thread {
                try? semaphore.blockingWait(priority: CommandPriority(rawValue: priority))
                served.append(index)
                try? semaphore.signal()
            }
            waitUntil { semaphore.waitingCount == index + 1 }
            return thread
        }
        try semaphore.signal()
        threads.forEach { $0.join() }
        #expect(served.value == [4, 1, 3, 6, 0, 2, 5])
        #expect(semaphore.availablePermits == 1)
    }

    @Test
    func aLargeRequestBarsItsOwnAndLowerPriorities() throws {
        let semaphore = PrioritySemaphore(value: 2)
        let large = Thread { try? semaphore.blockingWait(permits: 3, priority: .normal) }
        waitUntil { semaphore.waitingCount == 1 }
        #expect(!semaphore.tryWait() && !semaphore.tryWait(priority: .low))
        #expect(throws: PrioritySemaphoreError.timedOut) { try semaphore.blockingWait(timeout: .zero) }
        #expect(throws: PrioritySemaphoreError.timedOut) { try semaphore.blockingWait(timeout: .milliseconds(1)) }
        #expect(semaphore.tryWait(priority: .high))
        try semaphore.blockingWait(priority: .high)
        #expect(semaphore.availablePermits == 0 && semaphore.waitingCount == 1)
        try semaphore.signal(3)
        large.join()
        #expect(semaphore.availablePermits == 0)
    }

    @Test
    func whoStandsBehindALargeRequestIsServedOnceItHasGivenUp() throws {
        let semaphore = PrioritySemaphore(value: 2), served = Flag(), hasGivenUp = Flag()
        let large = Thread {
            #expect(throws: PrioritySemaphoreError.timedOut) {
                try semaphore.blockingWait(permits: 3, timeout: .milliseconds(20))
            }
            hasGivenUp.raise()
        }
        // On a busy machine it may have given up before this thread looks.
        waitUntil { semaphore.waitingCount == 1 || hasGivenUp.isRaised }
        let small = Thread {
            try? semaphore.blockingWait(permits: 2)
            served.raise()
        }
        waitUntil { served.isRaised }
        large.join()
        small.join()
        #expect(semaphore.availablePermits == 0 && semaphore.waitingCount == 0)
    }

    @Test
    func oneSignalServesSeveral() throws {
        let semaphore = PrioritySemaphore(value: 0)
        let threads = (1...8).map { permits in Thread { try? semaphore.blockingWait(permits: permits) } }
        waitUntil { semaphore.waitingCount == 8 }
        try semaphore.signal(36)
        threads.forEach { $0.join() }
        #expect(semaphore.availablePermits == 0)
    }

    @Test
    func aTimeoutIsNeverEarlyAndTakesNothing() throws {
        let semaphore = PrioritySemaphore(value: 1), clock = ContinuousClock(), start = clock.now
        #expect(throws: PrioritySemaphoreError.timedOut) {
            try semaphore.blockingWait(permits: 2, timeout: .milliseconds(2))
        }
        #expect(clock.now - start >= .milliseconds(2))
        #expect(throws: PrioritySemaphoreError.timedOut) {
            try semaphore.blockingWait(permits: 2, timeout: .seconds(-1))
        }
        try semaphore.blockingWait(timeout: .zero)
        #expect(semaphore.availablePermits == 0 && semaphore.waitingCount == 0)
    }

    @Test
    func aDeadlineIsNeverEarlyAndTakesNothing() throws {
        let semaphore = PrioritySemaphore(value: 1), clock = ContinuousClock(), deadline = clock.now + .milliseconds(2)
        #expect(throws: PrioritySemaphoreError.timedOut) {
            try semaphore.blockingWait(permits: 2, timeout: .until(deadline))
        }
        #expect(clock.now >= deadline)
        #expect(throws: PrioritySemaphoreError.timedOut) {
            try semaphore.blockingWait(permits: 2, timeout: .until(deadline))
        }
        #expect(throws: PrioritySemaphoreError.timedOut) {
            try semaphore.blockingWithPermit(permits: 2, timeout: .until(deadline)) { _ = Issue.record("ran") }
        }
        #expect(throws: PrioritySemaphoreError.invalidPermits) {
            try semaphore.blockingWait(permits: 0, timeout: .until(deadline))
        }
        #expect(try semaphore.blockingWithPermit(timeout: .until(deadline)) { semaphore.availablePermits } == 0)
        try semaphore.blockingWait(timeout: .until(deadline))
        #expect(semaphore.availablePermits == 0 && semaphore.waitingCount == 0)
    }

    @Test
    func aDeadlineThatIsAheadWaits() throws {
        let semaphore = PrioritySemaphore(value: 0), deadline = ContinuousClock.now + .seconds(1000)
        let served = Shared([String]())
        let low = Thread {
            try? semaphore.blockingWithPermit(priority: .low, timeout: .until(deadline)) { served.append("low") }
        }
        waitUntil { semaphore.waitingCount == 1 }
        let high = Thread {
            try? semaphore.blockingWait(priority: .high, timeout: .until(deadline))
            served.append("high")
            try? semaphore.signal()
        }
        waitUntil { semaphore.waitingCount == 2 }
        try semaphore.signal()
        low.join()
        high.join()
        #expect(served.value == ["high", "low"])
        #expect(semaphore.availablePermits == 1)
    }

    @Test
    func badNumbersAreRefusedAndChangeNothing() throws {
        let semaphore = PrioritySemaphore(value: 2, most: 3)
        for number in [0, -1, .min, 4, Int(Int32.max), Int(Int32.max) + 1, Int(UInt32.max) + 2, .max] {
            #expect(throws: PrioritySemaphoreError.invalidPermits, "\(number)") {
                try semaphore.blockingWait(permits: number)
            }
            #expect(throws: PrioritySemaphoreError.invalidPermits, "\(number)") {
                try semaphore.blockingWait(permits: number, timeout: .zero)
            }
            #expect(!semaphore.tryWait(permits: number), "\(number)")
            if number < 1 {
                #expect(throws: PrioritySemaphoreError.invalidPermits) { try semaphore.signal(number) }
            } else {
                #expect(throws: PrioritySemaphoreError.overflow) { try semaphore.signal(number) }
            }
            if number != 0 {
                #expect(throws: PrioritySemaphoreError.invalidPermits) { try semaphore.resize(to: number) }
            }
        }
        #expect(throws: PrioritySemaphoreError.overflow) { try semaphore.signal(2) }
        #expect(semaphore.availablePermits == 2)
        try semaphore.signal()
        #expect(throws: PrioritySemaphoreError.overflow) { try semaphore.signal() }
        #expect(semaphore.availablePermits == 3)
        let endless = PrioritySemaphore(value: Int(Int32.max))
        #expect(throws: PrioritySemaphoreError.overflow) { try endless.signal() }
        #expect(endless.tryWait(permits: Int(Int32.max)) && endless.availablePermits == 0)
    }

    @Test(arguments: [(-1, 1), (2, 1), (0, 0), (0, Int(Int32.max) + 1)])
    func numbersThatAreOutOfBoundsStopTheProgram(value: Int, most: Int) async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [value, most] in
            _ = PrioritySemaphore(value: value, most: most, name: "permits")
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        let bounds = "not 0 <= value <= most, 1 <= most"
        #expect(text.contains("PrioritySemaphore permits: value \(value), most \(most): \(bounds)"))
    }

    @Test
    func aSemaphoreGrowsAndShrinks() throws {
        let semaphore = PrioritySemaphore(value: 3)
        try semaphore.blockingWait(permits: 2)
        try semaphore.resize(to: 1)
        #expect(semaphore.availablePermits == -1 && !semaphore.tryWait())
        let waiter = Thread { try? semaphore.blockingWait() }
        waitUntil { semaphore.waitingCount == 1 }
        try semaphore.signal()
        #expect(semaphore.availablePermits == 0 && semaphore.waitingCount == 1)
        try semaphore.resize(to: 2)
        waiter.join()
        try semaphore.signal(2)
        #expect(semaphore.availablePermits == 2)
        try semaphore.resize(to: 0)
        #expect(!semaphore.tryWait())
    }

    private enum Failure: Error { case expected }

    @Test
    func aScopeGivesBackOnEveryPath() throws {
        let semaphore = PrioritySemaphore(value: 2, most: 2)
        #expect(try semaphore.blockingWithPermit { semaphore.availablePermits } == 1)
        #expect(
            try semaphore.blockingWithPermit(permits: 2, priority: .low, timeout: .zero) { semaphore.availablePermits }
                == 0)
        #expect(throws: Failure.expected) { try semaphore.blockingWithPermit { throw Failure.expected } }
        #expect(throws: PrioritySemaphoreError.invalidPermits) {
            try semaphore.blockingWithPermit(permits: 3) { _ = Issue.record("ran") }
        }
        _ = try semaphore.blockingWithPermit(permits: 2) {
            #expect(throws: PrioritySemaphoreError.timedOut) {
                try semaphore.blockingWithPermit(timeout: .zero) { _ = Issue.record("ran") }
            }
        }
        #expect(semaphore.availablePermits == 2)
    }

    @Test
    func noPermitIsLostOrDoubledAmongThreads() throws {
        let semaphore = PrioritySemaphore(value: 3, most: 3), inside = Shared(0), most = Shared(0)
        Threads.run(8) { index in
            for round in 0..<2000 {
                let permits = 1 + (round + index) % 3, timeout: TimeLimit = round % 5 == 0 ? .microseconds(3) : .never
                let priority = CommandPriority(rawValue: Int32(index % 3))
                do { try semaphore.blockingWait(permits: permits, priority: priority, timeout: timeout) } catch {
                    continue
                }
                let now = inside.access { number in
                    number += permits
                    return number
                }
                most.access { $0 = max($0, now) }
                inside.access { $0 -= permits }
                try? semaphore.signal(permits)
            }
        }
        #expect(semaphore.availablePermits == 3 && semaphore.waitingCount == 0)
        #expect(most.value <= 3 && most.value > 0)
    }
}

extension HandlerSettingTests {
    @Suite struct PrioritySemaphoreReportTests {
        @Test
        func permitsThatHaveNoRoomAreReported() throws {
            let reports = Shared<[SyncDiagnostics.Report.Kind]>([])
            SyncDiagnostics.setHandler { if $0.subject.hasPrefix("PrioritySemaphore ") { reports.append($0.kind) } }
            defer { SyncDiagnostics.setHandler(nil) }
            let semaphore = PrioritySemaphore(value: 2, most: 2)
            try semaphore.blockingWithPermit {}
            #expect(reports.value.isEmpty)
            try semaphore.blockingWithPermit { try semaphore.signal() }
            #expect(reports.value == [.releasedTwice])
            #expect(semaphore.availablePermits == 2)
        }
    }
}
