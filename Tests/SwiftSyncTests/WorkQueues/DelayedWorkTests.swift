import Dispatch
import Testing

@testable import SwiftSync

/// Work that was given a time which never comes, and what a queue is made with.
@Suite struct DelayedWorkTests {
    private static let delays: [(StaticString, @Sendable (@escaping @Sendable () -> Void) -> DelayedWork)] = [
        ("async(delay: .infinity)", { async(delay: .infinity, $0) }),
        ("async(delay: 1e300)", { async(delay: 1e300, $0) }),
        ("mainThread(delay: .infinity)", { body in mainThread(delay: .infinity) { body() } }),
        ("async(after: .seconds(Int64.max))", { WorkQueue(name: "after").async(after: .seconds(Int64.max), $0) }),
        ("asyncAfter(.distantFuture)", { WorkQueue(name: "at").asyncAfter(deadline: .distantFuture, $0) }),
        (
            "async(every: .seconds(Int64.max))",
            { ConcurrentWorkQueue(name: "every", width: 2).async(every: .seconds(Int64.max), $0) }
        ),
    ]

    /// The timer used to hold the closure, and with it all that it has captured, until the end of the process.
    @Test(arguments: delays.indices)
    func workThatCanNeverBeginGoesWithItsHandle(_ index: Int) {
        let (name, start) = Self.delays[index], alive = Shared()
        do {
            let captured = Tracked(alive)
            let work = start { Issue.record("ran with \(captured)") }
            withExtendedLifetime(work) { #expect(alive.value == 1, "\(name)") }
        }
        #expect(alive.value == 0, "\(name)")
    }

    @Test(arguments: delays.indices)
    func workThatCanNeverBeginIsCancelledByOneCallOfMany(_ index: Int) {
        let (name, start) = Self.delays[index], cancelled = Shared()
        let work = start { Issue.record("ran") }
        Threads.run(4) { _ in if work.cancel() { cancelled.increment() } }
        #expect(cancelled.value == 1, "\(name)")
    }

    /// An optimized build used to leave the message out.
    @Test(arguments: [0, -1, Int.min, Int(UInt32.max) + 1])
    func aBoundWithoutRoomStopsWithAMessage(_ capacity: Int) async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [capacity] in
            _ = WorkQueue(name: "small", capacity: capacity, whenFull: .refuse)
        }
        let text = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains("WorkQueue small: a capacity of \(capacity) is not within 1 to 4 294 967 295"))
    }
}
