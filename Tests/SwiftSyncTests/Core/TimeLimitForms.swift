import Testing

@testable import SwiftSync

extension TimeLimit {
    static let far = TimeLimit.after(.seconds(1000))

    /// Each form of a limit that lies so far from now.
    static func all(_ span: Duration) -> [TimeLimit] {
        [.after(span), .until(ContinuousClock.now + span), .until(SuspendingClock.now + span)]
    }

    /// Calls `body` for an instant from now by either clock and for the time until then, and expects it to come back
    /// at that instant at the earliest.
    static func neverEarly(_ span: Duration, _ body: (TimeLimit) async -> Void) async {
        let continuous = ContinuousClock.now + span
        await body(.until(continuous))
        #expect(ContinuousClock.now >= continuous)
        let suspending = SuspendingClock.now + span
        await body(.until(suspending))
        #expect(SuspendingClock.now >= suspending)
        let start = ContinuousClock.now
        await body(.after(span))
        #expect(ContinuousClock.now - start >= span)
    }
}
