import SwiftSync
import Testing

/// In which order commands run.
@Suite struct CommandQueueOrderTests {
    private let queue = CommandQueue()
    private let log = Shared<[String]>([])

    private func append(_ name: String, _ priority: CommandQueue.Priority) {
        queue.append(priority: priority) { [log] in log.append(name) }
    }

    @Test func highestCommandsRunLastInFirstOutAndLowestOnesInTheOrderTheyCame() {
        for index in 0..<3 {
            append("H\(index)", .highest)
            append("L\(index)", .lowest)
        }
        queue.perform()
        #expect(log.value == ["H2", "H1", "H0", "L0", "L1", "L2"])
    }

    @Test func prioritiesStandBetweenHighestAndLowest() {
        append("lowest", .lowest)
        append("least", .priority(.lowest))
        append("normal 0", .priority(.normal))
        append("most 0", .priority(.highest))
        append("highest", .highest)
        append("most 1", .priority(.highest))
        append("high", .priority(.high))
        append("normal 1", .priority(.normal))
        append("low", .priority(.low))
        queue.perform()
        #expect(log.value == ["highest", "most 0", "most 1", "high", "normal 0", "normal 1", "low", "least", "lowest"])
    }

    @Test func nothingRunsBeforePerform() {
        append("waiting", .highest)
        #expect(log.value.isEmpty)
    }

    @Test func performOnAnEmptyQueueDoesNothing() {
        queue.perform()
        queue.perform()
        #expect(log.value.isEmpty)
    }

    @Test func commandsAppendedByCommandsRunInTheSamePerformByPriority() {
        queue.append(priority: .lowest) { [queue, log] in
            log.append("first")
            queue.append(priority: .lowest) { log.append("last") }
            queue.append(priority: .highest) { log.append("second") }
        }
        append("third", .lowest)
        queue.perform()
        #expect(log.value == ["first", "second", "third", "last"])
    }

    @Test func commandsRunOnThePerformingThread() {
        let ran = Shared<UInt>(0)
        queue.append(priority: .lowest) { ran.access { $0 = Threads.current } }
        queue.perform()
        #expect(ran.value == Threads.current)
    }

    @Test func aMillionQueuedCommandsRunInOrder() {
        let next = Shared<(Int, Bool)>((0, true))
        for index in 0..<1_000_000 {
            queue.append(priority: .lowest) {
                next.access { state in
                    state.1 = state.1 && state.0 == index
                    state.0 += 1
                }
            }
        }
        queue.perform()
        #expect(next.value == (1_000_000, true))
    }

    @Test func aChainOfCommandsThatAppendAndPerformNeedsNoStack() {
        let queue = queue
        let left = Shared<Int>(1_000_000)
        @Sendable func step() {
            if left.access({
                $0 -= 1; return $0 == 0
            }) {
                return
            }
            queue.append(priority: .highest) { step() }
            queue.perform()
        }
        queue.append(priority: .highest) { step() }
        queue.perform()
        #expect(left.value == 0)
    }
}
