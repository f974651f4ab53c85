#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif
import SwiftSync
import Synchronization

/// Counters for `INFO`. They order nothing, so relaxed access is enough.
final class Statistics: Sendable {
    private let connections = Atomic(0)
    private let commands = Atomic(0)
    private let expired = Atomic(0)
    private let slow = Atomic(0)
    private let refused = Atomic(0)
    private let commandsPerSecond = Atomic(0)
    private let lastSample = Mutex((commands: 0, time: ContinuousClock.now))
    private let open = Atomic(0)

    /// Also the connection's number.
    func connectionOpened() -> Int {
        open.wrappingAdd(1, ordering: .relaxed)
        return connections.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func connectionClosed() { open.wrappingSubtract(1, ordering: .relaxed) }
    func commandsRead(_ count: Int) { commands.wrappingAdd(count, ordering: .relaxed) }
    func commandRefused() { refused.wrappingAdd(1, ordering: .relaxed) }
    func commandWasSlow() { slow.wrappingAdd(1, ordering: .relaxed) }
    func keysExpired(_ count: Int) { expired.wrappingAdd(count, ordering: .relaxed) }

    /// Notes how many commands there were in a second since the last call.
    func sample(at time: ContinuousClock.Instant = .now) {
        let count = commandCount
        let last = lastSample.withLock { last in
            defer { last = (count, time) }
            return last
        }
        guard time > last.time else { return }
        // Less than before after a reset.
        commandsPerSecond.store(
            Int(Double(max(count - last.commands, 0)) / ((time - last.time) / .seconds(1))), ordering: .relaxed)
    }

    /// Forgets what was counted, but not who is connected.
    func reset() {
        commands.store(0, ordering: .relaxed)
        expired.store(0, ordering: .relaxed)
        slow.store(0, ordering: .relaxed)
        refused.store(0, ordering: .relaxed)
    }

    var connectionCount: Int { connections.load(ordering: .relaxed) }
    var commandCount: Int { commands.load(ordering: .relaxed) }
    var expiredCount: Int { expired.load(ordering: .relaxed) }
    var refusedCount: Int { refused.load(ordering: .relaxed) }
    var commandsPerSecondCount: Int { commandsPerSecond.load(ordering: .relaxed) }
    var slowCount: Int { slow.load(ordering: .relaxed) }
    var openCount: Int { open.load(ordering: .relaxed) }
}

struct ShardSize: Sendable {
    var keys: Int
    var expiring: Int

    init(_ shard: borrowing Shard) {
        keys = shard.count
        expiring = shard.expiring
    }
}

/// The text of `INFO`.
enum ServerReport {
    static func reply(
        _ wanted: [[UInt8]], _ server: ServerFacts, _ sizes: [ShardSize], now: Milliseconds
    ) -> Reply {
        let isEverything =
            wanted.isEmpty || wanted.contains { $0.hasName("all") || $0.hasName("default") || $0.hasName("everything") }
        let chosen = sections(server, sizes, now: now).filter { section in
            isEverything
                || wanted.contains { String(decoding: $0, as: UTF8.self).lowercased() == section.name.lowercased() }
        }
        let text = chosen.map { section in
            "# \(section.name)\r\n" + section.lines.map { "\($0):\($1)\r\n" }.joined()
        }.joined(separator: "\r\n")
        return .verbatim(Array(text.utf8))
    }

    private static func sections(
        _ server: ServerFacts, _ sizes: [ShardSize], now: Milliseconds
    ) -> [(name: String, lines: [(String, String)])] {
        let keys = sizes.reduce(0) { $0 + $1.keys }
        let expiring = sizes.reduce(0) { $0 + $1.expiring }
        let statistics = server.statistics
        return [
            (
                "Server",
                [
                    ("redis_version", ServerFacts.dialect), ("redis_mode", "standalone"),
                    ("server_name", ServerFacts.name), ("server_version", ServerFacts.version),
                    ("process_id", "\(getpid())"), ("tcp_port", "\(server.port)"),
                    ("uptime_in_seconds", "\((now - server.started) / 1000)"), ("io_threads", "\(server.threads)"),
                    ("store", server.store.rawValue), ("shards", "\(server.shards)"),
                    ("admission", server.costly.kind.rawValue), ("admission_permits", "\(server.costly.permits)"),
                ]
            ),
            ("Clients", [("connected_clients", "\(statistics.openCount)")]),
            (
                "Stats",
                [
                    ("total_connections_received", "\(statistics.connectionCount)"),
                    ("total_commands_processed", "\(statistics.commandCount)"),
                    ("instantaneous_ops_per_sec", "\(statistics.commandsPerSecondCount)"),
                    ("expired_keys_active", "\(statistics.expiredCount)"),
                    ("slow_commands", "\(statistics.slowCount)"),
                    ("slow_commands_running", "\(server.background.slow.runningCount)"),
                    ("slow_commands_waiting", "\(server.background.slow.waitingCount)"),
                    ("slow_commands_refused", "\(statistics.refusedCount)"),
                    ("costly_commands_running", "\(server.costly.runningCount)"),
                    ("costly_commands_waiting", "\(server.costly.waitingCount)"),
                    ("deadlock_watch", DeadlockWatch.isOn ? "1" : "0"),
                    ("deadlocks_found", "\(DeadlockWatch.deadlockCount)"),
                ]
            ),
            ("Replication", [("role", "master")]),
            ("Keyspace", keys == 0 ? [] : [("db0", "keys=\(keys),expires=\(expiring),avg_ttl=0")]),
        ]
    }
}
