import Testing

@testable import SwiftSync

/// Times of events: in the order of the events, and exact in a trace.
struct EventPromiseTests {
    typealias Event = EventRecorder.Event

    @Test func anEventIsNeverEarlierThanTheOneBeforeItThoughItsThreadReadTheClockBefore() {
        var ring = EventRing(capacity: 16)
        let size = ring.nextChunkSize
        let isAdded = ring.add(.allocate(capacity: size), size: size)
        #expect(isAdded)
        for (kind, now) in [(Event.Kind.pushed, 20), (.started, 10), (.finished, 30), (.pushed, 29)] {
            _ = ring.append(kind, id: 1, tag: "", now: Int64(now), thread: 1)
        }
        var events: [Event] = []
        ring.copy(from: 0, to: 4, into: &events)
        #expect(events.map(\.nanoseconds) == [20, 20, 30, 30])
    }

    @Test(arguments: [
        (1_000_007, "1000.007"), (1_000_070, "1000.070"), (1_000_700, "1000.700"), (5, "0.005"), (3000, "3.000"),
    ])
    func aTimeInATraceHasThreeDigitsAfterThePoint(nanoseconds: Int, text: String) {
        var trace = ChromeTrace()
        trace.add(
            [Event(.pushed, id: 1, tag: "task", nanoseconds: Int64(nanoseconds), thread: 1, depth: 1)], of: "queue",
            index: 0)
        #expect(trace.json().contains("\"ts\":\(text),"))
    }

    @Test func aTimeOfDayHasTwoDigitsForEachPart() {
        let clock = WallClock(offset: 0)
        for second in stride(from: 0, to: 86_400, by: 59) {
            let parts = clock.time(Int64(second) * 1_000_000_000).split(
                separator: ":", omittingEmptySubsequences: false)
            #expect(parts.count == 3 && parts.allSatisfy { $0.utf8.count == 2 && $0.allSatisfy(\.isNumber) })
        }
    }
}

extension HandlerSettingTests {
    struct LongReadPromiseTests {
        @Test func aWriteThatWaitsLongForAReadIsReportedByTheOneThatWaits() async {
            await #expect(processExitsWith: .success) {
                let lock = ReadWriteLock(0), reports = Shared<[(SyncDiagnostics.Report, UInt)]>([]), reads = Flag(),
                    mayLeave = Flag()
                SyncDiagnostics.setHandler { report in reports.access { $0.append((report, Threads.current)) } }
                let reader = Thread {
                    lock.withReadLock { _ in
                        reads.raise()
                        waitUntil { mayLeave.isRaised }
                    }
                }
                waitUntil { reads.isRaised }
                let writerThread = Shared<UInt>(0)
                let writer = Thread {
                    writerThread.access { $0 = Threads.current }
                    lock.withWriteLock { $0 += 1 }
                }
                waitUntil { !reports.value.isEmpty }
                mustHold(reports.value[0].0.kind == .longRead)
                mustHold(reports.value[0].1 == writerThread.value)
                mayLeave.raise()
                reader.join()
                writer.join()
                mustHold(reports.value.count == 1)
            }
        }
    }
}
