import Testing

@testable import SwiftSync

extension HandlerSettingTests {
    /// What ordered queues report about work that they refuse.
    @Suite struct OrderedQueueReportTests {
        private func reports(_ subject: String, _ body: () -> Void) -> [SyncDiagnostics.Report] {
            let all = Shared([SyncDiagnostics.Report]())
            SyncDiagnostics.setHandler { report in if report.subject == subject { all.append(report) } }
            defer { SyncDiagnostics.setHandler(nil) }
            body()
            return all.value
        }

        @Test func aRefusalAfterAShutdownIsReported() async {
            let queue = FIFOQueue(name: "orders"), ledger = Ledger(queue: ActorQueue(name: "ledger"))
            queue.shutdown()
            ledger.queue.shutdown()
            let first = reports("FIFOQueue orders") { #expect(!queue.enqueue {}) }
            #expect(first.map(\.kind) == [.refusedAfterClose])
            #expect(
                first.first?.message == "work was refused, and released without having run: the queue was shut down")
            let second = reports("ActorQueue ledger") { #expect(!ledger.queue.enqueue { _ in }) }
            #expect(second.map(\.kind) == [.refusedAfterClose])
        }

        @Test func aRefusalOfAFullQueueIsReported() async throws {
            let queue = FIFOQueue(name: "small", capacity: 1, whenFull: .wait), door = await queue.stopAtDoor()
            let all = reports("FIFOQueue small") {
                #expect(queue.enqueue {})
                #expect(!queue.enqueue { mustNotRun() })
            }
            #expect(all.map(\.kind) == [.refusedWhenFull])
            #expect(
                all.first?.message == "work was refused, and released without having run: the queue is full (bound: 1)")
            door.open()
            try await queue.drain()
        }
    }
}
