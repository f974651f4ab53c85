import CSyncKernel
import Glibc
import Testing

@testable import SwiftSync

extension RefusalLines {
    fileprivate mutating func line(for kind: SyncDiagnostics.Report.Kind, _ subject: String, now: Int64) -> Line {
        line(for: Origin(kind, subject), now: now)
    }
}

/// Which refusals become a line, by a clock that the test sets.
@Suite struct RefusalLinesTests {
    private static let second = RefusalLines.second

    @Test func theFirstIsALineAndThenOneASecondWithTheNumberSince() {
        var lines = RefusalLines()
        #expect(lines.line(for: .refusedWhenFull, "a", now: 5) == .first)
        for now in Int64(6)...1000 { #expect(lines.line(for: .refusedWhenFull, "a", now: now) == .none) }
        #expect(lines.line(for: .refusedWhenFull, "a", now: 4 + Self.second) == .none)
        #expect(lines.line(for: .refusedWhenFull, "a", now: 5 + Self.second) == .again(997))
        #expect(lines.line(for: .refusedWhenFull, "a", now: 6 + Self.second) == .none)
        #expect(lines.line(for: .refusedWhenFull, "a", now: 100 * Self.second) == .again(2))
        #expect(lines.line(for: .refusedWhenFull, "a", now: 101 * Self.second) == .again(1))
    }

    @Test func eachObjectAndEachKindHasLinesOfItsOwn() {
        var lines = RefusalLines()
        for subject in ["a", "b"] {
            #expect(lines.line(for: .refusedWhenFull, subject, now: 1) == .first)
            #expect(lines.line(for: .refusedAfterShutdown, subject, now: 2) == .first)
            #expect(lines.line(for: .refusedWhenFull, subject, now: 3) == .none)
        }
    }

    @Test func beyondTheLimitOfObjectsOthersShareALine() {
        var lines = RefusalLines()
        for number in 0..<RefusalLines.limit {
            #expect(lines.line(for: .refusedWhenFull, "\(number)", now: 1) == .first)
        }
        #expect(lines.line(for: .refusedWhenFull, "x", now: 2) == .first)
        for number in 0..<1000 { #expect(lines.line(for: .refusedWhenFull, "x\(number)", now: 3) == .none) }
        #expect(lines.line(for: .refusedWhenFull, "0", now: Self.second) == .none)
        // Those that had no line for a second make room.
        #expect(lines.line(for: .refusedWhenFull, "x", now: 1 + Self.second) == .first)
        #expect(lines.line(for: .refusedWhenFull, "x", now: 2 + Self.second) == .none)
    }

    @Test func aLineHasTheReportAndTheNumberAndOtherReportsAreAllLines() {
        let time = Shared<Int64>(0), written = Shared([String]())
        let slot = HandlerSlot(now: { time.value }, write: { written.append($0) })
        func report(_ kind: SyncDiagnostics.Report.Kind) {
            slot.deliver(kind, subject: "queue") {
                SyncDiagnostics.Report(kind: kind, subject: "queue", message: "refused (bound: 2)")
            }
        }
        for step in 0..<4 {
            time.access { $0 = Int64(step) * Self.second / 2 }
            report(.refusedWhenFull)
        }
        let line = "refused when full: queue: refused (bound: 2)"
        #expect(written.value == [line, line + " (2 since the last line)"])
        for _ in 0..<3 { report(.notOwner) }
        #expect(written.value.count == 5)
    }

    /// What nobody sees is not made: the text of a refusal costs more than the refusal.
    @Test func aReportThatIsNoLineIsNotMade() {
        let made = Shared(), slot = HandlerSlot(now: { 0 }, write: { _ in })
        for _ in 0..<100 {
            slot.deliver(.refusedAfterShutdown, subject: "queue") {
                made.increment()
                return SyncDiagnostics.Report(kind: .refusedAfterShutdown, subject: "queue", message: "")
            }
        }
        #expect(made.value == 1)
    }

    @Test func whatWasForgottenBeginsAnew() {
        var lines = RefusalLines()
        for number in 0...RefusalLines.limit { _ = lines.line(for: .refusedWhenFull, "\(number)", now: 1) }
        lines.forgetAll()
        #expect(lines.line(for: .refusedWhenFull, "\(RefusalLines.limit)", now: 2) == .first)
        for number in 1..<RefusalLines.limit { _ = lines.line(for: .refusedWhenFull, "\(number)", now: 3) }
        #expect(lines.line(for: .refusedWhenFull, "x", now: 4) == .first)
    }

    /// The thread that counts a refusal has the slot's mutex, and is not in the child.
    @Test func aChildOfForkReportsThoughAnotherThreadWasReporting() async {
        await #expect(processExitsWith: .success) {
            @Sendable func refuse() {
                HandlerSlot.shared.deliver(.refusedWhenFull, subject: "queue") {
                    SyncDiagnostics.Report(kind: .refusedWhenFull, subject: "queue", message: "")
                }
            }
            refuse()
            let pause = StepPause("HandlerSlot: counts")
            let thread = Thread { pause.within { refuse() } }
            pause.waitUntilReached()
            // Swift hides fork.
            let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)
            let child = fork()
            if child == 0 {
                var all = sigset_t() // the threads of Dispatch block them
                sigfillset(&all)
                pthread_sigmask(SIG_UNBLOCK, &all, nil)
                alarm(30)
                refuse()
                let heard = Shared()
                HandlerSlot.shared.replace { _ in heard.increment() }
                refuse()
                _exit(heard.value == 1 ? 0 : 1)
            }
            var status: Int32 = -1
            mustHold(waitpid(child, &status, 0) == child && status == 0, "the child ended with \(status)")
            pause.goOn()
            thread.join()
        }
    }
}
