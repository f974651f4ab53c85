import Testing

@testable import SwiftSync

/// Sections inside sections of the same coordinator and thread.
@Suite(.endsInTime)
struct ReadWriteCoordinatorNestingTests {
    enum Outer: String, CaseIterable, Codable, Sendable {
        case read, throwingRead, suspendedRead, enqueuedWrite, blockingWrite, throwingWrite, suspendedWrite
        var writes: Bool {
            self == .enqueuedWrite || self == .blockingWrite || self == .throwingWrite || self == .suspendedWrite
        }

        func run(_ coordinator: ReadWriteCoordinator, _ body: @escaping @Sendable () -> Void) async throws {
            switch self {
            case .read: coordinator.read(body)
            case .throwingRead: try coordinator.read(timeout: .never, body)
            case .suspendedRead: try await coordinator.suspending.read(body)
            case .enqueuedWrite:
                coordinator.enqueueWrite(body)
                try await coordinator.suspending.drain()
            case .blockingWrite: coordinator.blockingWrite(body)
            case .throwingWrite: try coordinator.blockingWrite(timeout: .never, body)
            case .suspendedWrite: try await coordinator.suspending.write(body)
            }
        }
    }

    private static let timeouts: [TimeLimit] = [.never, .zero, .seconds(-1), .milliseconds(1), .seconds(3600)]

    @Test(arguments: Outer.allCases)
    func throwingFormsSayThatTheyWouldWaitForThemselves(outer: Outer) async throws {
        let coordinator = ReadWriteCoordinator(), ran = Shared(0)
        try await outer.run(coordinator) {
            for timeout in Self.timeouts {
                #expect(throws: ReadWriteError.wouldDeadlock) {
                    try coordinator.blockingWrite(timeout: timeout) { mustNotRun() }
                }
                if outer.writes {
                    #expect(throws: ReadWriteError.wouldDeadlock) {
                        try coordinator.read(timeout: timeout) { mustNotRun() }
                    }
                } else {
                    #expect(throws: Never.self) {
                        try coordinator.read(timeout: timeout) {
                            ran.increment()
                            #expect(throws: ReadWriteError.wouldDeadlock) {
                                try coordinator.blockingWrite(timeout: timeout) {}
                            }
                        }
                    }
                }
            }
        }
        #expect(ran.value == (outer.writes ? 0 : Self.timeouts.count))
        // It stays usable.
        Threads.run(1) { _ in #expect(coordinator.blockingWrite { coordinator.waitingCount } == 0) }
    }

    @Test(arguments: Outer.allCases)
    func writesMayBeEnqueuedInEverySectionAndRunAfterIt(outer: Outer) async throws {
        let coordinator = ReadWriteCoordinator(), log = Shared([String]())
        try await outer.run(coordinator) {
            #expect(coordinator.enqueueWrite { log.append("enqueued") })
            log.append("section")
        }
        try await coordinator.suspending.drain()
        #expect(log.value == ["section", "enqueued"])
    }

    @Test
    func aNestedReadEntersThoughAWriteWasQueuedInBetween() async throws {
        let coordinator = ReadWriteCoordinator(), log = Shared([Int]())
        for outer in [Outer.read, .throwingRead, .suspendedRead] {
            try await outer.run(coordinator) {
                coordinator.enqueueWrite { log.append(2) }
                let blocked = Thread { coordinator.blockingWrite { log.append(3) } }
                waitUntil { coordinator.waitingCount == 2 }
                coordinator.read { coordinator.read { log.append(0) } }
                #expect(throws: Never.self) { try coordinator.read(timeout: .zero) { log.append(1) } }
                blocked.detach()
            }
            await waitUntil { log.value.count == 4 }
            #expect(
                log.access {
                    let all = $0; $0 = []; return all
                } == [0, 1, 2, 3])
        }
    }

    @Test
    func readsNestAsDeepAsTheStack() {
        let coordinator = ReadWriteCoordinator()
        func descend(_ levels: Int) -> Int {
            levels == 0 ? 0 : coordinator.read { 1 + descend(levels - 1) }
        }
        #expect(descend(1000) == 1000)
        #expect(coordinator.blockingWrite { true })
    }

    @Test
    func oneCoordinatorIsEnteredInsideAnother() {
        let coordinators = (0..<20).map { _ in ReadWriteCoordinator() }
        func descend(_ index: Int) -> Int {
            guard index < coordinators.count else { return index }
            return index % 2 == 0
                ? coordinators[index].read { descend(index + 1) }
                : coordinators[index].blockingWrite { descend(index + 1) }
        }
        for _ in 0..<3 { #expect(descend(0) == 20) }
        Threads.run(1) { _ in coordinators.forEach { $0.drain() } }
    }

    // MARK: - What stops the program

    private func text(_ result: ExitTest.Result?) -> String {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    }

    private func message(_ call: String) -> String {
        "ReadWriteCoordinator orders: \(call) was called inside a section of the same coordinator by the same thread"
    }

    @Test(arguments: [Outer.blockingWrite, .enqueuedWrite, .suspendedWrite])
    func aReadInsideAWriteStopsWithAMessage(outer: Outer) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [outer = outer as Outer] in
            let coordinator = ReadWriteCoordinator(queueLabel: "orders")
            try await outer.run(coordinator) { coordinator.read {} }
        }
        #expect(text(result).contains(message("read")))
    }

    @Test(arguments: [Outer.read, .suspendedRead, .blockingWrite, .enqueuedWrite])
    func aBlockingWriteInsideASectionStopsWithAMessage(outer: Outer) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [outer = outer as Outer] in
            let coordinator = ReadWriteCoordinator(queueLabel: "orders")
            try await outer.run(coordinator) { coordinator.blockingWrite {} }
        }
        #expect(text(result).contains(message("blockingWrite")))
    }

    @Test(arguments: [Outer.read, .enqueuedWrite])
    func drainInsideASectionStopsWithAMessageThatNamesIt(outer: Outer) async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            [outer = outer as Outer] in
            let coordinator = ReadWriteCoordinator(queueLabel: "orders")
            try await outer.run(coordinator) { coordinator.drain() }
        }
        #expect(text(result).contains(message("drain")))
    }
}
