import SwiftSync

extension Operation {
    static var locks: [Operation] {
        let mutex = PriorityMutex(0), strict = PriorityMutex(0, policy: .strict), section = CriticalSection()
        let lock = ReadWriteLock(0), coordinator = ReadWriteCoordinator()
        let dictionary = SnapshotDictionary([1: 1]), local = ThreadLocalValue<Int>(key: "set")
        return [
            of("PriorityMutex.withLock, strict") { strict.withLock { $0 &+= 1 } },
            of("PriorityMutex.withLockIfAvailable") { mutex.withLockIfAvailable { $0 &+= 1 } },
            of("PriorityMutex.withLock(priority:timeout:)") {
                _ = mutex.withLock(priority: .high, timeout: .seconds(1)) { $0 &+= 1 }
            },
            of("CriticalSection.execute, and once more inside") { section.execute { section.execute {} } },
            of("ReadWriteLock.withWriteLock") { lock.withWriteLock { $0 &+= 1 } },
            of("ReadWriteCoordinator.blockingWrite") { coordinator.blockingWrite {} },
            of("SnapshotDictionary, a lookup") { precondition(dictionary[1] == 1) },
            of("ThreadLocalValue.setValue") { local.setValue(1) },
        ]
    }

    static var semaphores: [Operation] {
        let permits = PrioritySemaphore(value: 4), none = PrioritySemaphore(value: 0)
        return [
            of("PrioritySemaphore.blockingWait(permits:priority:timeout:), signal") {
                try? permits.blockingWait(permits: 2, priority: .high, timeout: .seconds(1))
                try? permits.signal(2)
            },
            of("PrioritySemaphore.tryWait, signal") {
                precondition(permits.tryWait())
                try? permits.signal()
            },
            of("PrioritySemaphore.tryWait in vain") { precondition(!none.tryWait()) },
        ]
    }

    static var queues: [Operation] {
        let commands = CommandQueue(), elements = BlockingPriorityQueue<Int>()
        let plain = WorkQueue(name: "plain"), ranked = WorkQueue(name: "ranked"), idle = WorkQueue(name: "idle")
        let fifo = FIFOQueue(name: "fifo"), held = PrioritySemaphore(value: 0)
        let begun = PrioritySemaphore(value: 0), ended = PrioritySemaphore(value: 0)
        func goOn(_ queue: WorkQueue) -> () -> Void {
            {
                queue.resume()
                queue.blockingDrain()
            }
        }
        return [
            of("CommandQueue, append and perform") {
                commands.append(priority: .highest) {}
                commands.perform()
            },
            of("BlockingPriorityQueue, push and pop") {
                _ = elements.push(1)
                _ = elements.pop()
            },
            of("WorkQueue.async behind others", before: plain.suspend, after: goOn(plain)) { plain.async {} },
            of("WorkQueue.async(priority:) behind others", before: ranked.suspend, after: goOn(ranked)) {
                ranked.async(priority: .high) {}
            },
            of("WorkQueue.sync, idle") { idle.sync {} },
            of(
                "FIFOQueue.enqueue behind others",
                before: {
                    fifo.enqueue {
                        try? begun.signal()
                        try? await held.wait()
                    }
                    try? begun.blockingWait()
                },
                after: {
                    // The tasks end here: what they allocate is not counted with the operations after this one.
                    fifo.enqueue { try? ended.signal() }
                    try? held.signal()
                    try? ended.blockingWait()
                }
            ) { fifo.enqueue {} },
            of("TaskQueue.getQueue, one that there is") { _ = TaskQueue.getQueue(identifier: "queue of tasks") },
            of(
                "NamedQueue.async behind others", before: { Name.one.queue.suspend() },
                after: {
                    Name.one.queue.resume()
                    Name.one.queue.blockingDrain()
                }
            ) { Name.one.async {} },
        ]
    }

    private enum Name: String, NamedQueue {
        case one = "a named queue of the costs"
    }

    static var creations: [Operation] {
        [
            of("PriorityMutex, made and released") { opaque(PriorityMutex(0)) },
            of("QueueSafeValue, made and released") { opaque(QueueSafeValue(value: 0)) },
            of("CriticalSection, made and released") { opaque(CriticalSection()) },
            of("PrioritySemaphore, made and released") { opaque(PrioritySemaphore(value: 1)) },
            of("ReadWriteLock, made and released") { opaque(ReadWriteLock(0)) },
        ]
    }
}

/// Keeps what was made from being left out.
@inline(never) @_optimize(none)
private func opaque<T>(_ value: T) {}
