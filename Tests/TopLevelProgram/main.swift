import SwiftSync

// Code at the top level of a program that waits for a queue: WorkQueueTurnTests runs it.
let queue = WorkQueue(name: "top level"), count = PriorityMutex(0)
for _ in 0..<3 { queue.async { count.withLock { $0 += 1 } } }
try await queue.drain()
let sum = await queue.run { count.withLock { $0 } }
print("drained", sum)
