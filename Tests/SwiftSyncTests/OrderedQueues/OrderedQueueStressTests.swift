import Glibc
import Testing

@testable import SwiftSync

/// Ordered queues under several producers that submit in all ways, give up and cancel: what was accepted runs once, in
/// its producer's order, and nothing overlaps.
///
/// A short form; `SWIFTSYNC_PLACES=1000000` makes as many, as for the places of actor queues, and `SWIFTSYNC_SEED=7`
/// other choices.
@Suite(.endsInTime)
struct OrderedQueueStressTests {
    private static let producers = 4
    private static let places = number("SWIFTSYNC_PLACES") ?? 4000
    private static let seed = UInt64(number("SWIFTSYNC_SEED") ?? 0)

    private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

    /// What only the queue's turn protects.
    private final class Turns: @unchecked Sendable {
        private var isInside = false
        private var last = [Int](repeating: 0, count: producers)
        private(set) var taken = 0, overlaps = 0, overtakings = 0

        func take(_ producer: Int, _ number: Int) async {
            if isInside { overlaps += 1 }
            isInside = true
            if number <= last[producer] { overtakings += 1 }
            last[producer] = number
            taken += 1
            if number % 5 == 0 { await Task.yield() }
            isInside = false
        }
    }

    /// All producers at once; how many turns they were promised.
    private static func produce(_ body: @escaping @Sendable (Int, Int, inout Seeded) async -> Int) async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for producer in 0..<producers {
                group.addTask {
                    var random = Seeded(seed << 8 | UInt64(producer)), accepted = 0
                    for number in 1...(places / producers) { accepted += await body(producer, number, &random) }
                    return accepted
                }
            }
            return await group.reduce(0, +)
        }
    }

    @Test(arguments: [nil, 4])
    func nothingOfAFIFOQueueIsLostOverlapsOrRunsTwice(capacity: Int?) async throws {
        let queue = capacity.map { FIFOQueue(capacity: $0, whenFull: .wait) } ?? FIFOQueue(), turns = Turns()
        let accepted = await Self.produce { producer, number, random in
            let isGivenUp = Bool.random(using: &random)
            let timeout = Duration.microseconds(Int.random(in: 0..<300, using: &random))
            do {
                switch Int.random(in: 0..<8, using: &random) {
                case 0: await queue.enqueueAndWait { await turns.take(producer, number) }
                case 1: try await queue.enqueueAndWait(timeout: .after(timeout)) { await turns.take(producer, number) }
                case 2:
                    let turn: @Sendable () async throws -> Void = { await turns.take(producer, number) }
                    let task = Task { try await queue.enqueueAndWait(turn) }
                    if isGivenUp { task.cancel() }
                    try await task.value
                case 3:
                    // Its place is taken already; cancelled, it takes its turn all the same.
                    let task: Task<Void, Never> = Task(on: queue) { await turns.take(producer, number) }
                    if isGivenUp { task.cancel() }
                case 4...5:
                    try await queue.enqueueWaitingForRoom(timeout: isGivenUp ? .after(timeout) : .never) {
                        await turns.take(producer, number)
                    }
                default:
                    // A full queue can't take it.
                    if capacity != nil { return 0 }
                    queue.enqueue { await turns.take(producer, number) }
                }
                return 1
            } catch {
                return 0
            }
        }
        try await queue.drain()
        #expect(turns.taken == accepted)
        #expect(turns.overlaps == 0 && turns.overtakings == 0)
    }

    /// Some run until they are cancelled, which a task beside them does again and again.
    @Test
    func tasksThatAreCancelledTogetherTakeTheirTurnsAllTheSame() async throws {
        let queue = CancellableQueue(underlyingQueue: FIFOQueue()), turns = Turns(), isOver = Flag()
        let canceller = Task {
            while !isOver.isRaised {
                queue.cancelTasks()
                await Task.yield()
            }
        }
        let accepted = await Self.produce { producer, number, random in
            let waits = Int.random(in: 0..<16, using: &random) == 0
            let task: Task<Void, Never> = Task(on: queue) {
                await turns.take(producer, number)
                while waits, !Task.isCancelled { await Task.yield() }
            }
            if Bool.random(using: &random) { await task.value }
            return 1
        }
        try await queue.underlyingQueue.drain()
        isOver.raise()
        await canceller.value
        #expect(turns.taken == accepted)
        #expect(turns.overlaps == 0 && turns.overtakings == 0)
    }

    /// One task after the other runs it, and is replaced when it is cancelled. Other work is never cancelled with it.
    @Test
    func workThatIsCancelledTogetherTakesItsTurnsAllTheSame() async throws {
        let fifo = FIFOQueue(), queue = CancellableQueue(underlyingQueue: fifo), turns = Turns(), isOver = Flag(),
            astray = Shared(0)
        let canceller = Task {
            while !isOver.isRaised {
                queue.cancelTasks()
                await Task.yield()
            }
        }
        let accepted = await Self.produce { producer, number, random in
            let waits = Int.random(in: 0..<16, using: &random) == 0
            let cancellable: @Sendable () async -> Void = {
                await turns.take(producer, number)
                while waits, !Task.isCancelled { await Task.yield() }
            }
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                fifo.enqueue {
                    await turns.take(producer, number)
                    if Task.isCancelled { astray.increment() }
                }
            case 1: Task(on: queue) { await cancellable() }
            case 2: queue.enqueue(inheritingTaskLocals: true, cancellable)
            case 3: await fifo.enqueueAndWait { await turns.take(producer, number) }
            default: queue.enqueue(cancellable)
            }
            return 1
        }
        try await fifo.drain()
        isOver.raise()
        await canceller.value
        #expect(turns.taken == accepted)
        #expect(turns.overlaps == 0 && turns.overtakings == 0 && astray.value == 0)
        await waitUntil { queue.trackedCount == 0 }
    }

    /// The actor protects what the tasks count; each begins in the order of its producer, though others are suspended.
    @Test
    func tasksOfAnActorThatAreCancelledTogetherBeginInOrder() async throws {
        let counter = Counter(), isOver = Flag(), actorQueue = ActorQueue<Counter>()
        actorQueue.adoptExecutionContext(of: counter)
        let queue = CancellableQueue(underlyingQueue: actorQueue)
        let canceller = Task {
            while !isOver.isRaised {
                queue.cancelTasks()
                await Task.yield()
            }
        }
        let accepted = await Self.produce { producer, number, random in
            let waits = Int.random(in: 0..<16, using: &random) == 0
            let task: Task<Void, Never> = Task(on: queue) { counter in
                counter.begin(producer, number)
                while waits, !Task.isCancelled { await Task.yield() }
            }
            if Bool.random(using: &random) { await task.value }
            return 1
        }
        try await actorQueue.drain()
        isOver.raise()
        await canceller.value
        #expect(await counter.begun == accepted)
        #expect(await counter.overtakings == 0)
    }

    private actor Counter {
        private var last = [Int](repeating: 0, count: producers)
        private(set) var begun = 0, overtakings = 0

        func begin(_ producer: Int, _ number: Int) {
            if number <= last[producer] { overtakings += 1 }
            last[producer] = number
            begun += 1
        }
    }
}
