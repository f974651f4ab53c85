import SwiftSync
import Testing

@Suite struct CommandPriorityTests {
    @Test func namedPrioritiesStandInOrder() {
        let named: [CommandPriority] = [.lowest, .low, .normal, .high, .highest]
        #expect(named == named.shuffled().sorted())
        #expect(named.map(\.rawValue) == [.min, -1024, 0, 1024, .max])
    }

    @Test func anyNumberIsAPriority() {
        #expect(CommandPriority(rawValue: 5) > .normal)
        #expect(CommandPriority(rawValue: 5) < .high)
        #expect(CommandPriority(rawValue: 0) == .normal)
    }

    @Test func taskPrioritiesKeepTheirOrderAndTheirNames() {
        #expect(CommandPriority(TaskPriority.medium) == .normal)
        #expect(CommandPriority(TaskPriority.high) == .high)
        #expect(CommandPriority(TaskPriority.low) == .low)
        let all = (UInt8.min...UInt8.max).map { CommandPriority(TaskPriority(rawValue: $0)) }
        #expect(zip(all, all.dropFirst()).allSatisfy { $1.rawValue - $0.rawValue == 256 })
    }

    @Test func descriptionsNameThePriority() {
        #expect("\(CommandPriority.high) \(CommandPriority(rawValue: -7))" == "high -7")
    }
}
