import Testing

@testable import SwiftSync

/// Arrival decides, across threads and across the forms in which reads and writes are submitted.
@Suite(.endsInTime)
struct ReadWriteCoordinatorOrderTests {
    private enum Form: CaseIterable {
        case read, timedRead, suspendedRead, enqueuedWrite, blockingWrite, timedWrite, suspendedWrite
    }

    private static func reads(_ form: Form) -> Bool {
        switch form {
        case .read, .timedRead, .suspendedRead: true
        default: false
        }
    }

    /// Submits a section from a thread or task of its own.
    private func submit(_ form: Form, to coordinator: ReadWriteCoordinator, _ body: @escaping @Sendable () -> Void) {
        switch form {
        case .read: onThread { coordinator.read(body) }
        case .timedRead:
            onThread { #expect(throws: Never.self) { try coordinator.read(timeout: .seconds(3600), body) } }
        case .suspendedRead: Task { await #expect(throws: Never.self) { try await coordinator.suspending.read(body) } }
        case .enqueuedWrite: #expect(coordinator.enqueueWrite(body))
        case .blockingWrite: onThread { coordinator.blockingWrite(body) }
        case .timedWrite:
            onThread { #expect(throws: Never.self) { try coordinator.blockingWrite(timeout: .seconds(3600), body) } }
        case .suspendedWrite:
            Task { await #expect(throws: Never.self) { try await coordinator.suspending.write(body) } }
        }
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func whatArrivesLaterRunsLater(seed: UInt64) async {
        var random = Seeded(seed)
        let forms = (0..<40).map { _ in Form.allCases.randomElement(using: &random)! }
        let coordinator = ReadWriteCoordinator(), log = Shared([Int]()), leave = Semaphore(), writing = Shared(0)
        coordinator.enqueueWrite { leave.wait() }
        for (index, form) in forms.enumerated() {
            submit(form, to: coordinator) {
                if !Self.reads(form) {
                    // Whoever is inside together with a write would find this.
                    let inside = writing.access {
                        $0 += 1; return $0
                    }
                    #expect(inside == 1)
                } else {
                    #expect(writing.value == 0)
                }
                log.append(index)
                if !Self.reads(form) { writing.access { $0 -= 1 } }
            }
            await waitUntil { coordinator.waitingCount == index + 1 }
        }
        leave.signal()
        await waitUntil { log.value.count == forms.count }
        // Reads next to each other run together, in any order; nothing else is out of place.
        var expected = [Int](), ran = log.value
        for (index, form) in forms.enumerated() {
            if Self.reads(form), let last = expected.last, Self.reads(forms[last]) {
                let run = ran[...index].lastIndex { !Self.reads(forms[$0]) }.map { $0 + 1 } ?? 0
                ran[run...index].sort()
            }
            expected.append(index)
        }
        #expect(ran == expected)
    }

    @Test
    func whatWasWrittenBeforeIsReadAndWhatIsWrittenLaterIsNot() {
        let coordinator = ReadWriteCoordinator(), state = Unprotected(0)
        for round in 1...500 {
            coordinator.enqueueWrite { state.value = round }
            #expect(coordinator.read { state.value } == round)
            let seen: Int = coordinator.read {
                coordinator.enqueueWrite { state.value = -round }
                return state.value
            }
            #expect(seen == round)
            #expect(coordinator.blockingWrite { state.value } == -round)
        }
    }

    @Test
    func readsRunTogether() {
        let coordinator = ReadWriteCoordinator(), inside = Shared(0)
        Threads.run(5) { _ in
            coordinator.read {
                inside.increment()
                waitUntil { inside.value == 5 }
            }
        }
        #expect(inside.value == 5)
    }

    @Test
    func suspendedReadsRunTogetherAndWithThoseOfThreads() async throws {
        let coordinator = ReadWriteCoordinator(), inside = Shared(0),
            meet: @Sendable () -> Void = {
                inside.increment()
                waitUntil { inside.value == 3 }
            }
        async let first: Void = coordinator.suspending.read(meet)
        async let second: Void = coordinator.suspending.read(meet)
        onThread { coordinator.read(meet) }
        _ = try await (first, second)
        #expect(inside.value == 3)
    }

    @Test
    func theWritesOfEachThreadKeepItsOrder() {
        let coordinator = ReadWriteCoordinator(), log = Unprotected([[Int]](repeating: [], count: 4))
        Threads.run(4) { thread in
            for number in 0..<2000 {
                switch number % 8 {
                case 0: coordinator.blockingWrite { log.value[thread].append(number) }
                case 1:
                    coordinator.read { #expect(log.value[thread].count == number) }
                    coordinator.enqueueWrite { log.value[thread].append(number) }
                default: coordinator.enqueueWrite { log.value[thread].append(number) }
                }
            }
        }
        coordinator.drain()
        #expect(log.value == [[Int]](repeating: Array(0..<2000), count: 4))
    }

    @Test
    func drainWaitsForAllThatWasSubmitted() async throws {
        let coordinator = ReadWriteCoordinator(), count = Shared(0)
        for round in 1...50 {
            for _ in 0..<20 { coordinator.enqueueWrite { count.increment() } }
            if round % 2 == 0 {
                Threads.run(1) { _ in coordinator.drain() }
            } else {
                try await coordinator.suspending.drain()
            }
            #expect(count.value == round * 20)
        }
    }

    @Test
    func resultsAndErrorsComeOutAndTheCoordinatorIsLeft() async throws {
        struct Failure: Error {}
        let coordinator = ReadWriteCoordinator(queueLabel: "named")
        #expect(coordinator.queueLabel == "named")
        #expect(coordinator.read { 1 } == 1)
        #expect(coordinator.blockingWrite { 2 } == 2)
        #expect(try coordinator.read(timeout: .zero) { 3 } == 3)
        #expect(try coordinator.blockingWrite(timeout: .never) { 4 } == 4)
        #expect(try await coordinator.suspending.read { 5 } == 5)
        #expect(try await coordinator.suspending.write { 6 } == 6)
        for _ in 0..<3 {
            #expect(throws: Failure.self) { try coordinator.read { throw Failure() } }
            #expect(throws: Failure.self) { try coordinator.blockingWrite { throw Failure() } }
            #expect(throws: Failure.self) { try coordinator.read(timeout: .never) { throw Failure() } }
            #expect(throws: Failure.self) { try coordinator.blockingWrite(timeout: .seconds(1)) { throw Failure() } }
            await #expect(throws: Failure.self) { try await coordinator.suspending.read { throw Failure() } }
            await #expect(throws: Failure.self) { try await coordinator.suspending.write { throw Failure() } }
            Threads.run(1) { _ in
                #expect(throws: Never.self) { try coordinator.blockingWrite(timeout: .zero) {} }
            }
        }
    }
}
