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
    public var expiryInterval: TimeAmount? = .milliseconds(100)
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

    private static func start<E: Engine>(_ options: ServerOptions, _ makeEngine: (Int, ServerClock) -> E) throws -> Server
    {
        let engine = makeEngine(options.shards, options.clock)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: options.threads)
        let connections = ConnectionRegistry()
        let statistics = Statistics()
        let settings = Snapshot(Settings())
        let started = options.clock.now()
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 511)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                let facts = ServerFacts(
                    port: channel.localAddress?.port ?? options.port, store: options.store, shards: options.shards,
                    threads: options.threads, started: started, statistics: statistics,
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
            if let interval = options.expiryInterval {
                expire(round: 0, every: interval, on: group.next(), engine, statistics)
            }
            return Server(group, listener, engine, connections)
        } catch {
            engine.shutDown()
            try? group.syncShutdownGracefully()
            throw error
        }
    }

    /// Each round is scheduled when the one before is over, so that rounds never pile up.
    private static func expire<E: Engine>(
        round: Int, every interval: TimeAmount, on loop: any EventLoop, _ engine: E, _ statistics: Statistics
    ) {
        loop.scheduleTask(in: interval) {
            engine.removeExpired(round: round) { removed in
                statistics.keysExpired(removed)
                expire(round: round &+ 1, every: interval, on: loop, engine, statistics)
            }
        }
    }

    private init(
        _ group: MultiThreadedEventLoopGroup, _ listener: any Channel, _ engine: any Engine,
        _ connections: ConnectionRegistry
    ) {
        self.group = group
        self.listener = listener
        self.engine = engine
        self.connections = connections
        port = listener.localAddress?.port ?? 0
    }

    /// Runs one round of active expiry now and waits for it.
    ///
    /// - Returns: how many keys it removed.
    @discardableResult
    public func removeExpired(round: Int) -> Int {
        let done = DispatchSemaphore(value: 0)
        let count = Mutex(0)
        engine.removeExpired(round: round) { removed in
            count.withLock { $0 = removed }
            done.signal()
        }
        done.wait()
        return count.withLock { $0 }
    }

    /// How many rounds of active expiry visit every bucket once.
    public static var expiryRounds: Int { ExpiryJob.rounds }

    /// Stops accepting, lets what was received be answered, and closes everything. Only the first call does anything: its
    /// threads are gone afterwards.
    ///
    /// - Parameter limit: how long to wait for the answers. After that, connections are closed as they are.
    /// - Returns: whether all answers were given in time.
    @discardableResult
    public func stop(within limit: DispatchTimeInterval = .seconds(5)) -> Bool {
        let isRepeated = isStopped.withLock { isStopped in
            defer { isStopped = true }
            return isStopped
        }
        if isRepeated { return true }
        try? listener.close().wait()
        let isComplete = connections.drain(within: limit)
        engine.shutDown()
        try? group.syncShutdownGracefully()
        return isComplete
    }
}
