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

    func answer(_ work: Work, _ session: borrowing Session) -> Reply {
        preconditionFailure("an actor can't be entered without waiting")
    }

    func run(_ batch: [QueuedWork], server: ServerFacts, completion: @escaping @Sendable ([ByteBuffer]) -> Void) {
        if case .sweep(let sweep)? = batch.first?.work {
            let queued = batch[0]
            Task(priority: .low) { await self.run(sweep, queued, server, completion) }
            return
        }
        Task(priority: .high) {
            var encoder = ReplyEncoder(buffer: ByteBuffer())
            for queued in batch {
                encoder.version = queued.version
                encoder.write(await server.watch(queued.command) { await self.answer(queued, server) })
            }
            completion([encoder.buffer])
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
        case .close, .sweep:
            preconditionFailure("this work does not belong in a batch")
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

    private func run(
        _ sweep: Sweep, _ queued: QueuedWork, _ server: ServerFacts, _ completion: ([ByteBuffer]) -> Void
    ) async {
        switch sweep {
        case .keys(let pattern, let limit):
            let job = KeysJob(shardCount: shards.count, pattern: pattern, limit: limit)
            completion(await server.watch(queued.command) { await finish(job) }.reply())
        case .scan(let request):
            let job = await server.watch(queued.command) { await finish(ScanJob(shardCount: shards.count, request: request)) }
            completion([encoded(job.reply(), queued.version)])
        case .flush:
            var job = await server.watch(queued.command) { await finish(FlushJob(shardCount: shards.count)) }
            completion([encoded(.ok, queued.version)])
            // The threads of the pool belong to everybody, so each bucket is a turn of its own.
            while job.freeBucket() { await Task.yield() }
        }
    }

    func removeExpired(round: Int, completion: @escaping @Sendable (Int) -> Void) {
        Task(priority: .low) {
            completion(await finish(ExpiryJob(shardCount: shards.count, round: round)).removed)
        }
    }

    /// Runs all steps of a job. Between two of them, no actor is occupied, and neither is a thread.
    private func finish<Job: SweepJob>(_ job: consuming Job) async -> Job {
        var job = job
        while let step = job.nextStep {
            let now = clock.now()
            job.absorb(await shards[step.shard].withShard { step.visit(&$0, now) })
            await Task.yield()
        }
        return job
    }

    func shutDown() {}
}
