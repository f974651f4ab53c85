import Dispatch
import Testing

@testable import SwiftSync

/// The order among commands that wait, whatever their schedule.
@Suite(.endsInTime)
struct QueueSafeValueOrderTests {
    private static let schedules = ["sync", "async", "suspended"]

    /// Queues one command behind a held value, and returns once it waits.
    private func queue(
        _ name: String, _ rank: String, on value: QueueSafeValue<Int>, into entered: Shared<[String]>,
        _ schedule: String, at position: Int
    ) async {
        let append: @Sendable (inout Int) -> Void = { _ in entered.append(name) }
        switch schedule {
        case "sync":
            onThread {
                switch rank {
                case "H": value.wait.highestPriority.set(completion: append)
                case "L": value.wait.lowestPriority.set(completion: append)
                default: value.wait.priority(CommandPriority(rawValue: Int32(rank)!)).set(completion: append)
                }
            }
        case "async":
            let commands = value.async(performIn: .global())
            switch rank {
            case "H": commands.highestPriority.set(accessClosure: append)
            case "L": commands.lowestPriority.set(accessClosure: append)
            default: commands.priority(CommandPriority(rawValue: Int32(rank)!)).set(accessClosure: append)
            }
        default:
            Task.detached {
                switch rank {
                case "H": await value.suspending.highestPriority.set(completion: append)
                case "L": await value.suspending.lowestPriority.set(completion: append)
                default:
                    await value.suspending.priority(CommandPriority(rawValue: Int32(rank)!)).set(completion: append)
                }
            }
        }
        await waitUntil { value.waitingCount == position + 1 }
    }

    private func order(_ ranks: [String], schedules: (Int) -> String) async -> [String] {
        // No grant is lost to a busy executor, which would rightly change the order.
        let value = QueueSafeValue(value: 0, graceMicroseconds: 2_000_000_000)
        let entered = Shared<[String]>([]), release = await hold(value)
        for (index, rank) in ranks.enumerated() {
            await queue("\(rank)\(index)", rank, on: value, into: entered, schedules(index), at: index)
        }
        release()
        await waitUntil { entered.value.count == ranks.count }
        return entered.value
    }

    @Test(arguments: schedules)
    func theLastHighestIsFirstAndTheLastLowestIsLast(schedule: String) async {
        #expect(await order(["H", "L", "H", "L", "H", "L"]) { _ in schedule } == ["H4", "H2", "H0", "L1", "L3", "L5"])
    }

    @Test
    func schedulesShareOneOrder() async {
        let expected = ["H4", "H2", "H0", "L1", "L3", "L5"]
        #expect(await order(["H", "L", "H", "L", "H", "L"]) { Self.schedules[$0 % 3] } == expected)
        #expect(await order(["H", "L", "H", "L", "H", "L"]) { Self.schedules[($0 + 1) % 3] } == expected)
    }

    @Test
    func prioritiesStandBetweenTheNamedEnds() async {
        let ranks = ["L", "0", "2147483647", "H", "-2147483648", "7", "0", "2147483647", "L"]
        let expected = ["H3", "21474836472", "21474836477", "75", "01", "06", "-21474836484", "L0", "L8"]
        #expect(await order(ranks) { Self.schedules[$0 % 3] } == expected)
    }

    @Test(arguments: ["one queue", "the global queue"])
    func aHundredThousandAsyncCommandsAtOnceRunInOrder(place: String) async {
        let count = 100_000
        let queue = place == "one queue" ? DispatchQueue(label: "serial") : .global()
        let value = QueueSafeValue(value: [Int](), graceMicroseconds: 2_000_000_000), release = await hold(value)
        for number in 0..<count {
            value.async(performIn: queue).lowestPriority.set(accessClosure: { $0.append(number) })
        }
        #expect(value.waitingCount == count)
        let order = await withUnsafeContinuation { continuation in
            value.async(performIn: queue).lowestPriority.get { continuation.resume(returning: $0) }
            release()
        }
        #expect(order.map { $0 == Array(0..<count) } == .success(true))
    }
}
