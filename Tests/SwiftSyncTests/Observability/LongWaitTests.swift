import Dispatch
import Synchronization
import Testing

@testable import SwiftSync

extension HandlerSettingTests {
    @Suite(.endsInTime, .serialized)
    struct LongWaitTests {
        /// Has `waits` block at a held mutex until that is reported, and returns the report's message.
        private func message(_ name: String, _ waits: @escaping @Sendable (PriorityMutex<Int>) -> Void) -> String {
            let mutex = PriorityMutex(0, name: name)
            let message = Mutex(""), isReported = DispatchSemaphore(value: 0)
            SyncDiagnostics.setHandler { report in
                guard report.kind == .longWait, report.subject.contains(name) else { return }
                message.withLock { $0 = report.message }
                isReported.signal()
            }
            mutex.withLock { _ in
                waits(mutex)
                isReported.wait()
            }
            SyncDiagnostics.setHandler(nil)
            return message.withLock { $0 }
        }

        @Test func `a task that blocks its thread is reported`() throws {
            try SyncDiagnostics.watchesTasks(true)
            let message = message("long wait of a task") { mutex in
                Task { mutex.withLock { $0 += 1 } }
            }
            try SyncDiagnostics.watchesTasks(false)
            #expect(message.contains("must not block"))
        }

        @Test func `a task of the main actor that blocks is reported`() throws {
            try SyncDiagnostics.watchesTasks(true)
            let message = message("long wait of the main actor") { mutex in
                Task { @MainActor in mutex.withLock { $0 += 1 } }
            }
            try SyncDiagnostics.watchesTasks(false)
            #expect(message.contains("must not block"))
        }

        @Test func `a thread that has said so is reported`() {
            let message = message("long wait of a loop") { mutex in
                DispatchQueue.global().async {
                    do { try SyncDiagnostics.markThread(mustNotBlock: true) } catch { Issue.record(error) }
                    mutex.withLock { $0 += 1 }
                    do { try SyncDiagnostics.markThread(mustNotBlock: false) } catch { Issue.record(error) }
                }
            }
            #expect(message.contains("must not block"))
        }
    }
}
