import NIOCore

/// A request that could not be answered at once, with what its answer depends on.
struct QueuedWork: Sendable {
    var work: Work
    var version: ProtocolVersion
    var now: Milliseconds
    var command: StaticString

    init(_ work: Work, _ session: borrowing Session) {
        self.work = work
        version = session.version
        now = session.now
        command = session.command
    }

    var isSweep: Bool { if case .sweep = work { true } else { false } }
}

/// Carries out work on the keyspace. A connection knows its store only by this.
protocol Engine: AnyObject, Sendable {
    /// Whether `answer` can answer anything but sweeps at once. If not, a connection hands over what it has read as one
    /// batch, because each handover costs two changes of threads.
    static var answersInPlace: Bool { get }

    /// Answers on the calling thread. Never called with a sweep, and only if `answersInPlace`.
    func answer(_ work: Work, _ session: borrowing Session) -> Reply

    /// Carries out a batch in order, elsewhere. A sweep is always a batch of its own.
    ///
    /// `completion` is called exactly once, on any thread, with the replies in pieces of bounded size.
    func run(_ batch: [QueuedWork], server: ServerFacts, completion: @escaping @Sendable ([ByteBuffer]) -> Void)

    /// Runs one round of active expiry elsewhere; `completion` gets the number of removed keys, on any thread.
    func removeExpired(round: Int, completion: @escaping @Sendable (Int) -> Void)

    /// Stops what runs in the background. Work that is started later completes without a reply.
    func shutDown()
}
