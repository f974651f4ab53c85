/// Nanoseconds and allocations of one call where programs make it: a group for each form in which they hold the value.
///
/// A loop over a local value lets the optimizer keep addresses, and a queue-safe value's commands, in registers from
/// one turn to the next. Here each call begins with the object, or whatever holds the value.
struct CallSites {
    let results: Results
    let rounds: Int
    private let times = 200_000

    func run() {
        let subjects: [(name: String, sites: [CallSite])] = [
            ("empty call", CallSite.all(HeldNothing.self)),
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
            ("pthread_rwlock", CallSite.all(HeldPthreadRead.self)),
            ("ReadWriteLock", CallSite.all(HeldRead.self)),
            ("ReadWriteLock, biased", CallSite.all(HeldBiasedRead.self)),
            ("ReadWriteCoordinator.read", CallSite.all(HeldCoordinatorRead.self)),
            ("Snapshot.read", CallSite.all(HeldSnapshot.self)),
            ("ThreadSpecificVariable", CallSite.all(HeldThreadSpecific.self)),
            ("ThreadLocalValue", CallSite.all(HeldThreadLocal.self)),
            ("ThreadLocalValue, reference", CallSite.all(HeldThreadLocalReference.self)),
        ]
        let loops = LoopGroup(results: results, rounds: rounds)
        for (index, site) in subjects[0].sites.enumerated() {
            loops.report(
                "one call, \(site.form)", baseline: SynchronizationMutex.name,
                subjects.map { subject in
                    loops.turn(subject.name, times: times, warmUp: 1000) {
                        subject.sites[index].calls($0)
                        return $0
                    }
                })
        }
    }
}
