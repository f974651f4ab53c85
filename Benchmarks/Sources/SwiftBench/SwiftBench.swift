import ArgumentParser
import CBenchSupport
import Foundation

@main
struct SwiftBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "SwiftSync's locks and values beside their peers, interleaved in one run.")

    @Option(help: "Rounds in which all subjects take their turn.")
    var rounds = 7

    @Option(help: "Length of a throughput measurement in milliseconds.")
    var millis = 60

    @Option(help: "A file to which rows are appended.")
    var tsv: String?

    @Option(
        help: """
            One part only, or several: uncontended, callSites, callSiteSemaphores, callSiteReads, \
            callSiteThreadLocals, contended, urgent, waits, semaphores, resourcePools, readWrites, \
            readWriteMixes, readMostly, queues, commands, orderedQueues, suspendingWaits, taskQueues, delays, \
            timeouts or threadLocals.
            """)
    var only: [Part] = []

    @Option(help: "Only this many increments of the subject named by --subject, for counting instructions.")
    var loop: Int?

    @Option(help: "The subject of --loop.")
    var subject = "PriorityMutex"

    func run() throws {
        // A second thread: locks are cheaper in a process that has only one.
        let second = Thread { while true { sleep(1000) } }
        second.start()
        if let loop { return try count(loop) }
        onThreads(1) { _ in
            Measurements(tsv: tsv, rounds: rounds, millis: millis).run(only.isEmpty ? Part.allCases : only)
        }
    }

    private func count(_ times: Int) throws {
        func run<S: Subject>(_ type: S.Type) -> Bool {
            guard S.name == subject else { return false }
            S().increments(times)
            return true
        }
        let known =
            run(FastMutex.self) || run(StrictMutex.self) || run(TrivialValue.self) || run(ReferringValue.self)
            || run(ReferringValueUsed.self) || run(Section.self) || run(SynchronizationMutex.self) || run(NIOBox.self)
            || run(FoundationLock.self) || run(FoundationRecursiveLock.self) || run(Semaphore.self)
            || ReadMostly.run(times, of: subject)
        if !known { throw ValidationError("no subject named \(subject)") }
    }
}

enum Part: String, CaseIterable, ExpressibleByArgument {
    case readMostly, uncontended, callSites, callSiteSemaphores, callSiteReads, callSiteThreadLocals, threadLocals,
        readWrites, readWriteMixes, queues, commands, orderedQueues, suspendingWaits, taskQueues, contended, urgent,
        waits, semaphores, resourcePools, delays, timeouts
}

/// Everything that blocks, on a thread that is not the main actor's.
struct Measurements {
    let tsv: String?
    let rounds: Int
    let millis: Int

    func run(_ parts: [Part]) {
        let results = Results(appendingTo: tsv)
        for part in parts {
            switch part {
            case .readMostly: ReadMostly(results: results, rounds: rounds, windowMilliseconds: millis).run()
            case .uncontended:
                // The first of a kind prepares what all share, which takes milliseconds.
                FastMutex().increments(1000)
                Uncontended(results: results, rounds: rounds).run()
            case .callSites: CallSites(results: results, rounds: rounds).runCalls()
            case .callSiteSemaphores: CallSites(results: results, rounds: rounds).runSemaphores()
            case .callSiteReads: CallSites(results: results, rounds: rounds).runReads()
            case .callSiteThreadLocals: CallSites(results: results, rounds: rounds).runThreadLocals()
            case .threadLocals: ThreadLocals(results: results, rounds: rounds).run()
            case .readWrites: ReadWrites(results: results, rounds: rounds).run()
            case .readWriteMixes:
                ReadWriteMixes(results: results, rounds: rounds, windowMilliseconds: millis).run()
            case .queues: Queues(results: results, rounds: rounds).run()
            case .commands: Commands(results: results, rounds: rounds).run()
            case .suspendingWaits:
                SuspendingWaits(
                    results: results, rounds: rounds, windowMilliseconds: millis, turnsPerMicrosecond: calibrate()
                ).run()
            case .orderedQueues: OrderedQueues(results: results, rounds: rounds).run()
            case .taskQueues: TaskQueues(results: results, rounds: rounds).run()
            case .contended:
                Contended(
                    results: results, rounds: rounds, windowMilliseconds: millis, turnsPerMicrosecond: calibrate()
                ).run()
            case .urgent, .waits:
                let waits = Waits(
                    results: results, rounds: rounds, windowMilliseconds: millis, turnsPerMicrosecond: calibrate())
                if part == .urgent { waits.runUrgent() } else { waits.runEqual() }
            case .semaphores:
                Semaphores(
                    results: results, rounds: rounds, windowMilliseconds: millis, turnsPerMicrosecond: calibrate()
                ).run()
            case .resourcePools:
                ResourcePools(
                    results: results, rounds: rounds, windowMilliseconds: millis, turnsPerMicrosecond: calibrate()
                ).run()
            case .delays: Queues(results: results, rounds: rounds).runDelays()
            case .timeouts: Timeouts(results: results, rounds: rounds).run()
            }
        }
    }
}

/// Turns of `bench_busy` in a microsecond: the fastest of several tries, so that a preempted one doesn't count.
func calibrate() -> Double {
    (0..<20).map { _ in
        let begin = bench_now_ns()
        bench_busy(1_000_000)
        return 1e9 / Double(bench_now_ns() - begin)
    }.max()!
}
