import CSyncKernel
import Testing

@testable import SwiftSync

@Suite struct DeadlineTests {
    @Test func spansRoundUpSoThatNoneEndsEarly() {
        #expect(Deadline.nanoseconds(in: .nanoseconds(7)) == 7)
        #expect(Deadline.nanoseconds(in: Duration(secondsComponent: 0, attosecondsComponent: 1)) == 1)
        #expect(
            Deadline.nanoseconds(in: Duration(secondsComponent: 2, attosecondsComponent: 1_000_000_001))
                == 2_000_000_002)
        #expect(Deadline.nanoseconds(in: .seconds(3)) == 3_000_000_000)
        #expect(Deadline.nanoseconds(in: .nanoseconds(Int64.max)) == .max)
        #expect(
            Deadline.nanoseconds(in: .nanoseconds(Int64.max) - Duration(secondsComponent: 0, attosecondsComponent: 1))
                == .max)
        #expect(
            Deadline.nanoseconds(in: .nanoseconds(Int64.max) + Duration(secondsComponent: 0, attosecondsComponent: 1))
                == nil)
        #expect(Deadline.nanoseconds(inSeconds: .leastNonzeroMagnitude) == 1)
        #expect(Deadline.nanoseconds(inSeconds: 1.25e-9) == 2)
        #expect(Deadline.nanoseconds(inSeconds: 3) == 3_000_000_000)
    }

    @Test func spansSaturate() {
        #expect(Deadline.nanoseconds(in: .seconds(Int64.max)) == nil)
        #expect(Deadline.nanoseconds(in: .seconds(Int64.max) * 2) == nil)
        #expect(Deadline.after(.seconds(Int64.max) * 18) == CSK_NEVER)
        #expect(Deadline.after(.seconds(Int64.max)) == CSK_NEVER)
        #expect(Deadline.after(.nanoseconds(Int64.max)) == CSK_NEVER)
        #expect(Deadline.after(seconds: 1e300) == CSK_NEVER)
        #expect(Deadline.after(seconds: .infinity) == CSK_NEVER)
        #expect(Deadline.after(seconds: 9.3e9) == CSK_NEVER)
    }

    @Test(arguments: [
        Duration.zero, .nanoseconds(-1), .seconds(-5), .seconds(Int64.min), .seconds(Int64.min) * 2,
        .seconds(Int64.min) * 18,
    ])
    func spansOfZeroOrLessHavePassed(_ duration: Duration) {
        #expect(Deadline.after(duration) <= csk_now())
    }

    @Test(arguments: [0, -0.0, -1e-9, -1e300, -Double.infinity])
    func secondsOfZeroOrLessHavePassed(_ seconds: Double) throws {
        #expect(try #require(Deadline.after(seconds: seconds)) <= csk_now())
    }

    @Test func instantsBecomeDeadlinesThatAreNeverEarlier() {
        let clock = ContinuousClock(), instant = clock.now + .milliseconds(20)
        let deadline = Deadline.at(instant)
        #expect(deadline <= csk_now() + 20_000_000)
        while csk_now() < deadline {}
        #expect(clock.now >= instant)
        #expect(Deadline.at(clock.now) == Deadline.passed)
        #expect(Deadline.at(clock.now - .seconds(Int64.max)) == Deadline.passed)
        #expect(Deadline.at(clock.now + .seconds(Int64.max)) == Deadline.never)
    }

    @Test func instantsOfTheKernelsClockAreExact() {
        let clock = SuspendingClock(), earliest = csk_now(), instant = clock.now + .seconds(1), latest = csk_now()
        let deadline = Deadline.at(instant)
        #expect((earliest...latest).contains(deadline - 1_000_000_000))
        #expect(Deadline.at(instant + .nanoseconds(1)) == deadline + 1)
        #expect(Deadline.at(instant + Duration(secondsComponent: 0, attosecondsComponent: 1)) == deadline + 1)
        #expect(Deadline.at(clock.now) == Deadline.passed)
        #expect(Deadline.at(clock.now - .seconds(Int64.max)) == Deadline.passed)
        #expect(Deadline.at(clock.now + .seconds(Int64.max)) == Deadline.never)
    }

    @Test func notANumberIsNoDeadline() {
        #expect(Deadline.after(seconds: .nan) == nil)
        #expect(Deadline.after(seconds: .signalingNaN) == nil)
    }

    @Test func bothFormsCountFromNow() throws {
        let earliest = csk_now() + 1_500_000_000
        let fromDuration = Deadline.after(.milliseconds(1500))
        let fromSeconds = try #require(Deadline.after(seconds: 1.5))
        let latest = csk_now() + 1_500_000_000
        #expect((earliest...latest).contains(fromDuration))
        #expect((earliest...latest).contains(fromSeconds))
    }
}
