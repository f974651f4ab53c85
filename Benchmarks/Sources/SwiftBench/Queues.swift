import CBenchSupport
import Dispatch
import Foundation
import NIOPosix
import SwiftSync

/// Work queues beside those of Dispatch, NIO and Foundation: what a task costs from being queued to having run, with
/// its share of the waiting for all.
struct Queues {
    let results: Results
    let rounds: Int
    private let times = 100_000

    /// What tasks count in: a closure that captured it would be counted too, by two threads.
    nonisolated(unsafe) private static var ran = 0

    private final class Counter: @unchecked Sendable {
        var number = 0
        let lock = NSLock()
    }

    /// One queue: how a task is put there, and how its end is waited for.
    private struct Peer: Sendable {
        let name: String
        let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
    }

    func run() {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? loops.syncShutdownGracefully() }
        let loop = loops.next(), serial = WorkQueue(name: "serial"), dispatch = DispatchQueue(label: "serial")
        let peers = [
            Peer(name: "DispatchQueue.async") { dispatch.async(execute: $0) },
            Peer(name: "EventLoop.execute") { loop.execute($0) },
            Peer(name: "WorkQueue.async") { serial.async($0) },
        ]
        endToEnd("serial queue, 1 producer", producers: 1, peers)
        endToEnd("serial queue, 4 producers", producers: 4, peers)
        parked(peers)
        roundTrips(peers)
        priorities()
        concurrent()
        urgent()
        blocked()
    }

    /// Each producer's last task counts; the thread that measures waits for all of them, asleep.
    private func endToEnd(_ group: String, producers: Int, _ peers: [Peer]) {
        measure(
            group, baseline: peers[0].name,
            peers.map { peer in
                (
                    peer.name,
                    { times in
                        let done = DispatchSemaphore(value: 0), share = times / producers
                        let produce: @Sendable () -> Void = {
                            for _ in 1..<share { peer.enqueue { Self.ran &+= 1 } }
                            peer.enqueue { done.signal() }
                        }
                        if producers == 1 { produce() } else { onThreads(producers) { _ in produce() } }
                        for _ in 0..<producers { done.wait() }
                    }
                )
            })
    }

    private func measure(_ group: String, baseline: String, times: Int? = nil, _ loops: [(String, (Int) -> Void)]) {
        let times = times ?? self.times
        var rows = Rows(loops.map(\.0)), allocations = Rows(loops.map(\.0))
        note("\(group) ")
        inRounds(
            rounds,
            loops.map { name, loop in
                Turn(subject: name) {
                    loop(min(times, 4000))
                    let allocated = bench_allocations(), begin = bench_now_ns()
                    loop(times)
                    rows.add(name, Double(bench_now_ns() - begin) / Double(times))
                    allocations.add(name, (Double(bench_allocations() - allocated) / Double(times) * 10).rounded() / 10)
                }
            })
        note("\n")
        results.print(group, "ns", baseline: baseline, rows.values)
        results.print(group, "allocations", baseline: "", allocations.values)
    }

    /// What it costs the caller to queue a task where nothing has been queued for a while.
    private func parked(_ peers: [Peer]) {
        let group = "enqueue, consumer parked"
        measureLatency(group, baseline: "EventLoop.execute", peers.map(\.name)) { name in
            let peer = peers.first { $0.name == name }!, done = DispatchSemaphore(value: 0)
            usleep(200)
            let begin = bench_now_ns()
            peer.enqueue { done.signal() }
            let nanoseconds = bench_now_ns() - begin
            done.wait()
            return Double(nanoseconds)
        }
    }

    private func roundTrips(_ peers: [Peer]) {
        measureLatency("round trip from a blocked thread", baseline: "DispatchQueue.async", peers.map(\.name)) { name in
            let peer = peers.first { $0.name == name }!, done = DispatchSemaphore(value: 0)
            let begin = bench_now_ns()
            peer.enqueue { done.signal() }
            done.wait()
            return Double(bench_now_ns() - begin)
        }
    }

    /// The median of single measurements in each round.
    private func measureLatency(
        _ group: String, baseline: String, count: Int = 500, _ names: [String], _ once: @escaping (String) -> Double
    ) {
        var rows = Rows(names)
        note("\(group) ")
        inRounds(
            rounds,
            names.map { name in
                Turn(subject: name) {
                    for _ in 0..<10 { _ = once(name) }
                    rows.add(name, median((0..<count).map { _ in once(name) }))
                }
            })
        note("\n")
        results.print(group, "ns", baseline: baseline, rows.values)
    }

    private func priorities() {
        let operations = OperationQueue(), queue = WorkQueue(name: "priorities")
        operations.maxConcurrentOperationCount = 1
        measure(
            "task with a priority", baseline: "OperationQueue", times: 20_000,
            [
                (
                    "OperationQueue",
                    { times in
                        for index in 0..<times {
                            let operation = BlockOperation { Self.ran &+= 1 }
                            operation.queuePriority = index % 3 == 0 ? .low : index % 3 == 1 ? .normal : .high
                            operations.addOperation(operation)
                        }
                        operations.waitUntilAllOperationsAreFinished()
                    }
                ),
                (
                    "WorkQueue.async(priority:)",
                    { times in
                        for index in 0..<times {
                            queue.async(priority: index % 3 == 0 ? .low : index % 3 == 1 ? .normal : .high) {
                                Self.ran &+= 1
                            }
                        }
                        queue.blockingDrain()
                    }
                ),
            ])
    }

    private func concurrent() {
        let dispatch = DispatchQueue(label: "concurrent", attributes: .concurrent),
            queue = ConcurrentWorkQueue(name: "concurrent", width: 64)
        let width = ProcessInfo.processInfo.activeProcessorCount, threads = NIOThreadPool(numberOfThreads: width)
        threads.start()
        defer { try? threads.syncShutdownGracefully() }
        func loop(
            _ enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void, _ drain: @escaping () -> Void
        ) -> (Int) -> Void {
            { times in
                onThreads(4) { _ in for _ in 0..<times / 4 { enqueue { bench_busy(8) } } }
                drain()
            }
        }
        measure(
            "concurrent queue, 4 producers", baseline: "DispatchQueue, concurrent",
            [
                (
                    "DispatchQueue, concurrent",
                    loop({ dispatch.async(execute: $0) }, { dispatch.sync(flags: .barrier) {} })
                ),
                (
                    "NIOThreadPool",
                    loop({ work in threads.submit { _ in work() } }, { Self.meet(threads, width) })
                ),
                ("ConcurrentWorkQueue", loop({ queue.async($0) }, { queue.blockingDrain() })),
            ])
    }

    /// Returns when each thread of a pool has come to work that waits for the others, so that all before has ended.
    private static func meet(_ threads: NIOThreadPool, _ count: Int) {
        let here = DispatchSemaphore(value: 0), all = DispatchSemaphore(value: 0)
        for _ in 0..<count {
            threads.submit { _ in
                here.signal()
                all.wait()
            }
        }
        for _ in 0..<count { here.wait() }
        for _ in 0..<count { all.signal() }
    }

    /// How late delayed work begins.
    func runDelays() {
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? loops.syncShutdownGracefully() }
        let dispatch = DispatchQueue(label: "delays"), queue = WorkQueue(name: "delays"), loop = loops.next()
        for milliseconds in [1, 5, 50] {
            let nanoseconds = UInt64(milliseconds) * 1_000_000
            measureLatency(
                "delay of \(milliseconds) ms, late by", baseline: "EventLoop.scheduleTask",
                count: milliseconds == 50 ? 8 : 60,
                ["DispatchQueue.asyncAfter", "EventLoop.scheduleTask", "WorkQueue.async(after:)"]
            ) { name in
                let done = DispatchSemaphore(value: 0), ran = Counter(), begin = bench_now_ns()
                let body: @Sendable () -> Void = {
                    ran.number = Int(bench_now_ns())
                    done.signal()
                }
                switch name {
                case "DispatchQueue.asyncAfter":
                    dispatch.asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: body)
                case "EventLoop.scheduleTask": loop.scheduleTask(in: .milliseconds(Int64(milliseconds)), body)
                default: queue.async(after: .milliseconds(milliseconds), body)
                }
                done.wait()
                return Double(ran.number - Int(begin) - Int(nanoseconds))
            }
        }
    }

    /// How long a task of high priority waits behind 10 000 low ones of 10 us each that were queued before it.
    private func urgent() {
        let queue = WorkQueue(name: "urgent"), busy = Int(10 * calibrate())
        measureLatency(
            "high priority behind 10 000 low ones of 10 us", baseline: "", count: 1,
            ["WorkQueue.async(priority: .high)"]
        ) { _ in
            let done = DispatchSemaphore(value: 0), ran = Counter()
            for _ in 0..<10_000 { queue.async(priority: .low) { bench_busy(busy) } }
            let begin = bench_now_ns()
            queue.async(priority: .high) {
                ran.number = Int(bench_now_ns())
                done.signal()
            }
            done.wait()
            queue.blockingDrain()
            return Double(ran.number - Int(begin))
        }
    }

    /// 600 queues whose work blocks until all of it has begun: milliseconds until then.
    private func blocked() {
        measureLatency("600 queues that block at once, until all have begun", baseline: "", count: 1, ["WorkQueue"]) {
            _ in
            let queues = (0..<600).map { WorkQueue(name: "blocked \($0)") }, all = DispatchSemaphore(value: 0),
                counter = Counter()
            let begin = bench_now_ns()
            for queue in queues {
                queue.async {
                    let last = counter.lock.withLock {
                        counter.number += 1; return counter.number == 600
                    }
                    if last { for _ in 0..<600 { all.signal() } }
                    all.wait()
                }
            }
            for queue in queues { queue.blockingDrain() }
            return Double(bench_now_ns() - begin)
        }
    }
}
