import Dispatch
import NIOCore
import NIOPosix
import SwiftSync
import Synchronization

/// What a server is started with.
public struct ServerOptions: Sendable {
    public var host = "127.0.0.1"
    /// Zero for any free port.
    public var port = 6379
    public var shards = 16
    /// Event loops, each a thread.
    public var threads = System.coreCount
    public var store = StoreKind.mutex
    public var clock = ServerClock.monotonic
    /// Time between two rounds of active expiry. Nil switches it off.
    public var expiryInterval: Duration? = .milliseconds(100)
    /// How many slow commands may wait; further ones are refused.
    public var slowLimit = 64
    /// How costly commands are admitted.
    public var admission = AdmissionKind.prioritysemaphore
    /// How many of them run at once.
    public var permits = System.coreCount
    public var log: Log = logToStandardError

    public init() {}
}

/// A server that is running.
public final class Server: Sendable {
    public let port: Int
    private let group: MultiThreadedEventLoopGroup
    private let listener: any Channel
    private let engine: any Engine
    private let connections: ConnectionRegistry
    private let background: Background
    private let costly: CostlyCommands
    private let isStopped = Mutex(false)

    /// Starts a server and returns when it accepts connections.
    public static func start(_ options: ServerOptions) throws -> Server {
        // The one place where the kind of store is a value; from here on it is a type.
        switch options.store {
        case .mutex: try start(options, BlockingEngine<MutexStore>.init)
        case .niolock: try start(options, BlockingEngine<NIOLockStore>.init)
        case .dispatch: try start(options, BlockingEngine<DispatchStore>.init)
        case .swiftsync: try start(options, BlockingEngine<SwiftSyncStore>.init)
        case .snapshot: try start(options, BlockingEngine<SnapshotStore>.init)
        case .actor: try start(options, ActorEngine.init)
        }
    }

    private static func start<E: Engine>(
        _ options: ServerOptions, _ makeEngine: (Int, ServerClock) -> E
    ) throws -> Server {
        let engine = makeEngine(options.shards, options.clock)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: options.threads)
        let connections = ConnectionRegistry()
        let statistics = Statistics()
        let background = Background(slowLimit: options.slowLimit)
        // Where commands run in tasks, the same threads may be theirs.
        let costly = CostlyCommands(options.admission, permits: options.permits, isNice: E.answersInPlace)
        let settings = Snapshot(Settings())
        let started = options.clock.now()
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 511)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                let facts = ServerFacts(
                    port: channel.localAddress?.port ?? options.port, store: options.store, shards: options.shards,
                    threads: options.threads, costly: costly, started: started, statistics: statistics,
                    background: background,
                    settings: settings, write: options.log)
                let isWelcome = connections.add(channel, limit: settings.current.maximumClients)
                if !isWelcome { facts.log(.warning, "a client too many was turned away") }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if isWelcome {
                        try pipeline.addHandler(ConnectionHandler(engine: engine, clock: options.clock, server: facts))
                    } else {
                        try pipeline.addHandler(RefusalHandler())
                    }
                }
            }
        do {
            let listener = try bootstrap.bind(host: options.host, port: options.port).wait()
            maintain(background, engine, statistics, options)
            return Server(group, listener, engine, connections, background, costly)
        } catch {
            _ = costly.stop(until: .now)
            try? group.syncShutdownGracefully()
            throw error
        }
    }

    /// What is done at times. Nothing of it runs twice at once: where a round takes longer than its period, the next is
    /// left out.
    private static func maintain<E: Engine>(
        _ background: Background, _ engine: E, _ statistics: Statistics, _ options: ServerOptions
    ) {
        background.maintain(every: .seconds(1)) { statistics.sample() }
        guard let interval = options.expiryInterval else { return }
        let round = Atomic(0)
        background.maintain(every: interval) {
            statistics.keysExpired(engine.removeExpired(round: round.wrappingAdd(1, ordering: .relaxed).oldValue))
        }
    }

    private init(
        _ group: MultiThreadedEventLoopGroup, _ listener: any Channel, _ engine: any Engine,
        _ connections: ConnectionRegistry, _ background: Background, _ costly: CostlyCommands
    ) {
        self.group = group
        self.listener = listener
        self.engine = engine
        self.connections = connections
        self.background = background
        self.costly = costly
        port = listener.localAddress?.port ?? 0
    }

    /// Runs one round of active expiry now and waits for it.
    ///
    /// - Returns: how many keys it removed.
    @discardableResult
    public func removeExpired(round: Int) -> Int {
        background.maintenance.sync { engine.removeExpired(round: round) }
    }

    /// How many rounds of active expiry visit every bucket once.
    public static var expiryRounds: Int { ExpiryJob.rounds }

    /// Stops accepting, lets what was received be answered and what was accepted in the background end, and closes
    /// everything. Only the first call does anything: its threads are gone afterwards.
    ///
    /// - Parameter limit: how long to wait for that. Then connections are closed as they are, and what has not begun is
    ///   given up.
    /// - Returns: whether all was answered and ended in time.
    @discardableResult
    public func stop(within limit: Duration = .seconds(5)) -> Bool {
        let isRepeated = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return isStopped
        }
        if isRepeated { return true }
        let deadline = ContinuousClock.now + limit
        try? listener.close().wait()
        let isAnswered = connections.drain(until: deadline)
        let costlyEnded = costly.stop(until: deadline)
        let backgroundEnded = background.stop(until: deadline)
        try? group.syncShutdownGracefully()
        return isAnswered && costlyEnded && backgroundEnded
    }
}
