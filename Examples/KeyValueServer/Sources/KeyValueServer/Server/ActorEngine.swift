import Dispatch
import NIOCore

/// Works on shards that are actors: everything runs in tasks, and the event loops only read and write.
final class ActorEngine: Engine {
    static var answersInPlace: Bool { false }

    private let shards: [ActorStore]
    private let clock: ServerClock

    init(shardCount: Int, clock: ServerClock) {
        shards = (0..<shardCount).map { _ in ActorStore(Shard()) }
        self.clock = clock
    }

    var shardCount: Int { shards.count }

    func answer(_ work: Work, _ session: borrowing Session) -> Reply {
        preconditionFailure("an actor can't be entered without waiting")
    }

    func run(_ batch: [QueuedWork], server: ServerFacts, completion: @escaping @Sendable (ByteBuffer) -> Void) {
        Task(priority: .high) {
            var encoder = ReplyEncoder(buffer: ByteBuffer())
            for queued in batch {
                encoder.version = queued.version
                encoder.write(await server.watch(queued.command) { await self.answer(queued, server) })
            }
            completion(encoder.buffer)
        }
    }

    private func answer(_ queued: QueuedWork, _ server: ServerFacts) async -> Reply {
        switch queued.work {
        case .key(let key, let operation):
            return await apply(operation, key, now: queued.now)
        case .keys(let steps, let combination):
            var replies: [Reply] = []
            replies.reserveCapacity(steps.count)
            for step in steps { replies.append(await apply(step.operation, step.key, now: queued.now)) }
            return combination.combine(replies)
        case .count:
            return .integer(await sizes().reduce(0) { $0 + $1.keys })
        case .info(let sections):
            return ServerReport.reply(sections, server, await sizes(), now: queued.now)
        case .reply(let reply):
            return reply
        case .close, .slow, .costly:
            preconditionFailure("this work does not belong in a batch")
        }
    }

    func withValue(of key: Key, now: Milliseconds, _ body: @escaping @Sendable (Value?) -> Void) {
        Task(priority: .high) {
            body(await shards[key.shard(of: shards.count)].withShard { $0.entry(key, now: now)?.value })
        }
    }

    private func apply(_ operation: KeyOperation, _ key: Key, now: Milliseconds) async -> Reply {
        await shards[key.shard(of: shards.count)].withShard { operation.apply(to: &$0, key, now: now) }
    }

    private func sizes() async -> [ShardSize] {
        var sizes: [ShardSize] = []
        for shard in shards { sizes.append(await shard.withShard { ShardSize($0) }) }
        return sizes
    }

    /// In a task of low priority, for which the calling thread waits. Between two steps, no actor is occupied, and
    /// neither is a thread of the tasks.
    func finish<Job: SweepJob>(_ job: consuming Job) -> Job {
        let ended = DispatchSemaphore(value: 0)
        let place = Handover(job)
        Task(priority: .low) {
            place.put(await steps(of: place.take()))
            ended.signal()
        }
        ended.wait()
        return place.take()
    }

    private func steps<Job: SweepJob>(of job: consuming Job) async -> Job {
        var job = job
        while let step = job.nextStep {
            let now = clock.now()
            job.absorb(await shards[step.shard].withShard { step.visit(&$0, now) })
            await Task.yield()
        }
        return job
    }
}
