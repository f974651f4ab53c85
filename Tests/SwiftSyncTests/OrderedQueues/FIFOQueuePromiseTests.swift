import Glibc
import Testing

@testable import SwiftSync

/// What a FIFO queue leaves to the rest of the program.
@Suite(.endsInTime)
struct FIFOQueuePromiseTests {
    @Test func shortWorkWithoutEndLeavesTheThreadsToOtherTasks() async {
        let isOver = Flag(), begun = Shared()
        // More of them than the pool has threads.
        let queues = (0..<(2 * sysconf(Int32(_SC_NPROCESSORS_ONLN)))).map { _ in FIFOQueue() }
        @Sendable func again(_ queue: FIFOQueue) {
            queue.enqueue {
                if !isOver.isRaised { again(queue) }
            }
        }
        for queue in queues {
            queue.enqueue { begun.increment() }
            for _ in 0..<4 { again(queue) }
        }
        // Without their leaving the threads now and then, this task would never have one.
        await Task.detached(priority: .background) { await Task.yield() }.value
        await waitUntil { begun.value == queues.count }
        isOver.raise()
        for queue in queues { try? await queue.drain() }
    }
}
