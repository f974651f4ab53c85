import Dispatch
import Testing

@testable import SwiftSync

/// What happens to commands, and to the value, when the owner goes.
@Suite(.endsInTime)
struct QueueSafeValueLifetimeTests {
    @Test
    func acceptedCommandsSucceedAndLaterOnesFail() async {
        let alive = Shared(0), results = Shared<[String]>([])
        // No grant is lost to a busy executor, which would rightly change the order.
        var owner: QueueSafeValue<Tracked>? = QueueSafeValue(value: Tracked(alive), graceMicroseconds: 60_000_000)
        let early = owner!.wait.lowestPriority, earlyAsync = owner!.async(performIn: .global()).highestPriority
        let release = await hold(owner!)
        for number in 0..<3 {
            owner!.async(performIn: .global()).lowestPriority.get { result in
                if case .success = result { results.append("accepted \(number)") }
            }
        }
        owner = nil
        #expect(alive.value == 1)
        earlyAsync.get { if case .failure(.valueContainerDeinited) = $0 { results.append("refused") } }
        await waitUntil { results.value == ["refused"] }
        release()
        await waitUntil { alive.value == 0 }
        #expect(results.value == ["refused", "accepted 0", "accepted 1", "accepted 2"])
        #expect(isFailure(early.get()))
        #expect(isFailure(early.set { _ in Issue.record("ran after the end") }))
        #expect(isFailure(early.map { _ in Issue.record("ran after the end") }))
        var getRan = false
        early.get { getRan = isFailure($0) }
        #expect(getRan)
    }

    private func isFailure<T>(_ result: Result<T, QueueSafeValueError>) -> Bool {
        if case .failure(.valueContainerDeinited) = result { true } else { false }
    }

    @Test
    func noCommandKeepsTheValue() async {
        let alive = Shared(0)
        do {
            let value = QueueSafeValue(value: Tracked(alive))
            _ = value.wait.lowestPriority.get()
            value.wait.lowestPriority.set(newValue: Tracked(alive))
            #expect(alive.value == 1)
            value.wait.lowestPriority.set { $0 = Tracked(alive) }
            _ = await value.suspending.get()
            let done = Flag()
            value.async(performIn: .global()).lowestPriority.set(newValue: Tracked(alive)) { _ in done.raise() }
            await waitUntil { done.isRaised }
            await waitUntil { alive.value == 1 }
        }
        await waitUntil { alive.value == 0 }
    }

    @Test
    func theOwnerMayGoInsideItsOwnCommand() async {
        let alive = Shared(0)
        let owner = Shared<QueueSafeValue<Tracked>?>(QueueSafeValue(value: Tracked(alive)))
        let command = owner.value!.wait.lowestPriority
        command.set { _ in owner.access { $0 = nil } }
        #expect(alive.value == 0)
    }
}
