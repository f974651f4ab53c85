import CBenchSupport
import Histogram
import Synchronization

/// Throughput of several threads, and the waits of an urgent thread among others.
struct Contended {
    let results: Results
    let rounds: Int
    let windowMilliseconds: Int
    let turnsPerMicrosecond: Double

    private func turns(nanoseconds: Double) -> Int { Int(nanoseconds / 1000 * turnsPerMicrosecond) }

    private func throughput<S: Subject>(_ type: S.Type, threads: Int, sectionNanoseconds: Double) -> Double {
        let subject = S(), turns = turns(nanoseconds: sectionNanoseconds), total = Atomic(0)
        let end = bench_now_ns() + Int64(windowMilliseconds) * 1_000_000
        let begin = bench_now_ns()
        withExtendedLifetime(subject) {
            let sum = Shared(total: 0)
            onThreads(threads) { _ in
                var count = 0
                while true {
                    for _ in 0..<64 {
                        subject.section(turns)
                        bench_busy(turns)
                    }
                    count += 64
                    if bench_now_ns() >= end { break }
                }
                sum.add(count)
            }
            total.store(sum.value, ordering: .relaxed)
        }
        return Double(total.load(ordering: .relaxed)) * 1e3 / Double(bench_now_ns() - begin)
    }

    func runThroughput() {
        for (title, nanoseconds) in [("100 ns sections", 100.0), ("empty sections", 0.0)] {
            for threads in [2, 8, 32] {
                var values: [(subject: String, rounds: [Double])] = []
                func one<S: Subject>(_ type: S.Type) {
                    let value = throughput(type, threads: threads, sectionNanoseconds: nanoseconds)
                    if let index = values.firstIndex(where: { $0.subject == S.name }) { values[index].rounds.append(value) } else { values.append((S.name, [value])) }
                }
                for _ in 0..<rounds {
                    one(NIOBox.self)
                    one(SynchronizationMutex.self)
                    one(FoundationLock.self)
                    one(FoundationRecursiveLock.self)
                    one(FastMutex.self)
                    one(TrivialValue.self)
                    one(Section.self)
                    note(".")
                }
                results.print("\(threads) threads, \(title)", "Mops/s", baseline: NIOBox.name, values)
            }
        }
    }

    private func urgentWaits<S: Subject>(_ type: S.Type, into histogram: inout Histogram<UInt64>) {
        let subject = S(), turns = turns(nanoseconds: 10_000), stop = StopFlag(), samples = Shared(total: 0)
        let end = bench_now_ns() + Int64(windowMilliseconds) * 5_000_000
        onThreads(9) { index in
            if index < 8 {
                while !stop.isSet {
                    subject.section(turns)
                    bench_busy(turns)
                }
            } else {
                while bench_now_ns() < end {
                    bench_sleep(nanoseconds: 200_000)
                    let begin = bench_now_ns()
                    samples.append(Int(subject.urgentSection(turns) - begin))
                }
                stop.set()
            }
        }
        for sample in samples.list { histogram.record(UInt64(sample)) }
    }

    func runUrgent() {
        var histograms: [(subject: String, histogram: Histogram<UInt64>)] = []
        func one<S: Subject>(_ type: S.Type) {
            let index = histograms.firstIndex { $0.subject == S.name }
            var histogram = index.map { histograms[$0].histogram } ?? Histogram<UInt64>(highestTrackableValue: 60_000_000_000, numberOfSignificantValueDigits: .three)
            urgentWaits(type, into: &histogram)
            if let index { histograms[index].histogram = histogram } else { histograms.append((S.name, histogram)) }
        }
        for _ in 0..<rounds {
            one(NIOBox.self)
            one(SynchronizationMutex.self)
            one(FoundationLock.self)
            one(FastMutex.self)
            one(StrictMutex.self)
            note(".")
        }
        for (title, percentile) in [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9)] {
            results.print("urgent thread among 8, 10 us sections, its waits", "\(title) us", baseline: NIOBox.name,
                histograms.map { ($0.subject, [Double($0.histogram.valueAtPercentile(percentile)) / 1e3]) })
        }
    }
}

/// What threads gather.
final class Shared: Sendable {
    private let state: Mutex<(total: Int, list: [Int])>
    init(total: Int) { state = Mutex((total, [])) }
    func add(_ count: Int) { state.withLock { $0.total += count } }
    func append(_ sample: Int) { state.withLock { $0.list.append(sample) } }
    var value: Int { state.withLock { $0.total } }
    var list: [Int] { state.withLock { $0.list } }
}
