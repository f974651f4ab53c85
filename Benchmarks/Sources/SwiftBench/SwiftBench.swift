import ArgumentParser
import CBenchSupport
import Foundation

@main
struct SwiftBench: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "SwiftSync's locks and values beside their peers, interleaved in one run.")

    @Option(help: "Rounds in which all subjects take their turn.")
    var rounds = 7

    @Option(help: "Length of a throughput measurement in milliseconds.")
    var millis = 60

    @Option(help: "A file to which rows are appended.")
    var tsv: String?

    @Flag(help: "Only the thread-local values.")
    var threadLocals = false

    @Flag(help: "Only reads and writes.")
    var readWrites = false

    @Flag(help: "Only the task queue and the event recorder.")
    var taskQueues = false

    @Option(help: "Only this many increments of the subject named by --subject, for counting instructions.")
    var loop: Int?

    @Flag(help: "Only what is read much more than written.")
    var readMostly = false

    @Option(help: "The subject of --loop.")
    var subject = "PriorityMutex"

    func run() throws {
        // A second thread: locks are cheaper in a process that has only one.
        let second = Thread { while true { sleep(1000) } }
        second.start()
        if let loop { return try count(loop) }
        onThreads(1) { _ in
            if threadLocals { ThreadLocals(results: Results(appendingTo: tsv), rounds: rounds).run() }
            else if readWrites { ReadWrites(results: Results(appendingTo: tsv), rounds: rounds).run() }
            else if taskQueues { TaskQueues(results: Results(appendingTo: tsv), rounds: rounds).run() }
            else { Measurements(tsv: tsv, rounds: rounds, millis: millis, readMostly: readMostly).run() }
        }
    }

    private func count(_ times: Int) throws {
        func run<S: Subject>(_ type: S.Type) -> Bool {
            guard S.name == subject else { return false }
            S().increments(times)
            return true
        }
        let known = run(FastMutex.self) || run(StrictMutex.self) || run(TrivialValue.self) || run(ReferringValue.self)
            || run(ReferringValueUsed.self) || run(Section.self) || run(SynchronizationMutex.self) || run(NIOBox.self)
            || run(FoundationLock.self) || run(FoundationRecursiveLock.self) || run(Semaphore.self)
            || ReadMostly.run(times, of: subject)
        if !known { throw ValidationError("no subject named \(subject)") }
    }
}

/// Everything that blocks, on a thread that is not the main actor's.
struct Measurements {
    let tsv: String?
    let rounds: Int
    let millis: Int
    let readMostly: Bool

    func run() {
        let results = Results(appendingTo: tsv)
        ReadMostly(results: results, rounds: rounds, windowMilliseconds: millis).run()
        if readMostly { return }
        // The first of a kind prepares what all share, which takes milliseconds.
        FastMutex().increments(1000)
        Uncontended(results: results, rounds: rounds).run()
        ThreadLocals(results: results, rounds: rounds).run()
        ReadWrites(results: results, rounds: rounds).run()
        TaskQueues(results: results, rounds: rounds).run()
        let contended = Contended(results: results, rounds: rounds, windowMilliseconds: millis, turnsPerMicrosecond: calibrate())
        contended.runThroughput()
        contended.runUrgent()
        Timeouts(results: results, rounds: rounds).run()
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
