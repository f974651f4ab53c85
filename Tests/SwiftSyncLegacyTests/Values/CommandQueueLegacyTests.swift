import SwiftSync
import Testing

/// Code in the style of users who have not moved to Swift 6: closures that capture mutable state and are not `@Sendable`.
@Suite struct CommandQueueLegacyTests {
    private final class Log {
        var lines: [String] = []
    }

    @Test func closuresThatCaptureMutableStateCompileSilently() {
        let commandQueue = CommandQueue()
        let log = Log()
        var count = 0
        for index in 0..<3 {
            commandQueue.append(priority: .highest) { log.lines.append("H\(index)") }
            commandQueue.append(priority: .lowest, closure: { log.lines.append("L\(index)"); count += 1 })
        }
        commandQueue.perform()
        #expect(log.lines == ["H2", "H1", "H0", "L0", "L1", "L2"])
        #expect(count == 3)
    }

    @Test func aStoredClosureOfTheOldTypeCanBeAppendedAndPerformed() {
        let commandQueue = CommandQueue()
        var calls = 0
        let closure: () -> Void = { calls += 1 }
        commandQueue.append(priority: .lowest, closure: closure)
        commandQueue.performNow(closure: closure)
        commandQueue.perform()
        #expect(calls == 2)
    }
}
