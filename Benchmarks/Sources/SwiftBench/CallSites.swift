/// Nanoseconds and allocations of one call where programs make it: a group for each kind of operation and each form in
/// which programs hold the value.
///
/// A loop over a local value lets the optimizer keep addresses, and a queue-safe value's commands, in registers from
/// one turn to the next. Here each call begins with the object, or whatever holds the value.
struct CallSites {
    let results: Results
    let rounds: Int
    private let times = 200_000

    private typealias Measured = (name: String, sites: [CallSite])

    func runCalls() {
        let locksAndValues: [Measured] = [
            (SynchronizationMutex.name, CallSite.all(HeldMutex.self)),
            (NIOBox.name, CallSite.all(HeldNIOBox.self)),
            (FoundationLock.name, CallSite.all(HeldLock.self)),
            (FoundationRecursiveLock.name, CallSite.all(HeldRecursiveLock.self)),
            (FastMutex.name, CallSite.all(HeldPriorityMutex.self)),
            (Section.name, CallSite.all(HeldSection.self)),
            (TrivialValue.name, CallSite.all(HeldSet.self)),
            ("QueueSafeValue.wait.set(newValue:)", CallSite.all(HeldReplacement.self)),
            ("QueueSafeValue.wait.get", CallSite.all(HeldGet.self)),
            ("QueueSafeValue.wait.map", CallSite.all(HeldMap.self)),
        ]
        report("one call", baseline: SynchronizationMutex.name, locksAndValues)
    }

    func runSemaphores() {
        let semaphores: [Measured] = [
            ("DispatchSemaphore", CallSite.all(HeldDispatchSemaphore.self)),
            ("PrioritySemaphore", CallSite.all(HeldPermit.self)),
            ("PrioritySemaphore.blockingWithPermit", CallSite.all(HeldPermitScope.self)),
        ]
        report("one permit", baseline: "DispatchSemaphore", semaphores)
    }

    func runReads() {
        let reads: [Measured] = [
            ("pthread_rwlock", CallSite.all(HeldPthreadRead.self)),
            ("ReadWriteLock", CallSite.all(HeldRead.self)),
            ("ReadWriteLock, biased", CallSite.all(HeldBiasedRead.self)),
            ("ReadWriteCoordinator.read", CallSite.all(HeldCoordinatorRead.self)),
            (SynchronizationMutex.name, CallSite.all(HeldMutex.self)),
            ("Snapshot.read", CallSite.all(HeldSnapshot.self)),
        ]
        report("one read", baseline: "pthread_rwlock", reads)
    }

    func runThreadLocals() {
        let threadLocals: [Measured] = [
            ("ThreadSpecificVariable", CallSite.all(HeldThreadSpecific.self)),
            ("ThreadLocalValue", CallSite.all(HeldThreadLocal.self)),
            ("ThreadLocalValue, reference", CallSite.all(HeldThreadLocalReference.self)),
        ]
        report("one thread-local value", baseline: "ThreadSpecificVariable", threadLocals)
    }

    /// A group for each form, with the empty call of that form beside the subjects.
    private func report(_ operation: String, baseline: String, _ subjects: [Measured]) {
        let all = [("empty call", CallSite.all(HeldNothing.self))] + subjects
        let loops = LoopGroup(results: results, rounds: rounds)
        for (index, site) in all[0].1.enumerated() {
            loops.report(
                "\(operation), \(site.form)", baseline: baseline,
                all.map { name, sites in
                    loops.turn(name, times: times, warmUp: 1000) {
                        sites[index].calls($0)
                        return $0
                    }
                })
        }
    }
}
