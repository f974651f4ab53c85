import Testing

@testable import SwiftSync

@Suite(.serialized, .endsInTime)
struct CriticalSectionTests {
    private struct Failure: Error {}

    @Test
    func itIsReentrantAndThrowingLeavesItFree() throws {
        let section = CriticalSection(), copy = section
        #expect(section.execute { copy.execute { section.execute { 3 } } } == 3)
        #expect(throws: Failure.self) { try section.execute { try copy.execute { throw Failure() } } }
        #expect(throws: Failure.self) { try section.execute(timeout: 1.0) { throw Failure() } }
        let entered = Shared(false)
        Threads.run(1) { _ in
            let ran = section.execute(timeout: .zero) {}
            entered.access { $0 = ran }
        }
        #expect(entered.value)
    }

    @Test
    func timeouts() {
        let section = CriticalSection(), release = Flag(), inside = Flag()
        let holder = Thread {
            section.execute {
                inside.raise()
                waitUntil { release.isRaised }
            }
        }
        waitUntil { inside.isRaised }
        let clock = ContinuousClock()
        for seconds in [0, -1, -Double.infinity, 0.002] {
            let start = clock.now
            #expect(!section.execute(timeout: seconds) { Issue.record("entered") })
            #expect(!section.executeWithTimeout(seconds) { Issue.record("entered") })
            #expect(seconds < 0.002 || clock.now - start >= .milliseconds(4))
        }
        #expect(!section.execute(timeout: .milliseconds(1)) { Issue.record("entered") })
        release.raise()
        holder.join()
        #expect(section.execute(timeout: .infinity) {})
        #expect(section.executeWithTimeout(1.0) {})
    }

    @Test
    func oneThreadAtATime() {
        let section = CriticalSection()
        nonisolated(unsafe) var count = 0
        Threads.run(6) { _ in for _ in 0..<20_000 { section.execute { section.execute { count += 1 } } } }
        #expect(count == 120_000)
    }
}

extension HandlerSettingTests {
    @Suite struct CriticalSectionReportTests {
        @Test
        func notANumberIsRefusedAndReported() {
            let reports = Shared<[SyncDiagnostics.Report.Kind]>([])
            SyncDiagnostics.setHandler { if $0.subject.hasPrefix("CriticalSection ") { reports.append($0.kind) } }
            defer { SyncDiagnostics.setHandler(nil) }
            #expect(!CriticalSection().execute(timeout: .nan) { Issue.record("ran") })
            #expect(reports.value == [.invalidTimeout])
        }
    }
}
