import CBenchSupport
import Histogram
import Synchronization

/// A subject whose users can be told when they were let in, all of one priority.
protocol TimedSubject: Subject {
    /// A section of `turns` of work; returns when it was entered.
    func timedSection(_ turns: Int) -> Int64
}

/// How long threads wait: an urgent one among others, and all of those that want the same.
struct Waits {
    let results: Results
    let rounds: Int
    let windowMilliseconds: Int
    let turnsPerMicrosecond: Double

    typealias Samples = Histogram<UInt64>

    static func noSamples() -> Samples {
        Samples(highestTrackableValue: 60_000_000_000, numberOfSignificantValueDigits: .three)
    }

    func runUrgent() {
        for others in [1, 2, 4, 8, 16] {
            var waits: [(subject: String, rounds: [Samples])] = []
            func turn<S: Subject>(_ type: S.Type) -> Turn {
                let index = waits.count
                waits.append((S.name, []))
                return Turn(subject: S.name) { waits[index].rounds.append(urgentWaits(type, others: others)) }
            }
            let all = [
                turn(NIOBox.self), turn(SynchronizationMutex.self), turn(FoundationLock.self), turn(Semaphore.self),
                turn(SerialQueue.self),
                turn(FastMutex.self), turn(StrictMutex.self),
            ]
            note("urgent thread among \(others) ")
            inRounds(rounds, all)
            note("\n")
            Self.report("urgent thread among \(others), 10 us sections, its waits", waits, to: results)
        }
    }

    private func urgentWaits<S: Subject>(_ type: S.Type, others: Int) -> Samples {
        let subject = S(), turns = Int(10 * turnsPerMicrosecond), window = Window(), samples = Gathered()
        let span = Int64(windowMilliseconds) * 5_000_000
        subject.increments(1000)
        onThreads(others + 1, meanwhile: { _ = window.open(for: others + 1) }) { index in
            window.enter()
            if index < others {
                while !window.isClosed {
                    subject.section(turns)
                    bench_busy(turns)
                }
            } else {
                var waits = Self.noSamples()
                let end = bench_now_ns() + span
                while bench_now_ns() < end {
                    bench_sleep(nanoseconds: 200_000)
                    let begin = bench_now_ns()
                    waits.record(UInt64(max(0, subject.urgentSection(turns) - begin)))
                }
                window.close()
                samples.add(waits, entered: 0)
            }
        }
        return samples.all
    }

    /// Threads that all want the same: their waits, and how often the least served was let in for each time of the most
    /// served.
    func runEqual() {
        for threads in [8, 32] {
            var waits: [(subject: String, rounds: [Samples])] = [], served = Rows([])
            func turn<S: TimedSubject>(_ type: S.Type) -> Turn {
                let index = waits.count
                waits.append((S.name, []))
                return Turn(subject: S.name) {
                    let gathered = equalWaits(type, threads: threads)
                    waits[index].rounds.append(gathered.all)
                    served.add(S.name, gathered.leastToMost)
                }
            }
            let all = [
                turn(NIOBox.self), turn(SynchronizationMutex.self), turn(FoundationLock.self), turn(Semaphore.self),
                turn(SerialQueue.self),
                turn(FastMutex.self), turn(StrictMutex.self), turn(TrivialValue.self), turn(Section.self),
            ]
            served = Rows(all.map(\.subject))
            let group = "\(threads) threads, 100 ns sections, waits"
            note("\(group) ")
            inRounds(rounds, all)
            note("\n")
            Self.report(group, waits, to: results)
            results.print(group, "least/most served", baseline: "", served.values)
        }
    }

    private func equalWaits<S: TimedSubject>(_ type: S.Type, threads: Int) -> Gathered {
        let subject = S(), turns = Int(0.1 * turnsPerMicrosecond), window = Window(), samples = Gathered()
        subject.increments(1000)
        let span = windowMilliseconds * 12
        onThreads(threads, meanwhile: { _ = window.hold(for: threads, milliseconds: span) }) { _ in
            var waits = Self.noSamples(), entered = 0
            window.enter()
            while !window.isClosed {
                let begin = bench_now_ns()
                waits.record(UInt64(max(0, subject.timedSection(turns) - begin)))
                entered += 1
                bench_busy(turns)
            }
            samples.add(waits, entered: entered)
        }
        return samples
    }

    /// Percentiles of all rounds together, and those of each round beside them.
    static func report(_ group: String, _ waits: [(subject: String, rounds: [Samples])], to results: Results) {
        let together = waits.map { waits in
            waits.rounds.reduce(into: noSamples()) { $0.add($1) }
        }
        for (title, percentile) in [
            ("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9), ("p99.99", 99.99), ("max", 100.0),
        ] {
            func microseconds(_ samples: Samples) -> Double { Double(samples.valueAtPercentile(percentile)) / 1e3 }
            results.print(
                group, "\(title) us", baseline: waits[0].subject,
                waits.map { ($0.subject, $0.rounds.map(microseconds)) },
                of: together.map(microseconds))
        }
        results.print(
            group, "samples", baseline: "", waits.map { ($0.subject, []) }, of: together.map { Double($0.totalCount) })
    }

    /// What the threads of one measurement gather.
    final class Gathered: Sendable {
        private struct State {
            var all = Waits.noSamples()
            var least = Int.max
            var most = 0
        }
        private let state = Mutex(State())

        func add(_ waits: Samples, entered: Int) {
            state.withLock {
                $0.all.add(waits)
                $0.least = min($0.least, entered)
                $0.most = max($0.most, entered)
            }
        }
        var all: Samples { state.withLock { $0.all } }
        var leastToMost: Double { state.withLock { $0.most > 0 ? Double($0.least) / Double($0.most) : 0 } }
    }
}

// These know no priorities: an urgent section of theirs is like any other.
extension SynchronizationMutex: TimedSubject {
    func timedSection(_ turns: Int) -> Int64 { urgentSection(turns) }
}
extension NIOBox: TimedSubject {
    func timedSection(_ turns: Int) -> Int64 { urgentSection(turns) }
}
extension FoundationLock: TimedSubject {
    func timedSection(_ turns: Int) -> Int64 { urgentSection(turns) }
}
extension Semaphore: TimedSubject {
    func timedSection(_ turns: Int) -> Int64 { urgentSection(turns) }
}
extension SerialQueue: TimedSubject {
    func timedSection(_ turns: Int) -> Int64 { urgentSection(turns) }
}
extension Section: TimedSubject {
    func timedSection(_ turns: Int) -> Int64 { urgentSection(turns) }
}
