import CCosts

/// Counts each operation under its name; scripts/costs runs it in callgrind.
@main
enum Costs {
    static func main() {
        let ours = Operation.locks + Operation.semaphores + Operation.queues + Operation.creations
        for operation in known + callSites + ours { operation.count() }
    }

    /// What the count must be is known.
    private static var known: [Operation] {
        [
            Operation("known: 100") { for _ in 0..<$0 { costs_hundred() } },
            Operation("known: 101") { for _ in 0..<$0 { costs_one_more() } },
            Operation("known: 104") { for _ in 0..<$0 { costs_four_more() } },
            Operation("known: an allocation") { for _ in 0..<$0 { costs_allocate() } },
        ]
    }

    private static var callSites: [Operation] {
        func sites<What: Held>(_ name: String, _ type: What.Type) -> [Operation] {
            CallSite.all(type).map { Operation("\(name), \($0.form)", loop: $0.calls) }
        }
        return sites("empty call", HeldNothing.self)
            + sites("PriorityMutex.withLock", HeldPriorityMutex.self)
            + sites("CriticalSection.execute", HeldSection.self)
            + sites("PrioritySemaphore.blockingWait and signal", HeldPermit.self)
            + sites("PrioritySemaphore.blockingWithPermit", HeldPermitScope.self)
            + sites("QueueSafeValue.wait.set", HeldSet.self)
            + sites("QueueSafeValue.wait.set(newValue:)", HeldReplacement.self)
            + sites("QueueSafeValue.wait.get", HeldGet.self)
            + sites("QueueSafeValue.wait.map", HeldMap.self)
            + sites("ReadWriteLock.withReadLock", HeldRead.self)
            + sites("ReadWriteLock.withReadLock, biased", HeldBiasedRead.self)
            + sites("ReadWriteCoordinator.read", HeldCoordinatorRead.self)
            + sites("Snapshot.read", HeldSnapshot.self)
            + sites("ThreadLocalValue.value", HeldThreadLocal.self)
            + sites("ThreadLocalValue.value, reference", HeldThreadLocalReference.self)
    }
}
