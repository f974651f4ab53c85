import NIOCore

/// A request that could not be answered at once, with what its answer depends on.
struct QueuedWork: Sendable {
    var work: Work
    var version: ProtocolVersion
    var now: Milliseconds
    var command: StaticString
    var priority: ClientPriority

    init(_ work: Work, _ session: borrowing Session) {
        self.work = work
        version = session.version
        now = session.now
        command = session.command
        priority = session.priority
    }
}

/// Carries out work on the keyspace. A connection knows its store only by this.
protocol Engine: AnyObject, Sendable {
    /// Whether `answer` can answer anything but slow and costly commands at once. If not, a connection hands over what
    /// it has read as one batch, because each handover costs two changes of threads.
    static var answersInPlace: Bool { get }

    var shardCount: Int { get }

    /// Answers on the calling thread. Never called with a slow or costly command, and only if `answersInPlace`.
    func answer(_ work: Work, _ session: borrowing Session) -> Reply

    /// Carries out a batch in order, elsewhere, and only if not `answersInPlace`. No slow or costly command is in it.
    ///
    /// `completion` is called exactly once, on any thread.
    func run(_ batch: [QueuedWork], server: ServerFacts, completion: @escaping @Sendable (ByteBuffer) -> Void)

    /// Looks a value up, for work that runs elsewhere. `body` is called exactly once, on any thread.
    func withValue(of key: Key, now: Milliseconds, _ body: @escaping @Sendable (Value?) -> Void)

    /// Runs all steps of a job. Blocks, and so is never called on an event loop. Between two steps, no shard is held.
    func finish<Job: SweepJob>(_ job: consuming Job) -> Job
}

extension Engine {
    /// Carries out a slow command, on a worker of the queue for them: the reply in pieces of bounded size.
    func run(_ command: SlowCommand, _ queued: QueuedWork, _ server: ServerFacts) -> [ByteBuffer] {
        switch command {
        case .keys(let pattern, let limit):
            let job = KeysJob(shardCount: shardCount, pattern: pattern, limit: limit)
            return server.watch(queued.command) { finish(job) }.reply()
        case .scan(let request):
            let job = server.watch(queued.command) { finish(ScanJob(shardCount: shardCount, request: request)) }
            return [encoded(job.reply(), queued.version)]
        case .flush:
            server.background.free(server.watch(queued.command) { finish(FlushJob(shardCount: shardCount)) })
            return [encoded(.ok, queued.version)]
        case .sleep(let seconds):
            server.watch(queued.command) { server.background.sleep(seconds: seconds) }
            return [encoded(.ok, queued.version)]
        }
    }

    /// Runs one round of active expiry, on the maintenance queue.
    ///
    /// - Returns: how many keys it removed.
    func removeExpired(round: Int) -> Int {
        finish(ExpiryJob(shardCount: shardCount, round: round)).removed
    }
}

func encoded(_ reply: Reply, _ version: ProtocolVersion) -> ByteBuffer {
    var encoder = ReplyEncoder(buffer: ByteBuffer(), version: version)
    encoder.write(reply)
    return encoder.buffer
}
