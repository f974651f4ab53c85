import Testing

@testable import SwiftSync

@Suite(.endsInTime)
struct ReadWriteCoordinatorTimeoutTests {
    /// A coordinator whose write, or read, lasts until the semaphore is signalled.
    private func held(reading: Bool = false) async -> (ReadWriteCoordinator, Semaphore) {
        let coordinator = ReadWriteCoordinator(), leave = Semaphore(), inside = Flag()
        onThread {
            if reading {
                coordinator.read {
                    inside.raise(); leave.wait()
                }
            } else {
                coordinator.blockingWrite {
                    inside.raise(); leave.wait()
                }
            }
        }
        await waitUntil { inside.isRaised }
        return (coordinator, leave)
    }

    private static let spans: [Duration] = [
        .zero, .nanoseconds(-1), .seconds(-3), Duration(secondsComponent: .min, attosecondsComponent: 0),
        .nanoseconds(1), .milliseconds(2),
    ]

    @Test
    func aTimeoutIsNeverEarlyAndNothingRuns() async {
        let (coordinator, leave) = await held(), clock = ContinuousClock()
        for span in Self.spans {
            Threads.run(1) { _ in
                var start = clock.now
                #expect(throws: ReadWriteError.timedOut) {
                    try coordinator.read(timeout: .after(span)) { mustNotRun() }
                }
                #expect(clock.now - start >= span)
                start = clock.now
                #expect(throws: ReadWriteError.timedOut) {
                    try coordinator.blockingWrite(timeout: .after(span)) { mustNotRun() }
                }
                #expect(clock.now - start >= span)
            }
            var start = clock.now
            await #expect(throws: ReadWriteError.timedOut) {
                try await coordinator.suspending.read(timeout: .after(span)) { mustNotRun() }
            }
            #expect(clock.now - start >= span)
            start = clock.now
            await #expect(throws: ReadWriteError.timedOut) {
                try await coordinator.suspending.write(timeout: .after(span)) { mustNotRun() }
            }
            #expect(clock.now - start >= span)
        }
        #expect(coordinator.waitingCount == 0)
        leave.signal()
        try? await coordinator.suspending.drain()
    }

    @Test
    func whoCanEnterAtOnceIsNotTimedOut() async throws {
        let coordinator = ReadWriteCoordinator()
        for span in Self.spans {
            Threads.run(1) { _ in
                #expect(throws: Never.self) { try coordinator.read(timeout: .after(span)) {} }
                #expect(throws: Never.self) { try coordinator.blockingWrite(timeout: .after(span)) {} }
            }
            try await coordinator.suspending.read(timeout: .after(span)) {}
            try await coordinator.suspending.write(timeout: .after(span)) {}
        }
    }

    @Test
    func aSpanThatNoClockHoldsWaitsForEver() async throws {
        let (coordinator, leave) = await held(), log = Shared([Int]())
        let longest = Duration(secondsComponent: .max, attosecondsComponent: 0)
        onThread { try? coordinator.read(timeout: .after(longest)) { log.append(0) } }
        await waitUntil { coordinator.waitingCount == 1 }
        let task = Task { try await coordinator.suspending.write(timeout: .after(longest)) { log.append(1) } }
        await waitUntil { coordinator.waitingCount == 2 }
        leave.signal()
        try await task.value
        #expect(log.value == [0, 1])
    }

    @Test
    func readersBehindAWriteThatGaveUpEnterThoughTheFirstReaderStays() async throws {
        let (coordinator, leave) = await held(reading: true), entered = Flag()
        let task = Task { try await coordinator.suspending.write { mustNotRun() } }
        await waitUntil { coordinator.waitingCount == 1 }
        onThread { coordinator.read { entered.raise() } }
        await waitUntil { coordinator.waitingCount == 2 }
        #expect(!entered.isRaised)
        task.cancel()
        await waitUntil { entered.isRaised }
        await #expect(throws: ReadWriteError.cancelled) { try await task.value }
        // The same for a deadline: the reader is let in by whoever times out.
        let given = Flag()
        onThread {
            #expect(throws: ReadWriteError.timedOut) { try coordinator.blockingWrite(timeout: .milliseconds(100)) {} }
            given.raise()
        }
        await waitUntil { coordinator.waitingCount == 1 || given.isRaised }
        #expect(try await coordinator.suspending.read { true })
        leave.signal()
        try await coordinator.suspending.drain()
    }
}
