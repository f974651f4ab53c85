import CBenchSupport
import Dispatch
import SwiftSync

/// A semaphore for threads, under the shape that the measurements share.
private protocol PermitSubject: Sendable {
    static var name: String { get }
    init(permits: Int)
    func wait()
    /// At high priority where the subject knows priorities.
    func waitUrgently()
    func signal()
}

private final class PriorityPermits: PermitSubject {
    static let name = "PrioritySemaphore"
    private let semaphore: PrioritySemaphore
    init(permits: Int) { semaphore = PrioritySemaphore(value: permits) }
    @inline(__always) func wait() { try? semaphore.blockingWait() }
    @inline(__always) func waitUrgently() { try? semaphore.blockingWait(priority: .high) }
    @inline(__always) func signal() { try? semaphore.signal() }
}

private final class DispatchPermits: PermitSubject, @unchecked Sendable {
    static let name = "DispatchSemaphore"
    private let semaphore: DispatchSemaphore
    init(permits: Int) {
        // Dispatch stops a program that releases one with fewer permits than it was made with.
        semaphore = DispatchSemaphore(value: 0)
        for _ in 0..<permits { semaphore.signal() }
    }
    @inline(__always) func wait() { semaphore.wait() }
    @inline(__always) func waitUrgently() { semaphore.wait() }
    @inline(__always) func signal() { semaphore.signal() }
}

/// Permits taken and given back by threads and by tasks.
struct Semaphores {
    let results: Results
    let rounds: Int
    let windowMilliseconds: Int
    let turnsPerMicrosecond: Double

    func run() {
        scopesOfTask()
        roundTrips()
        crowd()
        urgentThread()
        urgentTaskAmongMany()
        for tasks in [8, 64] {
            let waits = SuspendingWaits(
                results: results, rounds: rounds, windowMilliseconds: windowMilliseconds,
                turnsPerMicrosecond: turnsPerMicrosecond, tasks: tasks)
            waits.runPermits()
            waits.runMutexes()
        }
    }

    /// What a task takes and gives back while nobody else wants it.
    private func scopesOfTask() {
        let actor = ActorSemaphore(permits: 1), ours = PrioritySemaphore(value: 1)
        let continuations = ContinuationSemaphore(permits: 1)
        let loops = LoopGroup(results: results, rounds: rounds)
        func turn(_ name: String, _ once: @escaping @Sendable () async -> Void) -> Turn {
            loops.turn(name, times: 100_000, warmUp: 1000) { times in
                waitForTask { for _ in 0..<times { await once() } }
                return times
            }
        }
        loops.report(
            "semaphore, withPermit of a task", baseline: "actor with continuations",
            [
                turn("actor with continuations") {
                    await actor.wait()
                    // Outside of the actor: otherwise the optimizer stays in it.
                    bench_busy(0)
                    await actor.signal()
                },
                turn("semaphore of continuations") {
                    await continuations.wait(isUrgent: false)
                    bench_busy(0)
                    continuations.signal()
                },
                turn("PrioritySemaphore.withPermit") { try? await ours.withPermit { bench_busy(0) } },
            ])
    }

    /// Two threads let each other go in turn, by a semaphore each.
    private func roundTrips() {
        let group = "semaphore, round trip of two threads", names = [DispatchPermits.name, PriorityPermits.name]
        var times = Rows(names)
        note("\(group) ")
        inRounds(
            rounds,
            [
                Turn(subject: names[0]) { times.add(names[0], roundTrip(DispatchPermits.self)) },
                Turn(subject: names[1]) { times.add(names[1], roundTrip(PriorityPermits.self)) },
            ])
        note("\n")
        results.print(group, "ns", baseline: names[0], times.values)
    }

    private func roundTrip<S: PermitSubject>(_ type: S.Type) -> Double {
        let there = S(permits: 0), back = S(permits: 0), window = Window(), answer = Shared()
        let span = Int64(windowMilliseconds) * 1_000_000
        onThreads(2) { index in
            if index == 1 {
                while true {
                    there.wait()
                    if window.isClosed { return }
                    back.signal()
                }
            }
            func roundTrips(_ times: Int) {
                for _ in 0..<times {
                    there.signal()
                    back.wait()
                }
            }
            roundTrips(100)
            var count = 0
            let begin = bench_now_ns()
            while bench_now_ns() < begin + span {
                roundTrips(16)
                count += 16
            }
            answer.add(Int(bench_now_ns() - begin) * 1000 / count)
            window.close()
            there.signal()
        }
        return Double(answer.value) / 1000
    }

    /// Eight threads for two permits: how often all of them are let in.
    private func crowd() {
        let group = "semaphore of two, 8 threads, 1 us sections"
        let names = [DispatchPermits.name, PriorityPermits.name]
        var rates = Rows(names)
        note("\(group) ")
        inRounds(
            rounds,
            [
                Turn(subject: names[0]) { rates.add(names[0], throughput(DispatchPermits.self, threads: 8)) },
                Turn(subject: names[1]) { rates.add(names[1], throughput(PriorityPermits.self, threads: 8)) },
            ])
        note("\n")
        results.print(group, "Mops/s", baseline: names[0], rates.values)
    }

    private func throughput<S: PermitSubject>(_ type: S.Type, threads: Int) -> Double {
        let semaphore = S(permits: 2), window = Window(), sum = Shared(), turns = Int(turnsPerMicrosecond)
        let millis = windowMilliseconds
        var open: Int64 = 0
        onThreads(threads, meanwhile: { open = window.hold(for: threads, milliseconds: millis) }) { _ in
            var count = 0
            window.enter()
            while !window.isClosed {
                use(semaphore, turns)
                count += 1
            }
            sum.add(count)
        }
        return Double(sum.value) * 1e3 / Double(open)
    }

    /// Eight threads for two permits, and one more that is urgent: its waits.
    private func urgentThread() {
        let group = "semaphore of two, urgent thread among 8, 10 us sections, its waits"
        var waits: [(subject: String, rounds: [Waits.Samples])] = [
            (DispatchPermits.name, []), (PriorityPermits.name, []),
        ]
        note("\(group) ")
        inRounds(
            rounds,
            [
                Turn(subject: DispatchPermits.name) { waits[0].rounds.append(urgentWaits(DispatchPermits.self)) },
                Turn(subject: PriorityPermits.name) { waits[1].rounds.append(urgentWaits(PriorityPermits.self)) },
            ])
        note("\n")
        Waits.report(group, waits, to: results)
    }

    private func urgentWaits<S: PermitSubject>(_ type: S.Type) -> Waits.Samples {
        let semaphore = S(permits: 2), window = Window(), samples = Waits.Gathered(), others = 8
        let turns = Int(10 * turnsPerMicrosecond), span = Int64(windowMilliseconds) * 5_000_000
        onThreads(others + 1, meanwhile: { _ = window.open(for: others + 1) }) { index in
            window.enter()
            if index < others {
                while !window.isClosed { use(semaphore, turns) }
                return
            }
            var waits = Waits.noSamples()
            let end = bench_now_ns() + span
            while bench_now_ns() < end {
                bench_sleep(nanoseconds: 200_000)
                let begin = bench_now_ns()
                semaphore.waitUrgently()
                waits.record(UInt64(max(0, bench_now_ns() - begin)))
                bench_busy(turns)
                semaphore.signal()
            }
            window.close()
            samples.add(waits, entered: 0)
        }
        return samples.all
    }

    /// A thousand tasks that hold permits for 1 ms each, while they sleep, and one more that is urgent: its waits.
    private func urgentTaskAmongMany() {
        let actor = ActorSemaphore(permits: 4), continuations = ContinuationSemaphore(permits: 4)
        let ours = PrioritySemaphore(value: 4)
        let subjects: [(name: String, wait: @Sendable (Bool) async -> Void, signal: @Sendable () async -> Void)] = [
            ("actor with continuations", { _ in await actor.wait() }, { await actor.signal() }),
            (
                "semaphore of continuations", { await continuations.wait(isUrgent: $0) },
                { continuations.signal() }
            ),
            (
                PriorityPermits.name, { try? await ours.wait(priority: $0 ? .high : .normal) },
                { try? ours.signal() }
            ),
        ]
        let group = "semaphore of 4, urgent task among 1000, permits of 1 ms, its waits"
        var waits: [(subject: String, rounds: [Waits.Samples])] = subjects.map { ($0.name, []) }
        note("\(group) ")
        inRounds(
            rounds,
            subjects.enumerated().map { index, subject in
                Turn(subject: subject.name) {
                    waits[index].rounds.append(urgentWaits(among: 1000, subject.wait, subject.signal))
                }
            })
        note("\n")
        Waits.report(group, waits, to: results)
    }

    private func urgentWaits(
        among tasks: Int, _ wait: @escaping @Sendable (Bool) async -> Void,
        _ signal: @escaping @Sendable () async -> Void
    ) -> Waits.Samples {
        let window = Window(), samples = Waits.Gathered(), span = Int64(windowMilliseconds) * 5_000_000
        waitForTask {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<tasks {
                    group.addTask {
                        while !window.isClosed {
                            await wait(false)
                            try? await Task.sleep(nanoseconds: 1_000_000)
                            await signal()
                        }
                    }
                }
                group.addTask(priority: .high) {
                    var waits = Waits.noSamples()
                    let end = bench_now_ns() + span
                    while bench_now_ns() < end {
                        try? await Task.sleep(nanoseconds: 2_000_000)
                        let begin = bench_now_ns()
                        await wait(true)
                        waits.record(UInt64(max(0, bench_now_ns() - begin)))
                        await signal()
                    }
                    window.close()
                    samples.add(waits, entered: 0)
                }
            }
        }
        return samples.all
    }
}

/// A section of `turns` of work, and as much outside.
private func use<S: PermitSubject>(_ semaphore: S, _ turns: Int) {
    semaphore.wait()
    bench_busy(turns)
    semaphore.signal()
    bench_busy(turns)
}
