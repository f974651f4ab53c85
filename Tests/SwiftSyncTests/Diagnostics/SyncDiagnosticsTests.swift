import Glibc
import SwiftSync
import Testing

/// Ends the thread where it is: nothing that stands behind it is done.
private func endThread() { pthread_exit(nil) }

/// Every test that sets the handler of the process belongs into this suite's serial order.
@Suite(.serialized)
struct HandlerSettingTests {}

extension HandlerSettingTests {
    @Suite struct SyncDiagnosticsTests {
        typealias Report = SyncDiagnostics.Report

        /// Sets a handler that passes on only what this suite reports, for other suites may report meanwhile.
        private func withHandler(_ handler: @escaping @Sendable (Report) -> Void, _ body: () throws -> Void) rethrows {
            SyncDiagnostics.setHandler { report in
                if report.subject.hasPrefix("SyncDiagnosticsTests") { handler(report) }
            }
            defer { SyncDiagnostics.setHandler(nil) }
            try body()
        }

        private func report(_ kind: Report.Kind, _ message: String) {
            SyncDiagnostics.report(kind, subject: "SyncDiagnosticsTests", message: message)
        }

        @Test func theHandlerGetsEveryPartOfTheReportOnTheReportingThread() {
            let seen = Shared<[(Report, UInt)]>([])
            withHandler { report in
                seen.access { $0.append((report, Threads.current)) }
            } _: {
                let reporter = Shared<UInt>(0)
                let thread = Thread {
                    reporter.access { $0 = Threads.current }
                    SyncDiagnostics.report(.completionDropped, subject: "SyncDiagnosticsTests", message: "dropped")
                }
                thread.join()
                #expect(seen.value.count == 1)
                #expect(seen.value.first?.0.kind == .completionDropped)
                #expect(seen.value.first?.0.subject == "SyncDiagnosticsTests")
                #expect(seen.value.first?.0.message == "dropped")
                #expect(seen.value.first?.1 == reporter.value)
            }
        }

        @Test func aHandlerMayReportWithoutBeingCalledAgain() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                let calls = Shared()
                SyncDiagnostics.setHandler { _ in
                    calls.increment()
                    SyncDiagnostics.report(.wouldDeadlock, subject: "nested", message: "call \(calls.value)")
                }
                SyncDiagnostics.report(.notOwner, subject: "outer", message: "")
                SyncDiagnostics.report(.notOwner, subject: "outer", message: "")
            }
            #expect(
                text(result) == "SwiftSync: would deadlock: nested: call 1\nSwiftSync: would deadlock: nested: call 2\n"
            )
        }

        @Test func aHandlerMayReplaceItself() {
            let first = Shared()
            let second = Shared()
            withHandler { _ in
                first.increment()
                SyncDiagnostics.setHandler { if $0.subject == "SyncDiagnosticsTests" { second.increment() } }
            } _: {
                report(.notOwner, "one")
                report(.notOwner, "two")
            }
            #expect(first.value == 1)
            #expect(second.value == 1)
        }

        @Test func aReplacedHandlerIsReleasedOutsideTheLock() {
            final class Reporting: Sendable {
                deinit { SyncDiagnostics.report(.notOwner, subject: "SyncDiagnosticsTests", message: "released") }
            }
            let released = Shared()
            do {
                let captured = Reporting()
                SyncDiagnostics.setHandler { _ in withExtendedLifetime(captured) {} }
            }
            withHandler {
                if $0.message == "released" { released.increment() }
            } _: {
            }
            #expect(released.value == 1)
        }

        @Test func handlersCanBeExchangedWhileOthersReport() {
            let delivered = Shared()
            withHandler { _ in
                delivered.increment()
            } _: {
                Threads.run(4) { index in
                    for _ in 0..<500 {
                        if index == 0 {
                            SyncDiagnostics.setHandler {
                                if $0.subject == "SyncDiagnosticsTests" { delivered.increment() }
                            }
                        } else {
                            SyncDiagnostics.report(.invalidTimeout, subject: "SyncDiagnosticsTests", message: "")
                        }
                    }
                }
            }
            #expect(delivered.value == 1500)
        }

        /// Before, whoever waited for such a lock did so for ever, and nobody said why. In a process of its own: no
        /// other thread shall get the address of one that has ended.
        @Test func aThreadThatEndsInsideASectionIsReportedByTheOneThatWaits() async {
            await #expect(processExitsWith: .success) {
                let mutex = PriorityMutex(0)
                let section = CriticalSection()
                let value = QueueSafeValue(value: 0)
                let reports = Shared<[(report: Report, thread: UInt)]>([])
                SyncDiagnostics.setHandler { report in reports.access { $0.append((report, Threads.current)) } }
                let waiters = Shared<Set<UInt>>([])
                let go = Flag()
                let waits: [@Sendable () -> Bool] = [
                    { mutex.withLock(priority: .normal, timeout: .milliseconds(1500)) { $0 += 1 } == nil },
                    { !section.executeWithTimeout(1.5) {} },
                    { value.wait(timeout: .milliseconds(1500)).lowestPriority.get() == .failure(.timedOut) },
                ]
                let threads = waits.map { wait in
                    Thread {
                        waiters.access { _ = $0.insert(Threads.current) }
                        waitUntil { go.isRaised }
                        mustHold(wait(), "the lock of a thread that has ended was entered")
                    }
                }
                waitUntil { waiters.value.count == threads.count }
                Thread { mutex.withLock { _ in endThread() } }.join()
                Thread { section.execute { endThread() } }.join()
                Thread { value.wait.lowestPriority.set { _ in endThread() } }.join()
                go.raise()
                threads.forEach { $0.join() }
                mustHold(reports.value.count == 3 && Set(reports.value.map(\.thread)) == waiters.value)
                mustHold(Set(reports.value.map(\.report.subject)).count == 3)
                mustHold(
                    reports.value.allSatisfy {
                        $0.report.kind == .holderEnded && $0.report.message.contains("has ended")
                    })
            }
        }

        @Test func workThatEndsItsThreadIsReportedForItsQueue() async {
            await #expect(processExitsWith: .success) {
                let reports = Shared([Report]())
                SyncDiagnostics.setHandler { report in reports.access { $0.append(report) } }
                let queue = WorkQueue(name: "of the last work")
                queue.async { endThread() }
                waitUntil { !reports.value.isEmpty }
                mustHold(reports.value.map(\.kind) == [.workEndedThread])
                mustHold(reports.value[0].subject == "queue of the last work", "\(reports.value)")
            }
        }

        @Test func withoutAHandlerAReportIsOneLineOnStandardError() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                SyncDiagnostics.report(.invalidTimeout, subject: "subject", message: "first\nsecond")
                SyncDiagnostics.setHandler { _ in }
                SyncDiagnostics.report(.invalidTimeout, subject: "subject", message: "handled")
                SyncDiagnostics.setHandler(nil)
                SyncDiagnostics.report(.invalidTimeout, subject: "subject", message: "third")
            }
            #expect(
                text(result)
                    == "SwiftSync: invalid timeout: subject: first second\nSwiftSync: invalid timeout: subject: third\n"
            )
        }

        /// A full queue used to write a line for each attempt, as many as there are attempts.
        @Test func aHundredThousandRefusalsAreOneLineOnStandardError() async {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                for _ in 0..<100_000 {
                    SyncDiagnostics.report(
                        .refusedWhenFull, subject: "WorkQueue log", message: "work was refused", bound: 10)
                }
            }
            let lines = text(result).split(separator: "\n")
            #expect(lines.first == "SwiftSync: refused when full: WorkQueue log: work was refused (bound: 10)")
            // One more for each second that this took.
            #expect(lines.count < 1000 && lines.dropFirst().allSatisfy { $0.contains(" since the last line)") })
        }

        @Test func aHandlerGetsEveryRefusal() {
            let seen = Shared<[Report]>([])
            withHandler { report in
                seen.append(report)
            } _: {
                for _ in 0..<1000 {
                    SyncDiagnostics.report(
                        .refusedWhenFull, subject: "SyncDiagnosticsTests", message: "work was refused", bound: 3)
                }
            }
            let expected = Report(
                kind: .refusedWhenFull, subject: "SyncDiagnosticsTests", message: "work was refused (bound: 3)")
            #expect(seen.value == [Report](repeating: expected, count: 1000))
        }

        /// It can't wait for room, as other callers do: room comes when it has ended.
        @Test func workThatIsRefusedInsideTheWorkOfAFullQueueIsReportedAsADeadlock() {
            let queue = WorkQueue(name: "inside", capacity: 1, whenFull: .wait), seen = Shared<[Report.Kind]>([])
            SyncDiagnostics.setHandler { report in
                if report.subject == "WorkQueue inside" { seen.append(report.kind) }
            }
            defer { SyncDiagnostics.setHandler(nil) }
            queue.async { #expect(queue.async {} && !queue.async {}) }
            queue.blockingDrain()
            #expect(seen.value == [.wouldDeadlock])
        }

        private func text(_ result: ExitTest.Result?) -> String {
            String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        }
    }
}
