import CBenchSupport
import Dispatch
import SwiftSync

/// Nanoseconds and allocations of one increment, and allocations to create a subject.
struct Uncontended {
    let results: Results
    let rounds: Int
    private let increments = 400_000

    func run() {
        var times: [(subject: String, rounds: [Double])] = []
        var allocations: [(subject: String, rounds: [Double])] = []
        var creations: [(subject: String, rounds: [Double])] = []

        func add(_ list: inout [(subject: String, rounds: [Double])], _ subject: String, _ value: Double) {
            if let index = list.firstIndex(where: { $0.subject == subject }) { list[index].rounds.append(value) } else { list.append((subject, [value])) }
        }
        func measure(_ name: String, _ loop: (Int) -> Void) {
            loop(1000)
            let allocated = bench_allocations(), begin = bench_now_ns()
            loop(increments)
            let end = bench_now_ns(), allocatedThen = bench_allocations()
            add(&times, name, Double(end - begin) / Double(increments))
            add(&allocations, name, (Double(allocatedThen - allocated) / Double(increments)).rounded(.toNearestOrEven))
        }
        func subject<S: Subject>(_ type: S.Type) {
            let subject = S()
            measure(S.name) { subject.increments($0) }
        }
        for _ in 0..<rounds {
            subject(SynchronizationMutex.self)
            subject(NIOBox.self)
            subject(FoundationLock.self)
            subject(FoundationRecursiveLock.self)
            subject(Semaphore.self)
            subject(SerialQueue.self)
            subject(FastMutex.self)
            subject(StrictMutex.self)
            subject(TrivialValue.self)
            subject(ReferringValue.self)
            subject(Section.self)
            let section = Section()
            measure("CriticalSection re-entry") { section.reenter(times: $0) }
            note(".")
        }
        for _ in 0..<3 {
            add(&creations, "PriorityMutex(0)", created { PriorityMutex(0) })
            add(&creations, "QueueSafeValue(value: 0)", created { QueueSafeValue(value: 0) })
            add(&creations, "CriticalSection()", created { CriticalSection() })
        }
        results.print("uncontended increment", "ns", baseline: SynchronizationMutex.name, times)
        results.print("uncontended increment", "allocations", baseline: "", allocations)
        results.print("creation", "allocations", baseline: "", creations)
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

    @inline(never) @_optimize(none)
    private func keep<T>(_ value: T) {}

    /// An actor, awaited from a detached task; the calling thread only waits.
    func runActor() {
        let counting = CountingActor(), awaits = increments, finished = DispatchSemaphore(value: 0), gathered = Shared(total: 0)
        let rounds = rounds
        Task.detached {
            for _ in 0..<rounds {
                let begin = bench_now_ns()
                for _ in 0..<awaits { await counting.increment() }
                gathered.append(Int(bench_now_ns() - begin))
            }
            finished.signal()
        }
        finished.wait()
        let values = gathered.list.map { Double($0) / Double(awaits) }
        results.print("uncontended increment, actor", "ns", baseline: "", [(CountingActor.name, values)])
    }
}
