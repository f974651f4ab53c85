import Testing

extension Trait where Self == CountsAlone {
    /// Runs a suite or a test while no other with this trait runs. `SyncMetrics` and `ContentionProfile` count for the
    /// whole process: a test that stops one of them stops it for the tests beside it, too.
    static var countsAlone: Self { CountsAlone() }
}

struct CountsAlone: SuiteTrait, TestTrait, TestScoping {
    private static let turn = Turn()

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Self.turn.take()
        do {
            try await function()
        } catch {
            await Self.turn.leave()
            throw error
        }
        await Self.turn.leave()
    }
}

/// A lock for tasks. Those of the library would be seen by tests of views.
private actor Turn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        guard isTaken else { return isTaken = true }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
