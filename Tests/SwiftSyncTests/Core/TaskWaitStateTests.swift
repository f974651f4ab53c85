import Testing

@testable import SwiftSync

/// The word behind every task's wait, as a value: each order of the steps that a task, a canceller, a timer and a
/// granter can take.
@Suite
struct TaskWaitStateTests {
    private static let granted: Int32 = 0, cancelled: Int32 = 125, late: Int32 = 110

    /// One wait and all who have to do with it. Each participant takes its steps in order; a withdrawal is a step of
    /// its own, so that a grant may come between the decision to withdraw and the withdrawal.
    private struct Scene {
        enum Step: Hashable { case park, register, giveUp(Int32), grant }

        var state = TaskWaitState()
        var participants: [[Step]]
        var withdrawals: [Int32] = []
        var resumptions: [Int32] = []
        var withdrawn = 0
        /// Whether what the wait is registered with decides, as the kernel does, or the word itself.
        let hasKernel: Bool
        var kernelAnswer: Int32?

        private mutating func resolve(_ status: Int32) {
            if state.resolve(status) == .mustResume { resumptions.append(status) }
        }

        /// The kernel answers once, and not before it knows the wait.
        private mutating func answer(_ status: Int32) {
            if !hasKernel { return resolve(status) }
            if kernelAnswer == nil {
                kernelAnswer = status
                resolve(status)
            }
        }

        mutating func take(_ step: Step) {
            switch step {
            case .park: if case .goesOn(let status) = state.park() { resumptions.append(status) }
            case .register: if let cause = state.register() { withdrawals.append(cause) }
            case .giveUp(let cause): if let cause = state.giveUp(cause) { withdrawals.append(cause) }
            case .grant: answer(granted)
            }
        }

        mutating func withdraw() {
            withdrawn += 1
            answer(withdrawals.removeFirst())
        }

        var isOver: Bool { participants.allSatisfy(\.isEmpty) && withdrawals.isEmpty }
    }

    /// Calls `check` with the end of each order of the steps.
    private func explore(_ scene: Scene, _ ends: inout Int, _ check: (Scene) -> Void) {
        if scene.isOver {
            ends += 1
            return check(scene)
        }
        for index in scene.participants.indices where !scene.participants[index].isEmpty {
            var next = scene
            next.take(next.participants[index].removeFirst())
            explore(next, &ends, check)
        }
        if !scene.withdrawals.isEmpty {
            var next = scene
            next.withdraw()
            explore(next, &ends, check)
        }
    }

    @Test(arguments: [false, true])
    func inEachOrderOfGrantTimeoutAndCancellationExactlyOneResumesTheTask(hasKernel: Bool) {
        let task: [Scene.Step] = [.park, .register]
        let granter: [[Scene.Step]] = [[.grant], []]
        var ends = 0, outcomes = Set<Int32>()
        for grants in granter {
            let others: [[Scene.Step]] = [[.giveUp(Self.cancelled)], [.giveUp(Self.late)], grants]
            let scene = Scene(participants: [task] + others, hasKernel: hasKernel)
            explore(scene, &ends) { end in
                #expect(end.resumptions == [end.state.outcome].compactMap { $0 })
                #expect(end.resumptions.count == 1)
                // The first cause counts, and asks for one withdrawal at most; without a grant, for exactly one.
                #expect(end.withdrawn <= 1 && (end.withdrawn == 1 || !grants.isEmpty))
                if let first = end.resumptions.first, first != Self.granted { #expect(first == end.state.cause) }
                outcomes.insert(end.resumptions.first ?? -1)
            }
        }
        #expect(ends > 100)
        #expect(outcomes == [Self.granted, Self.cancelled, Self.late])
    }

    /// The answers of a row of steps, in order.
    private func run(_ steps: [(inout TaskWaitState) -> String], _ state: inout TaskWaitState) -> [String] {
        steps.map { $0(&state) }
    }

    private func park(_ state: inout TaskWaitState) -> String { "\(state.park())" }
    private func register(_ state: inout TaskWaitState) -> String { "\(state.register() ?? -1)" }
    private func beginAgain(_ state: inout TaskWaitState) -> String { "\(state.beginAgain() ?? -1)" }
    private func grant(_ state: inout TaskWaitState) -> String { "\(state.resolve(Self.granted))" }
    private func cancel(_ state: inout TaskWaitState) -> String { "\(state.giveUp(Self.cancelled) ?? -1)" }

    @Test
    func aWaitWithoutACauseIsNotWithdrawn() {
        var state = TaskWaitState()
        let answers = run([park, register, grant, grant, cancel], &state)
        #expect(answers == ["stays", "-1", "mustResume", "lost", "-1"])
        #expect(state.outcome == Self.granted && state.cause == nil)
    }

    @Test
    func aTaskThatComesAfterTheGrantGoesOn() {
        var state = TaskWaitState()
        let answers = run([grant, park, register], &state)
        #expect(answers == ["won", "goesOn(0)", "-1"])
    }

    @Test
    func aCauseIsKeptForTheNextWaitAndAnOutcomeIsNot() {
        var state = TaskWaitState()
        let first = run([park, register, grant, beginAgain], &state)
        #expect(first == ["stays", "-1", "mustResume", "-1"])
        #expect(state.outcome == nil)
        // It is not registered again yet: whoever registers it withdraws it.
        let second = run([park, cancel, register, cancel, grant, beginAgain], &state)
        #expect(second == ["stays", "-1", "125", "-1", "mustResume", "125"])
    }

    @Test
    func everyErrnoValueFits() {
        for status in Int32(0)...4095 {
            var state = TaskWaitState()
            _ = state.giveUp(status)
            _ = state.resolve(4095 - status)
            let cause = state.cause, outcome = state.outcome
            #expect(cause == status && outcome == 4095 - status)
        }
    }
}
