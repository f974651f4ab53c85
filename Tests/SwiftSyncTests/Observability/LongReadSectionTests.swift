import CSyncKernel
import Synchronization
import Testing

@testable import SwiftSync

extension HandlerSettingTests {
    @Suite(.endsInTime, .serialized)
    struct LongReadSectionTests {
        /// Stays in a read until it is reported, and returns the message of that report and of its end. `replace` makes
        /// something wait for the read.
        private func messages(
            limit: Duration = .milliseconds(50), of read: @escaping @Sendable (_ body: () -> Void) -> Void,
            replace: () -> Void
        ) -> [String] {
            let found = Shared([String]()), thread = Atomic<Int32>(0), isInside = Flag(), mayLeave = Flag()
            SyncDiagnostics.setHandler { report in
                guard report.kind == .memoryWaits else { return }
                // Another test's read may last for long as well.
                let isNamed = report.message.contains("thread \(thread.load(ordering: .sequentiallyConsistent)) ")
                found.access { if isNamed || !$0.isEmpty { $0.append(report.message) } }
            }
            SyncDiagnostics.watchesReads(longerThan: limit)
            let reader = Thread {
                read {
                    thread.store(csk_thread_id(), ordering: .sequentiallyConsistent)
                    isInside.raise()
                    waitUntil { mayLeave.isRaised }
                }
            }
            waitUntil { isInside.isRaised }
            replace()
            waitUntil { !found.value.isEmpty }
            mayLeave.raise()
            waitUntil { found.value.count >= 2 }
            reader.join()
            SyncDiagnostics.watchesReads(longerThan: .seconds(1))
            SyncDiagnostics.setHandler(nil)
            return found.value
        }

        private func expectBoth(_ messages: [String]) {
            #expect(messages.first?.contains(" objects wait for reads that have lasted for ") == true)
            #expect(messages.dropFirst().first?.hasPrefix("the reads have ended for which it has waited for ") == true)
        }

        @Test func aReadOfASnapshotThatLastsIsReportedWhileAVersionWaitsForIt() {
            let snapshot = Snapshot([1])
            expectBoth(messages(of: { body in snapshot.read { _ in body() } }, replace: { snapshot.store([2]) }))
        }

        @Test func aReadOfADictionaryThatLastsIsReportedWhileAnEntryWaitsForIt() {
            let dictionary = SnapshotDictionary(["a": 1])
            expectBoth(
                messages(
                    of: { body in dictionary.read("a") { _ in body() } },
                    replace: { dictionary.updateValue(2, forKey: "a") }))
        }

        @Test func aLimitOfNothingIsAMillisecond() {
            let snapshot = Snapshot([1])
            expectBoth(
                messages(limit: .zero, of: { body in snapshot.read { _ in body() } }, replace: { snapshot.store([2]) }))
        }

        @Test func withoutALimitNoReadIsReported() {
            let snapshot = Snapshot([1]), reports = Atomic(0), thread = Atomic<Int32>(0)
            let isInside = Flag(), mayLeave = Flag()
            SyncDiagnostics.watchesReads(longerThan: nil)
            SyncDiagnostics.setHandler { report in
                let reader = thread.load(ordering: .sequentiallyConsistent)
                guard report.kind == .memoryWaits, report.message.contains("thread \(reader) ") else { return }
                reports.add(1, ordering: .sequentiallyConsistent)
            }
            let reader = Thread {
                snapshot.read { _ in
                    thread.store(csk_thread_id(), ordering: .sequentiallyConsistent)
                    isInside.raise()
                    waitUntil { mayLeave.isRaised }
                }
            }
            waitUntil { isInside.isRaised }
            snapshot.store([2])
            // More than the second that is the limit otherwise would need.
            let until = csk_deadline_after(2_000_000_000)
            waitUntil { csk_now() >= until }
            #expect(reports.load(ordering: .sequentiallyConsistent) == 0)
            mayLeave.raise()
            reader.join()
            SyncDiagnostics.watchesReads(longerThan: .seconds(1))
            SyncDiagnostics.setHandler(nil)
        }
    }
}
