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
        var owner: QueueSafeValue<Tracked>? = QueueSafeValue(value: Tracked(alive), graceMicroseconds: 2_000_000_000)
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

    private final class Keeper: @unchecked Sendable {
        var replace: ((Keeper?) -> Result<Keeper?, QueueSafeValueError>)?
        var read: (() -> Result<Keeper?, QueueSafeValueError>)?
    }

    @Test
    func aCommandThatIsNamedAndKeptDoesNotKeepTheOwner() {
        var owner: QueueSafeValue<Keeper?>? = QueueSafeValue(value: Keeper())
        weak let gone = owner
        let keeper = Keeper()
        owner!.wait.lowestPriority.set { $0 = keeper }
        keeper.replace = owner!.wait.lowestPriority.set(newValue:)
        keeper.read = owner!.wait.priority(.high).get
        owner = nil
        #expect(gone == nil)
        if case .failure(.valueContainerDeinited)? = keeper.read?() {} else { Issue.record("the owner was kept") }
        if case .failure(.valueContainerDeinited)? = keeper.replace?(nil) {} else { Issue.record("the owner was kept") }
    }

    @Test
    func aProtocolOfTheUserGetsTheScheduleThatCanBeKept() {
        func schedule(of owner: some Waitable) -> SyncSchedule<Int> { owner.wait }
        var owner: QueueSafeValue<Int>? = QueueSafeValue(value: 1)
        weak let gone = owner
        let kept = schedule(of: owner!)
        owner = nil
        #expect(gone == nil)
        #expect(isFailure(kept.lowestPriority.get()))
    }

    @Test
    func theOwnerMayGoInsideItsOwnCommand() async {
        let alive = Shared(0)
        let owner = Shared<QueueSafeValue<Tracked>?>(QueueSafeValue(value: Tracked(alive)))
        let command = owner.value!.wait.lowestPriority
        command.set { _ in owner.access { $0 = nil } }
        #expect(alive.value == 0)
    }

    /// A command that is called at once refers to its owner, and one that is kept to the box. In both forms everything
    /// else may let go of the owner inside the command, also where a variable held it.
    @Test
    func theLastReferenceToTheOwnerMayGoInsideACommand() async {
        let alive = Shared(0)
        let holder = Holder(alive)
        #expect(succeeds(holder.value!.wait.lowestPriority.set { _ in holder.value = nil }))
        #expect(alive.value == 0)

        holder.values = [QueueSafeValue(value: Tracked(alive))]
        #expect(succeeds(holder.values[0].wait.highestPriority.map { _ in holder.values = [] }))
        #expect(alive.value == 0)

        var owner: QueueSafeValue<Tracked>? = QueueSafeValue(value: Tracked(alive))
        owner!.wait.lowestPriority.set {
            owner = nil
            $0 = Tracked(alive)
        }
        #expect(owner == nil && alive.value == 0)

        holder.value = QueueSafeValue(value: Tracked(alive))
        holder.schedule = holder.value!.wait
        holder.schedule!.priority(.high).set { _ in
            holder.value = nil
            holder.schedule = nil
            #expect(alive.value == 1)
        }
        #expect(alive.value == 0)
    }

    @Test
    func aScheduleThatIsKeptLetsTheOwnerGo() async {
        let alive = Shared(0)
        var owner: QueueSafeValue<Tracked>? = QueueSafeValue(value: Tracked(alive))
        let schedule = owner!.wait, commands = owner!.wait.lowestPriority, more = [owner!.wait.priority(.high)]
        let later = { [wait = owner!.wait] in wait.highestPriority }
        #expect(type(of: schedule) == SyncSchedule<Tracked>.self && type(of: commands) == SyncCommands<Tracked>.self)
        owner = nil
        #expect(alive.value == 0)
        for command in [schedule.highestPriority, commands, later()] + more { #expect(isFailure(command.get())) }
    }

    private func succeeds<T>(_ result: Result<T, QueueSafeValueError>) -> Bool {
        if case .success = result { true } else { false }
    }
}

/// Holds an owner and a schedule in variables, so that a closure can let go of both.
private final class Holder {
    var value: QueueSafeValue<Tracked>?
    var values: [QueueSafeValue<Tracked>] = []
    var schedule: SyncSchedule<Tracked>?

    init(_ alive: Shared<Int>) {
        value = QueueSafeValue(value: Tracked(alive))
    }
}

private protocol Waitable {
    var wait: SyncSchedule<Int> { get }
}

extension QueueSafeValue<Int>: Waitable {}
