import AsyncAlgorithms
import CBenchSupport
import Dispatch
import SwiftSync

/// Nanoseconds of a piece of async work, from its submission to its end, and of waiting for one from a task. All
/// measured from a detached task.
struct OrderedQueues {
    let results: Results
    let rounds: Int
    private let times = 100_000

    private typealias Work = @Sendable () async -> Void

    private final class Counter: @unchecked Sendable {
        var number = 0
    }

    private actor Account {
        var balance = 0
        func deposit() { balance &+= 1 }
        func nothing() {}
    }

    func run() {
        submissions()
        roundTrips()
    }

    private typealias Loop = @Sendable (Int) async -> Void

    private func submissions() {
        let counter = Counter(), account = Account(), fifo = FIFOQueue(), actorQueue = ActorQueue<Account>()
        let cancellable = CancellableQueue(underlyingQueue: FIFOQueue())
        actorQueue.adoptExecutionContext(of: account)
        let (stream, continuation) = AsyncStream<Work>.makeStream()
        let consumer = Task.detached { for await work in stream { await work() } }
        defer {
            continuation.finish()
            consumer.cancel()
        }
        let streamed: Loop = { times in
            for _ in 0..<times { continuation.yield { counter.number &+= 1 } }
            await withUnsafeContinuation { end in _ = continuation.yield { end.resume() } }
        }
        let channel = AsyncChannel<Work>(), receiver = Task.detached { for await work in channel { await work() } }
        defer {
            channel.finish()
            receiver.cancel()
        }
        // Each send waits until the consumer takes it.
        let sent: Loop = { times in
            for _ in 0..<times { await channel.send { counter.number &+= 1 } }
            let (ended, end) = AsyncStream<Void>.makeStream()
            await channel.send { end.finish() }
            for await _ in ended {}
        }
        let loops =
            [("AsyncStream + one consumer", streamed), ("AsyncChannel + one consumer", sent)]
            + enqueuing(fifo, actorQueue, cancellable, account, counter) + tasks(on: fifo, actorQueue, counter)

        let names = loops.map(\.0), group = "async work, from submission to end"
        var rows = Rows(names), allocations = Rows(names)
        note("\(group) ")
        inRounds(
            rounds,
            loops.map { name, loop in
                Turn(subject: name) {
                    let times = times
                    let (nanoseconds, allocated) = onDetachedTask {
                        await loop(2000)
                        let allocated = bench_allocations(), begin = bench_now_ns()
                        await loop(times)
                        return (bench_now_ns() - begin, bench_allocations() - allocated)
                    }
                    rows.add(name, Double(nanoseconds) / Double(times))
                    allocations.add(name, (Double(allocated) / Double(times)).rounded(.toNearestOrEven))
                }
            })
        note("\n")
        results.print(group, "ns", baseline: names[0], rows.values)
        results.print(group, "allocations", baseline: "", allocations.values)
    }

    private func enqueuing(
        _ fifo: FIFOQueue, _ actorQueue: ActorQueue<Account>, _ cancellable: CancellableQueue<FIFOQueue>,
        _ account: Account, _ counter: Counter
    ) -> [(String, Loop)] {
        [
            (
                "FIFOQueue.enqueue",
                { times in
                    for _ in 0..<times { fifo.enqueue { counter.number &+= 1 } }
                    await withUnsafeContinuation { end in _ = fifo.enqueue { end.resume() } }
                }
            ),
            (
                "ActorQueue.enqueue",
                { times in
                    for _ in 0..<times { actorQueue.enqueue { $0.deposit() } }
                    await withUnsafeContinuation { end in _ = actorQueue.enqueue { _ in end.resume() } }
                }
            ),
            (
                "CancellableQueue.enqueue",
                { times in
                    for _ in 0..<times { cancellable.enqueue { counter.number &+= 1 } }
                    await withUnsafeContinuation { end in _ = cancellable.enqueue { end.resume() } }
                }
            ),
            ("Task { await actor.f() }", lastOf { Task { await account.deposit() } }),
        ]
    }

    private func tasks(on fifo: FIFOQueue, _ actorQueue: ActorQueue<Account>, _ counter: Counter) -> [(String, Loop)] {
        let cancellable = CancellableQueue(underlyingQueue: FIFOQueue())
        let cancellableActor = CancellableQueue(underlyingQueue: actorQueue)
        return [
            ("Task(on: FIFOQueue)", lastOf { Task(on: fifo) { counter.number &+= 1 } }),
            ("Task(on: ActorQueue)", lastOf { Task(on: actorQueue) { $0.deposit() } }),
            ("CancellableQueue over FIFOQueue", lastOf { Task(on: cancellable) { counter.number &+= 1 } }),
            ("CancellableQueue over ActorQueue", lastOf { Task(on: cancellableActor) { $0.deposit() } }),
        ]
    }

    /// Makes so many tasks, and waits for the last of them.
    @inline(__always)
    private func lastOf(_ make: @escaping @Sendable () -> Task<Void, Never>) -> Loop {
        { times in
            var last: Task<Void, Never>?
            for _ in 0..<times { last = make() }
            await last?.value
        }
    }

    private func roundTrips() {
        let fifo = FIFOQueue(), actorQueue = ActorQueue<Account>(), account = Account()
        actorQueue.adoptExecutionContext(of: account)
        let names = ["await actor.f()", "FIFOQueue.enqueueAndWait", "ActorQueue.enqueueAndWait"]
        var rows = Rows(names)
        func turn(_ name: String, _ call: @escaping @Sendable () async -> Void) -> Turn {
            Turn(subject: name) {
                let waits = onDetachedTask {
                    var waits = [Int64]()
                    waits.reserveCapacity(20_000)
                    for _ in 0..<20_000 {
                        let begin = bench_now_ns()
                        await call()
                        waits.append(bench_now_ns() - begin)
                    }
                    return waits.sorted()
                }
                rows.add(name, Double(waits[waits.count / 2]) / 1000)
            }
        }
        let group = "waiting for ordered work from a task"
        note("\(group) ")
        inRounds(
            rounds,
            [
                turn(names[0]) { await account.nothing() },
                turn(names[1]) { await fifo.enqueueAndWait {} },
                turn(names[2]) { await actorQueue.enqueueAndWait { _ in } },
            ])
        note("\n")
        results.print(group, "p50 us", baseline: names[0], rows.values)
    }

    private final class Slot<Value>: @unchecked Sendable {
        var value: Value?
    }

    /// Runs `body` in a detached task, and waits for it on the calling thread.
    private func onDetachedTask<R: Sendable>(_ body: @escaping @Sendable () async -> R) -> R {
        let done = DispatchSemaphore(value: 0), slot = Slot<R>()
        Task.detached {
            slot.value = await body()
            done.signal()
        }
        done.wait()
        return slot.value!
    }
}
