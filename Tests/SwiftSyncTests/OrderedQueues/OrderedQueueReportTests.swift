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
            #expect(first.map(\.kind) == [.refusedAfterShutdown])
            #expect(
                first.first?.message == "work was refused, and released without having run: the queue was shut down")
            let second = reports("ActorQueue ledger") { #expect(!ledger.queue.enqueue { _ in }) }
            #expect(second.map(\.kind) == [.refusedAfterShutdown])
        }

        private actor Account {
            nonisolated let queue: ActorQueue<Account>
            private let enqueue: @Sendable (ActorQueue<Account>) -> Void

            init(_ queue: ActorQueue<Account>, atEnd enqueue: @escaping @Sendable (ActorQueue<Account>) -> Void) {
                self.queue = queue
                self.enqueue = enqueue
                queue.adoptExecutionContext(of: self)
            }

            deinit { enqueue(queue) }
        }

        /// It used to stop the program.
        @Test(arguments: [nil, 1], [false, true])
        func workThatAnActorEnqueuesFromItsDeinitIsRefusedReleasedAndReported(capacity: Int?, inherits: Bool) async {
            let queue = ActorQueue<Account>(name: "account", capacity: capacity, whenFull: .wait)
            let accepted = Shared<[Bool]>([]), alive = Shared()
            let enqueue: @Sendable (ActorQueue<Account>) -> Void = { queue in
                let captured = Tracked(alive)
                accepted.append(
                    queue.enqueue(inheritingTaskLocals: inherits) { _ in
                        withExtendedLifetime(captured) { mustNotRun() }
                    })
            }
            let all = reports("ActorQueue account") {
                do { _ = Account(queue, atEnd: enqueue) }
                enqueue(queue) // later is not different
            }
            #expect(accepted.value == [false, false] && alive.value == 0)
            #expect(all.map(\.kind) == [.refusedAfterShutdown, .refusedAfterShutdown])
            #expect(
                all.allSatisfy {
                    $0.message == "work was refused, and released without having run: the queue's actor has ended"
                })
            #expect(queue.waitingCount == 0 && queue.beyondBoundCount == 0)
            await #expect(throws: OrderedQueueError.shutDown) { try await queue.enqueueWaitingForRoom { _ in } }
        }

        /// The queue of an actor that enqueued from its `deinit` is not held up, nor lost: it refuses the next as well.
        @Test func threadsThatEnqueueAtOnceAfterTheEndOfTheActorAreRefusedOrReleased() {
            let queue = ActorQueue<Account>(name: "account"), alive = Shared(), refused = Shared()
            do { _ = Account(queue, atEnd: { _ in }) }
            _ = reports("nothing") {
                Threads.run(4) { _ in
                    for _ in 0..<500 {
                        let captured = Tracked(alive)
                        if !queue.enqueue({ _ in withExtendedLifetime(captured) { mustNotRun() } }) {
                            refused.increment()
                        }
                    }
                }
                #expect(!queue.enqueue { _ in })
            }
            #expect(refused.value > 0 && alive.value == 0 && queue.waitingCount == 0)
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
