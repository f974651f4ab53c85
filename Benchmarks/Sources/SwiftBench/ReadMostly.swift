import CBenchSupport
import NIOConcurrencyHelpers
import SwiftSync
import Synchronization

/// A value that is published, and read again and again.
protocol Published: Sendable {
    static var name: String { get }
    init()
    /// Reads it `times` times; the sum of what was read.
    func reads(_ times: Int) -> Int
}

/// What is read much more than written: a published value, and a dictionary.
struct ReadMostly {
    let results: Results
    let rounds: Int
    let windowMilliseconds: Int
    private let reads = 2_000_000

    /// For counting instructions.
    static func run(_ times: Int, of subject: String) -> Bool {
        guard subject == SnapshotReads.name else { return false }
        use(SnapshotReads().reads(times))
        return true
    }

    func run() {
        runReads()
        runReadsOfThreads()
        runUpdates()
        for keys in [1000, 10_000, 100_000] { runDictionary(keys: keys) }
    }

    private func runReads() {
        var times = Rows([]), allocations = Rows([])
        func turn<P: Published>(_ type: P.Type) -> Turn {
            Turn(subject: P.name) {
                onThreads(1) { [reads] _ in
                    let subject = P()
                    use(subject.reads(1000))
                    let allocated = bench_allocations(), begin = bench_now_ns()
                    use(subject.reads(reads))
                    let end = bench_now_ns(), allocatedThen = bench_allocations()
                    samples.set(Double(end - begin) / Double(reads), Double(allocatedThen - allocated) / Double(reads))
                }
                times.add(P.name, samples.time)
                allocations.add(P.name, samples.allocations.rounded(.toNearestOrEven))
            }
        }
        let samples = Sample()
        let turns = [turn(RawReads.self), turn(SnapshotReads.self), turn(MutexReads.self), turn(NIOReads.self)]
        times = Rows(turns.map(\.subject))
        allocations = times
        note("read of a published value ")
        inRounds(rounds, turns)
        note("\n")
        results.print("read of a published value", "ns", baseline: RawReads.name, times.values)
        results.print("read of a published value", "allocations", baseline: "", allocations.values)
    }

    private func runReadsOfThreads() {
        var rows = Rows([])
        func turn<P: Published>(_ type: P.Type) -> Turn {
            Turn(subject: P.name) {
                let subject = P()
                rows.add(P.name, throughput { use(subject.reads($0)) })
            }
        }
        let turns = [turn(RawReads.self), turn(SnapshotReads.self), turn(MutexReads.self), turn(NIOReads.self)]
        rows = Rows(turns.map(\.subject))
        note("2 threads read a published value ")
        inRounds(rounds, turns)
        note("\n")
        results.print("2 threads read a published value", "Mops/s", baseline: RawReads.name, rows.values)
    }

    /// How long an update takes, and that a reader who stays inside makes it no longer.
    private func runUpdates() {
        var rows = [Rows(["no reader", "a reader inside"]), Rows(["no reader", "a reader inside"])]
        func measure(_ subject: String) {
            let value = Snapshot([0])
            var spans = (0..<10_000).map { _ in
                let begin = bench_now_ns()
                value.update { $0[0] &+= 1 }
                return Double(bench_now_ns() - begin) / 1e3
            }
            spans.sort()
            rows[0].add(subject, spans[spans.count / 2])
            rows[1].add(subject, spans[spans.count * 99 / 100])
        }
        let turns = [
            Turn(subject: "no reader") { measure("no reader") },
            Turn(subject: "a reader inside") {
                let other = Snapshot(0), window = Window()
                onThreads(
                    1,
                    meanwhile: {
                        _ = window.open(for: 1)
                        measure("a reader inside")
                        window.close()
                    }
                ) { _ in
                    other.read { _ in
                        window.enter()
                        while !window.isClosed { bench_sleep(nanoseconds: 100_000) }
                    }
                }
            },
        ]
        note("updates of a Snapshot ")
        inRounds(rounds, turns)
        note("\n")
        for (metric, rows) in zip(["p50 us", "p99 us"], rows) {
            results.print("updates of a Snapshot", metric, baseline: "no reader", rows.values)
        }
    }

    private func runDictionary(keys: Int) {
        let contents = Dictionary(uniqueKeysWithValues: (0..<keys).map { ($0, $0) })
        let locked = LockedDictionary(contents), snapshot = SnapshotDictionary(contents)
        var rows = Rows(["Dictionary in Mutex", "SnapshotDictionary"])
        let turns = [
            Turn(subject: "Dictionary in Mutex") {
                rows.add(
                    "Dictionary in Mutex",
                    throughput { times in
                        use(
                            mixed(
                                times, keys, { key in locked.value.withLock { $0[key] } },
                                { key in locked.value.withLock { $0[key] = key } }))
                    })
            },
            Turn(subject: "SnapshotDictionary") {
                rows.add(
                    "SnapshotDictionary",
                    throughput { times in
                        use(
                            mixed(
                                times, keys, { key in snapshot[key] }, { key in snapshot.updateValue(key, forKey: key) }
                            ))
                    })
            },
        ]
        let title = "dictionary of \(keys) keys, 2 threads, 1 % writes"
        note("\(title) ")
        inRounds(rounds, turns)
        note("\n")
        results.print(title, "Mops/s", baseline: "Dictionary in Mutex", rows.values)
    }

    /// Operations of two threads, in millions a second; `body` does as many as it is told.
    private func throughput(_ body: @escaping @Sendable (Int) -> Void) -> Double {
        let window = Window(), sum = Shared()
        var open: Int64 = 0
        onThreads(2, meanwhile: { open = window.hold(for: 2, milliseconds: windowMilliseconds) }) { _ in
            var count = 0
            body(1000)
            window.enter()
            while !window.isClosed {
                body(10_000)
                count += 10_000
            }
            sum.add(count)
        }
        return Double(sum.value) * 1e3 / Double(open)
    }
}

private final class LockedDictionary: Sendable {
    let value: Mutex<[Int: Int]>
    init(_ contents: [Int: Int]) { value = Mutex(contents) }
}

/// The numbers of one turn, from the thread that measured.
private final class Sample: Sendable {
    private let state = Mutex((time: 0.0, allocations: 0.0))
    func set(_ time: Double, _ allocations: Double) { state.withLock { $0 = (time, allocations) } }
    var time: Double { state.withLock { $0.time } }
    var allocations: Double { state.withLock { $0.allocations } }
}

/// Lookups of keys in a random order, and a write in a hundred.
@inline(__always)
private func mixed(_ times: Int, _ keys: Int, _ look: (Int) -> Int?, _ write: (Int) -> Void) -> Int {
    var random = UInt64(truncatingIfNeeded: bench_now_ns()) | 1, sum = 0
    for _ in 0..<times {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let key = Int((random >> 33) % UInt64(keys))
        if (random >> 20) % 100 == 0 { write(key) } else { sum &+= look(key) ?? 0 }
    }
    return sum
}

/// For all the optimizer knows, reads the value.
@inline(never) @_optimize(none)
private func use(_ value: Int) {}

private final class RawReads: Published {
    static let name = "urcu-bp in C"
    private let number: [Int] = [1]
    @inline(never) func reads(_ times: Int) -> Int {
        number.withUnsafeBufferPointer { bench_urcu_reads(times, $0.baseAddress) }
    }
}

private final class SnapshotReads: Published {
    static let name = "Snapshot.read"
    private let value = Snapshot([1])
    @inline(never) func reads(_ times: Int) -> Int {
        var sum = 0
        for _ in 0..<times { sum &+= value.read { $0.count } }
        return sum
    }
}

private final class MutexReads: Published {
    static let name = "Synchronization.Mutex"
    private let value = Mutex([1])
    @inline(never) func reads(_ times: Int) -> Int {
        var sum = 0
        for _ in 0..<times { sum &+= value.withLock { $0.count } }
        return sum
    }
}

private final class NIOReads: Published {
    static let name = "NIOLockedValueBox"
    private let value = NIOLockedValueBox([1])
    @inline(never) func reads(_ times: Int) -> Int {
        var sum = 0
        for _ in 0..<times { sum &+= value.withLockedValue { $0.count } }
        return sum
    }
}
