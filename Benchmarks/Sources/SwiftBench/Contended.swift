import CBenchSupport
import Dispatch
import Synchronization

/// Throughput of several threads.
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

    func run() {
        for (title, nanoseconds) in [("100 ns sections", 100.0), ("empty sections", 0.0)] {
            let turns = turns(nanoseconds: nanoseconds)
            for threads in [1, 2, 4, 8, 16, 32] {
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
                let group = "\(threadsOf(threads)), \(title)"
                note("\(group) ")
                inRounds(rounds, all)
                note("\n")
                results.print(group, "Mops/s", baseline: NIOBox.name, rows.values)
            }
        }
    }
}

func threadsOf(_ count: Int) -> String { count == 1 ? "1 thread" : "\(count) threads" }

/// What threads gather.
final class Shared: Sendable {
    private let total = Mutex(0)
    func add(_ count: Int) { total.withLock { $0 += count } }
    var value: Int { total.withLock { $0 } }
}
