import NIOCore
import NIOPosix

/// Works on shards that block: commands run on the event loop that read them, sweeps on threads of their own.
final class BlockingEngine<Store: BlockingStore>: Engine {
    static var answersInPlace: Bool { true }

    private let shards: [Store]
    private let clock: ServerClock
    /// Two, so that a `SCAN` does not have to wait for a `KEYS` over millions.
    private let sweepThreads = NIOThreadPool(numberOfThreads: 2)

    init(shardCount: Int, clock: ServerClock) {
        shards = (0..<shardCount).map { _ in Store(Shard()) }
        self.clock = clock
        sweepThreads.start()
    }

    @inline(__always)
    private func apply(_ operation: KeyOperation, _ key: Key, now: Milliseconds) -> Reply {
        shards[key.shard(of: shards.count)].apply(operation, key, now: now)
    }

    func answer(_ work: Work, _ session: borrowing Session) -> Reply {
        session.server.watch(session.command) { answer(work, session.server, now: session.now) }
    }

    @inline(__always)
    private func answer(_ work: Work, _ server: ServerFacts, now: Milliseconds) -> Reply {
        switch work {
        case .key(let key, let operation):
            return apply(operation, key, now: now)
        case .keys(let steps, let combination):
            return combination.combine(steps.map { apply($0.operation, $0.key, now: now) })
        case .count:
            return .integer(sizes().reduce(0) { $0 + $1.keys })
        case .info(let sections):
            return ServerReport.reply(sections, server, sizes(), now: now)
        case .reply(let reply):
            return reply
        case .close, .sweep:
            preconditionFailure("this work has no answer in place")
        }
    }

    private func sizes() -> [ShardSize] {
        shards.map { $0.withShard(.command) { ShardSize($0) } }
    }

    func run(_ batch: [QueuedWork], server: ServerFacts, completion: @escaping @Sendable ([ByteBuffer]) -> Void) {
        sweepThreads.submit { state in
            guard case .active = state else { return completion([]) }
            yieldProcessorToOthers()
            for queued in batch {
                guard case .sweep(let sweep) = queued.work else { preconditionFailure("only sweeps run elsewhere") }
                self.run(sweep, queued, server, completion)
            }
        }
    }

    private func run(_ sweep: Sweep, _ queued: QueuedWork, _ server: ServerFacts, _ completion: ([ByteBuffer]) -> Void) {
        switch sweep {
        case .keys(let pattern, let limit):
            let job = KeysJob(shardCount: shards.count, pattern: pattern, limit: limit)
            completion(server.watch(queued.command) { finish(job) }.reply())
        case .scan(let request):
            let job = server.watch(queued.command) { finish(ScanJob(shardCount: shards.count, request: request)) }
            completion([encoded(job.reply(), queued.version)])
        case .flush:
            var job = server.watch(queued.command) { finish(FlushJob(shardCount: shards.count)) }
            completion([encoded(.ok, queued.version)])
            while job.freeBucket() {}
        }
    }

    func removeExpired(round: Int, completion: @escaping @Sendable (Int) -> Void) {
        sweepThreads.submit { state in
            guard case .active = state else { return completion(0) }
            yieldProcessorToOthers()
            completion(self.finish(ExpiryJob(shardCount: self.shards.count, round: round)).removed)
        }
    }

    /// Runs all steps of a job. Between two of them, no shard is held.
    private func finish<Job: SweepJob>(_ job: consuming Job) -> Job {
        while let step = job.nextStep {
            let now = clock.now()
            job.absorb(shards[step.shard].withShard(.sweep) { step.visit(&$0, now) })
        }
        return job
    }

    func shutDown() {
        try? sweepThreads.syncShutdownGracefully()
    }
}

func encoded(_ reply: Reply, _ version: ProtocolVersion) -> ByteBuffer {
    var encoder = ReplyEncoder(buffer: ByteBuffer(), version: version)
    encoder.write(reply)
    return encoder.buffer
}
