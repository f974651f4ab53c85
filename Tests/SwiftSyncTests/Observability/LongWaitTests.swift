import Dispatch
import Testing

@testable import SwiftSync

extension HandlerSettingTests {
    @Suite(.endsInTime, .serialized)
    struct LongWaitTests {
        /// Has `waits` block at a held mutex until that is reported, and returns the report.
        private func report(
            _ name: String, _ waits: @escaping @Sendable (PriorityMutex<Int>) -> Void
        ) -> SyncDiagnostics.Report? {
            let mutex = PriorityMutex(0, name: name)
            return report(ofWaitsFor: name) { isReported in
                mutex.withLock { _ in
                    waits(mutex)
                    isReported.wait()
                }
            }
        }

        /// The report of a long wait for what has that name. `waits` has somebody wait until that is reported.
        private func report(
            ofWaitsFor name: String, _ waits: (DispatchSemaphore) -> Void
        ) -> SyncDiagnostics.Report? {
            let found = Shared<SyncDiagnostics.Report?>(nil), isReported = DispatchSemaphore(value: 0)
            SyncDiagnostics.setHandler { report in
                guard report.kind == .longWait, report.subject.contains(name) else { return }
                found.access { $0 = report }
                isReported.signal()
            }
            waits(isReported)
            SyncDiagnostics.setHandler(nil)
            return found.value
        }

        /// A thread that has said that it must not block.
        private func markedThread(_ body: @escaping @Sendable () -> Void) -> Thread {
            Thread {
                do { try SyncDiagnostics.markThread(mustNotBlock: true) } catch { Issue.record(error) }
                body()
            }
        }

        @Test func `a task that blocks its thread is reported`() throws {
            try SyncDiagnostics.watchesTasks(true)
            let report = report("long wait of a task") { mutex in
                Task { mutex.withLock { $0 += 1 } }
            }
            try SyncDiagnostics.watchesTasks(false)
            #expect(report?.message.contains(", which must not block, has waited") == true)
            #expect(report?.message.hasPrefix("thread ") == true)
            #expect(report?.subject.hasPrefix("mutex long wait of a ") == true)
        }

        @Test func `a task of the main actor that blocks is reported`() throws {
            try SyncDiagnostics.watchesTasks(true)
            let report = report("long wait of the main actor") { mutex in
                Task { @MainActor in mutex.withLock { $0 += 1 } }
            }
            try SyncDiagnostics.watchesTasks(false)
            #expect(report?.message.hasPrefix("the main actor, which must not block, has waited for it for ") == true)
        }

        @Test func `a thread that has said so is reported`() {
            let report = report("long wait of a loop") { mutex in
                DispatchQueue.global().async {
                    do { try SyncDiagnostics.markThread(mustNotBlock: true) } catch { Issue.record(error) }
                    mutex.withLock { $0 += 1 }
                    do { try SyncDiagnostics.markThread(mustNotBlock: false) } catch { Issue.record(error) }
                }
            }
            #expect(report?.message.contains("must not block") == true)
            #expect(report?.subject.hasPrefix("mutex long wait of a ") == true)
        }

        @Test func `the subject says what the thread waits for`() {
            let lock = ReadWriteLock(0, name: "long wait to read")
            let toRead = report(ofWaitsFor: lock.name) { isReported in
                let thread = lock.withWriteLock { _ in
                    let thread = markedThread { lock.withReadLock { _ in } }
                    isReported.wait()
                    return thread
                }
                thread.join()
            }
            #expect(toRead?.subject.hasPrefix("read-write lock long wait to read at 0x") == true)

            let permits = PrioritySemaphore(value: 0, name: "long wait for a permit")
            let forPermit = report(ofWaitsFor: permits.name) { isReported in
                let thread = markedThread { _ = try? permits.blockingWait() }
                isReported.wait()
                do { try permits.signal() } catch { Issue.record(error) }
                thread.join()
            }
            #expect(forPermit?.subject.hasPrefix("semaphore long wait for a permit at 0x") == true)

            let queue = BlockingPriorityQueue<Int>(name: "long wait for an element")
            let forElement = report(ofWaitsFor: queue.name) { isReported in
                let thread = markedThread { _ = queue.pop() }
                isReported.wait()
                queue.push(1)
                thread.join()
            }
            #expect(forElement?.subject.hasPrefix("priority queue long wait for an element at 0x") == true)
        }
    }
}
