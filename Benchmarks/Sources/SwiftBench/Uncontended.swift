import CBenchSupport
import SwiftSync

/// Nanoseconds and allocations of one increment, and allocations to create a subject.
struct Uncontended {
    let results: Results
    let rounds: Int
    private let increments = 400_000

    func run() {
        var times = Rows([]), allocations = Rows([])

        func measure(_ name: String, _ loop: (Int) -> Void) {
            loop(1000)
            let allocated = bench_allocations(), begin = bench_now_ns()
            loop(increments)
            let end = bench_now_ns(), allocatedThen = bench_allocations()
            times.add(name, Double(end - begin) / Double(increments))
            allocations.add(name, (Double(allocatedThen - allocated) / Double(increments)).rounded(.toNearestOrEven))
        }
        func turn<S: Subject>(_ type: S.Type) -> Turn {
            Turn(subject: S.name) {
                let subject = S()
                measure(S.name) { subject.increments($0) }
            }
        }
        let reentry = "CriticalSection re-entry"
        let turns = [
            turn(SynchronizationMutex.self), turn(NIOBox.self), turn(FoundationLock.self),
            turn(FoundationRecursiveLock.self),
            turn(Semaphore.self), turn(SerialQueue.self),
            Turn(subject: CountingActor.name) {
                let counting = CountingActor()
                measure(CountingActor.name) { times in
                    waitForTask {
                        for _ in 0..<times {
                            await counting.increment()
                            // Outside of the actor: otherwise the optimizer stays in it for the whole loop.
                            bench_busy(0)
                        }
                    }
                }
            },
            turn(FastMutex.self), turn(StrictMutex.self), turn(TrivialValue.self), turn(ReferringValue.self),
            turn(ReferringValueUsed.self), turn(Section.self),
            Turn(subject: reentry) {
                let section = Section()
                measure(reentry) { section.reenter(times: $0) }
            },
        ]
        times = Rows(turns.map(\.subject))
        allocations = times
        note("uncontended increment ")
        inRounds(rounds, turns)
        note("\n")

        var creations = Rows(["PriorityMutex(0)", "QueueSafeValue(value: 0)", "CriticalSection()"])
        for _ in 0..<3 {
            creations.add("PriorityMutex(0)", created { PriorityMutex(0) })
            creations.add("QueueSafeValue(value: 0)", created { QueueSafeValue(value: 0) })
            creations.add("CriticalSection()", created { CriticalSection() })
        }
        results.print("uncontended increment", "ns", baseline: SynchronizationMutex.name, times.values)
        results.print("uncontended increment", "allocations", baseline: "", allocations.values)
        results.print("creation", "allocations", baseline: "", creations.values)
    }

    /// Through an opaque call, so that nothing is promoted to the stack.
    @inline(never)
    private func created<T>(_ make: () -> T) -> Double {
        keep(make())
        let before = bench_allocations()
        let made = make()
        let after = bench_allocations()
        keep(made)
        return Double(after - before)
    }
}
