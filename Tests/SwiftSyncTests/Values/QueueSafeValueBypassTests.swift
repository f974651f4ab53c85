import Dispatch
import Testing

@testable import SwiftSync

/// How many later commands may pass one that waits.
@Suite(.endsInTime)
struct QueueSafeValueBypassTests {
    private typealias Access = @Sendable (inout Int) -> Void

    /// Behind a held value: the names of commands by the order in which they ran, queued one after the other by
    /// `enqueue`.
    private func order(
        _ names: [String], on value: QueueSafeValue<Int>, _ enqueue: (Int, CommandPriority, @escaping Access) -> Void
    ) async -> [String] {
        let entered = Shared<[String]>([]), release = await hold(value)
        for (index, name) in names.enumerated() {
            enqueue(index, priority(of: name)) { _ in entered.append(name) }
            await waitUntil { value.waitingCount == index + 1 }
        }
        release()
        await waitUntil { entered.value.count == names.count }
        return entered.value
    }

    /// `E` and `H` are high, in the order of their names; `L` is the lowest.
    private func priority(of name: String) -> CommandPriority { name.hasPrefix("L") ? .lowest : .high }

    private func syncOrder(_ names: [String], policy: GatePolicy, limit: UInt32) async -> [String] {
        let value = QueueSafeValue(value: 0, policy: policy, bypassLimit: limit)
        return await order(names, on: value) { _, priority, access in
            onThread { value.wait.priority(priority).set(completion: access) }
        }
    }

    @Test(arguments: [GatePolicy.fast, .strict], [UInt32(1), 2, 3])
    func aWaiterIsGrantedWhenSoManyLaterOnesHavePassed(policy: GatePolicy, limit: UInt32) async {
        let passing = (0..<5).map { "H\($0)" }
        var expected = passing
        expected.insert("L", at: Int(limit))
        #expect(await syncOrder(["L"] + passing, policy: policy, limit: limit) == expected)
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func earlierArrivalsDoNotCount(policy: GatePolicy) async {
        let names = ["E0", "E1", "L", "H0", "H1", "H2", "H3"]
        #expect(await syncOrder(names, policy: policy, limit: 2) == ["E0", "E1", "H0", "H1", "L", "H2", "H3"])
    }

    @Test(arguments: [GatePolicy.fast, .strict])
    func eachWaiterHasItsOwnCount(policy: GatePolicy) async {
        // L0 has been passed by H0 and H1, L1 by H1 and, after L0's grant, by H2.
        let names = ["L0", "H0", "L1", "H1", "H2", "H3"]
        #expect(await syncOrder(names, policy: policy, limit: 2) == ["H0", "H1", "L0", "H2", "L1", "H3"])
    }

    @Test
    func withoutALimitThePriorityDecides() async {
        let passing = (0..<5).map { "H\($0)" }
        #expect(await syncOrder(["L"] + passing, policy: .fast, limit: 0) == passing + ["L"])
    }

    @Test(arguments: 0..<3)
    func theLimitHoldsAcrossSchedules(first: Int) async {
        // No grant is lost to a busy executor, which would rightly change the order.
        let value = QueueSafeValue(value: 0, graceMicroseconds: 2_000_000_000, bypassLimit: 3)
        let names = ["L", "H0", "H1", "H2", "H3", "H4"]
        let entered = await order(names, on: value) { index, priority, access in
            switch (index + first) % 3 {
            case 0: onThread { value.wait.priority(priority).set(completion: access) }
            case 1: value.async(performIn: .global()).priority(priority).set(accessClosure: access)
            default: Task.detached { await value.suspending.priority(priority).set(completion: access) }
            }
        }
        #expect(entered == ["H0", "H1", "H2", "L", "H3", "H4"])
    }
}
