import NIOCore

/// Works on shards that block: commands run on the event loop that read them, or, if they are slow or costly, on
/// other threads.
final class BlockingEngine<Store: BlockingStore>: Engine {
    static var answersInPlace: Bool { true }

    private let shards: [Store]
    private let clock: ServerClock

    init(shardCount: Int, clock: ServerClock) {
        shards = (0..<shardCount).map { _ in Store(Shard()) }
        self.clock = clock
    }

    var shardCount: Int { shards.count }

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
        case .close, .slow, .costly:
            preconditionFailure("this work has no answer in place")
        }
    }

    private func sizes() -> [ShardSize] {
        shards.map { $0.withShard(.command) { ShardSize($0) } }
    }

    func run(_ batch: [QueuedWork], server: ServerFacts, completion: @escaping @Sendable (ByteBuffer) -> Void) {
        preconditionFailure("everything but slow and costly commands is answered in place")
    }

    func withValue(of key: Key, now: Milliseconds, _ body: @escaping @Sendable (Value?) -> Void) {
        body(shards[key.shard(of: shards.count)].value(of: key, now: now))
    }

    func finish<Job: SweepJob>(_ job: consuming Job) -> Job {
        while let step = job.nextStep {
            let now = clock.now()
            job.absorb(shards[step.shard].withShard(.sweep) { step.visit(&$0, now) })
        }
        return job
    }
}
