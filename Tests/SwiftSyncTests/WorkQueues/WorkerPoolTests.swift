import Dispatch
import Synchronization
import Testing

@testable import SwiftSync

/// The pool can be set up once in a process, before its first use: each test that does has one of its own.
@Suite struct WorkerPoolTests {
    @Test func afterItsFirstUseThePoolIsNotSetUpAnew() {
        WorkQueue(name: "first use").sync {}
        let used = WorkQueue(name: "use"), done = DispatchSemaphore(value: 0)
        used.async { done.signal() }
        done.wait()
        #expect(throws: WorkerPool.ConfigurationError.inUse) { try WorkerPool.configure(least: 1) }
        #expect(WorkerPool.workerCount >= 1)
    }

    @Test func numbersOutsideTheBoundsAreRefused() {
        for (least, most, stackSize) in [
            (0, nil, nil), (-1, nil, nil), (nil, 0, nil), (nil, 2049, nil), (2049, nil, nil), (4, 3, nil),
            (nil, nil, 0), (nil, nil, 65_535),
            (nil, nil, -1), (Int.max, nil, nil), (nil, nil, 1 << 30 + 1), (nil, nil, Int.max), (nil, nil, Int.min),
        ] as [(Int?, Int?, Int?)] {
            #expect(throws: WorkerPool.ConfigurationError.invalid) {
                try WorkerPool.configure(least: least, most: most, stackSize: stackSize)
            }
        }
    }

    /// As a whole, and not one that throws.
    @Test func theLastConfigurationBeforeTheFirstUseCounts() async {
        await #expect(processExitsWith: .success) {
            let started = Atomic(0), done = DispatchSemaphore(value: 0)
            try WorkerPool.configure(least: 3, most: 3) { fatalError("of a configuration that was replaced") }
            try WorkerPool.configure(most: 1, stackSize: 1 << 20) { started.add(1, ordering: .relaxed) }
            do {
                try WorkerPool.configure(least: 2, most: 1) { fatalError("of a configuration that was refused") }
                fatalError("more workers at least than at most")
            } catch WorkerPool.ConfigurationError.invalid {}
            let queues = (0..<3).map { WorkQueue(name: "queue \($0)") }
            for queue in queues { queue.async { done.signal() } }
            for _ in queues { done.wait() }
            guard WorkerPool.workerCount == 1, started.load(ordering: .relaxed) == 1 else {
                fatalError("not the last one")
            }
        }
    }

    /// Three works on three queues, of which two may run and block: the third is reported by its label, and runs when
    /// one of the others has ended.
    @Test func thePoolKeepsToItsBoundsAndNamesTheQueueThatWaits() async {
        await #expect(processExitsWith: .success) {
            let started = Atomic(0), reports = Shared([SyncDiagnostics.Report]()),
                reported = DispatchSemaphore(value: 0)
            try WorkerPool.configure(least: 1, most: 2, stackSize: 1 << 20) { started.add(1, ordering: .relaxed) }
            SyncDiagnostics.setHandler { report in
                guard report.kind == .workersExhausted else { return }
                reports.append(report)
                reported.signal()
            }
            let goOn = DispatchSemaphore(value: 0), ended = DispatchSemaphore(value: 0)
            let queues = ["one", "two", "three"].map { WorkQueue(name: $0) }
            for queue in queues {
                queue.async {
                    if started.load(ordering: .relaxed) == 0 {
                        fatalError("a closure ran before the worker was set up")
                    }
                    goOn.wait()
                    ended.signal()
                }
            }
            reported.wait()
            guard WorkerPool.workerCount == 2, started.load(ordering: .relaxed) == 2 else {
                fatalError("more workers than may be")
            }
            let subjects = Set(reports.value.map(\.subject))
            guard subjects.count == 1, ["queue one", "queue two", "queue three"].contains(subjects.first!) else {
                fatalError("\(subjects)")
            }
            for _ in queues { goOn.signal() }
            for _ in queues { ended.wait() }
        }
    }
}
