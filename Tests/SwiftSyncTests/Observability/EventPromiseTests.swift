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
        _ = ring.copy(from: 0, to: 4, into: &events)
        #expect(events.map(\.nanoseconds) == [20, 20, 30, 30])
    }

    @Test(arguments: [(1_000_007, "1000.007"), (1_000_070, "1000.070"), (1_000_700, "1000.700"), (5, "0.005"), (3000, "3.000")])
    func aTimeInATraceHasThreeDigitsAfterThePoint(nanoseconds: Int, text: String) {
        var trace = ChromeTrace()
        trace.add([Event(.pushed, id: 1, tag: "task", nanoseconds: Int64(nanoseconds), thread: 1, depth: 1)], of: "queue", index: 0)
        #expect(trace.json().contains("\"ts\":\(text),"))
    }
}
