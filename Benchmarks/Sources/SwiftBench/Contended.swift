import CBenchSupport
import Dispatch
import Histogram
import Synchronization

/// Throughput of several threads, and the waits of an urgent thread among others.
struct Contended {
    let results: Results
    let rounds: Int
    let windowMilliseconds: Int
    let turnsPerMicrosecond: Double

    private func turns(nanoseconds: Double) -> Int { Int(nanoseconds / 1000 * turnsPerMicrosecond) }

    /// Sections of all threads, in millions a second.
    private func throughput<S: Subject>(_ type: S.Type, threads: Int, turns: Int) -> Double {
        let subject = S(), window = Window(), sum = Shared(), millis = windowMilliseconds
        subject.increments(1000)
        var open: Int64 = 0
        onThreads(threads, meanwhile: { open = window.hold(for: threads, milliseconds: millis) }) { _ in
            var count = 0
            window.enter()
            while !window.isClosed {
                subject.section(turns)
                count += 1
                bench_busy(turns)
            }
            sum.add(count)
        }
        return Double(sum.value) * 1e3 / Double(open)
    }

    /// The same for an actor, whose users are tasks: as many as there would be threads.
    private func actorThroughput(tasks: Int, turns: Int) -> Double {
        let counting = CountingActor(), window = Window(), sum = Shared(), all = DispatchGroup()
        waitForTask { for _ in 0..<1000 { await counting.increment() } }
        for _ in 0..<tasks {
            all.enter()
            Task.detached {
                var count = 0
                await window.enterAsTask()
                while !window.isClosed {
                    await counting.section(turns)
                    count += 1
                    bench_busy(turns)
                }
                sum.add(count)
                all.leave()
            }
        }
        let open = window.hold(for: tasks, milliseconds: windowMilliseconds)
        all.wait()
        return Double(sum.value) * 1e3 / Double(open)
    }

    func runThroughput() {
        for (title, nanoseconds) in [("100 ns sections", 100.0), ("empty sections", 0.0)] {
            let turns = turns(nanoseconds: nanoseconds)
            for threads in [2, 4, 8, 16, 32] {
                var rows = Rows([])
                func turn<S: Subject>(_ type: S.Type) -> Turn {
                    Turn(subject: S.name) { rows.add(S.name, throughput(type, threads: threads, turns: turns)) }
                }
                let all = [
                    turn(NIOBox.self), turn(SynchronizationMutex.self), turn(FoundationLock.self),
                    turn(FoundationRecursiveLock.self),
                    turn(Semaphore.self), turn(SerialQueue.self),
                    Turn(subject: CountingActor.name) {
                        rows.add(CountingActor.name, actorThroughput(tasks: threads, turns: turns))
                    },
                    turn(FastMutex.self), turn(TrivialValue.self), turn(Section.self),
                ]
                rows = Rows(all.map(\.subject))
                note("\(threads) threads, \(title) ")
                inRounds(rounds, all)
                note("\n")
                results.print("\(threads) threads, \(title)", "Mops/s", baseline: NIOBox.name, rows.values)
            }
        }
    }

    private func urgentWaits<S: Subject>(_ type: S.Type, into histogram: inout Histogram<UInt64>) {
        let subject = S(), turns = turns(nanoseconds: 10_000), window = Window(), samples = Shared()
        subject.increments(1000)
        let span = Int64(windowMilliseconds) * 5_000_000
        onThreads(9, meanwhile: { _ = window.open(for: 9) }) { index in
            window.enter()
            if index < 8 {
                while !window.isClosed {
                    subject.section(turns)
                    bench_busy(turns)
                }
            } else {
                let end = bench_now_ns() + span
                while bench_now_ns() < end {
                    bench_sleep(nanoseconds: 200_000)
                    let begin = bench_now_ns()
                    samples.append(Int(subject.urgentSection(turns) - begin))
                }
                window.close()
            }
        }
        for sample in samples.list { histogram.record(UInt64(sample)) }
    }

    func runUrgent() {
        // One histogram a subject for all rounds: percentiles are those of all samples together.
        var histograms: [(subject: String, histogram: Histogram<UInt64>)] = []
        func turn<S: Subject>(_ type: S.Type) -> Turn {
            let index = histograms.count
            histograms.append(
                (S.name, Histogram(highestTrackableValue: 60_000_000_000, numberOfSignificantValueDigits: .three)))
            return Turn(subject: S.name) { urgentWaits(type, into: &histograms[index].histogram) }
        }
        let all = [
            turn(NIOBox.self), turn(SynchronizationMutex.self), turn(FoundationLock.self), turn(Semaphore.self),
            turn(SerialQueue.self),
            turn(FastMutex.self), turn(StrictMutex.self),
        ]
        note("urgent thread among 8 ")
        inRounds(rounds, all)
        note("\n")
        for (title, percentile) in [("p50", 50.0), ("p99", 99.0), ("p99.9", 99.9), ("max", 100.0)] {
            results.print(
                "urgent thread among 8, 10 us sections, its waits", "\(title) us", baseline: NIOBox.name,
                histograms.map { name, histogram in (name, [Double(histogram.valueAtPercentile(percentile)) / 1e3]) })
        }
    }
}

/// What threads gather.
final class Shared: Sendable {
    private let state = Mutex((total: 0, list: [Int]()))
    func add(_ count: Int) { state.withLock { $0.total += count } }
    func append(_ sample: Int) { state.withLock { $0.list.append(sample) } }
    var value: Int { state.withLock { $0.total } }
    var list: [Int] { state.withLock { $0.list } }
}
