import SwiftSync
import Synchronization
import XCTest

@testable import KeyValueServer

/// A clock that only tests move.
private final class ManualClock: Sendable {
    private let time = Atomic(1_000_000)

    var clock: ServerClock { ServerClock { self.time.load(ordering: .sequentiallyConsistent) } }

    func advance(_ milliseconds: Int) { time.wrappingAdd(milliseconds, ordering: .sequentiallyConsistent) }
}

/// The same dialogue with a server over every store, byte for byte.
final class ServerTests: XCTestCase {
    private func withServers(
        log: @escaping Log = { _ in }, configure: (inout ServerOptions) -> Void = { _ in },
        _ body: (Server, Client, ManualClock) throws -> Void
    ) throws {
        for store in StoreKind.allCases {
            let clock = ManualClock()
            var options = ServerOptions()
            options.port = 0
            options.threads = 2
            options.store = store
            options.clock = clock.clock
            options.expiryInterval = nil
            options.log = log
            configure(&options)
            let server = try Server.start(options)
            defer { server.stop() }
            try body(server, Client(port: server.port), clock)
        }
    }

    func testCommandsAndTheirErrors() throws {
        try withServers { _, client, _ in
            let dialogue = [
                ("PING", "+PONG"), ("PING hi", "$2\r\nhi"), ("ECHO x", "$1\r\nx"), ("GET a", "$-1"), ("SET a 1", "+OK"),
                ("INCR a", ":2"), ("INCRBY a 40", ":42"), ("DECR a", ":41"), ("DECRBY a 1", ":40"),
                ("GET a", "$2\r\n40"),
                ("APPEND a xy", ":4"), ("STRLEN a", ":4"), ("INCR a", "-ERR value is not an integer or out of range"),
                ("GETSET a z", "$4\r\n40xy"), ("MSET b 1 c 2", "+OK"),
                ("MGET a b no", "*3\r\n$1\r\nz\r\n$1\r\n1\r\n$-1"),
                ("EXISTS a a no", ":2"), ("TYPE a", "+string"), ("TYPE no", "+none"), ("DBSIZE", ":3"),
                ("SET a q NX", "$-1"), ("SET no q XX", "$-1"), ("SET a q XX GET", "$1\r\nz"), ("DEL a b no", ":2"),
                ("KEYS *", "*1\r\n$1\r\nc"), ("SCAN 0 MATCH c COUNT 10", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nc"),
                ("SCAN 0 TYPE list", "*2\r\n$1\r\n0\r\n*0"), ("SCAN x", "-ERR invalid cursor"),
                ("SET m 9223372036854775807", "+OK"), ("INCR m", "-ERR increment or decrement would overflow"),
                ("SET a b EX 0", "-ERR invalid expire time in 'set' command"), ("SET a b EX", "-ERR syntax error"),
                ("GET", "-ERR wrong number of arguments for 'get' command"),
                ("foo a b", "-ERR unknown command 'foo', with args beginning with: 'a' 'b' "),
                ("EXPIRE no 5", ":0"), ("PERSIST no", ":0"), ("TTL no", ":-2"), ("SET t 1", "+OK"), ("TTL t", ":-1"),
                ("EXPIRE t 100", ":1"),
                ("TTL t", ":100"), ("PTTL t", ":100000"), ("INCR t", ":2"), ("TTL t", ":100"), ("PEXPIRE t 1499", ":1"),
                ("TTL t", ":1"),
                ("PERSIST t", ":1"), ("TTL t", ":-1"), ("PERSIST t", ":0"), ("EXPIRE t 10 XX", ":0"),
                ("EXPIRE t 10 NX", ":1"),
                ("EXPIRE t 5 GT", ":0"), ("EXPIRE t 5 LT", ":1"), ("TTL t", ":5"), ("SET t 1 KEEPTTL", "+OK"),
                ("TTL t", ":5"),
                ("SET t 1", "+OK"), ("TTL t", ":-1"), ("EXPIRE t x", "-ERR value is not an integer or out of range"),
                ("PEXPIRE t 9223372036854775807", "-ERR invalid expire time in 'pexpire' command"),
                ("EXPIRE t 1 maybe", "-ERR Unsupported option maybe"),
                ("EXPIRE t -1", ":1"), ("EXISTS t", ":0"), ("SET t 1", "+OK"), ("PEXPIRE t 0", ":1"), ("GET t", "$-1"),
                ("DEBUG SLEEP 0", "+OK"), ("DEBUG SLEEP -1", "+OK"), ("DEBUG SLEEP 0.001", "+OK"),
                ("DEBUG SLEEP soon", "-ERR value is not a valid float"),
                ("DEBUG SLEEP nan", "-ERR value is not a valid float"),
                ("DEBUG RELOAD", "-ERR unknown subcommand 'RELOAD'. Try DEBUG HELP."),
                ("CONFIG GET slow-commands-limit", "*2\r\n$19\r\nslow-commands-limit\r\n$2\r\n64"),
                ("CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n"), ("CONFIG RESETSTAT", "+OK"),
                ("COMMAND COUNT", ":\(CommandTable.shared.commands.count)"), ("FLUSHALL", "+OK"), ("DBSIZE", ":0"),
            ]
            for (request, reply) in dialogue { client.expect(request + "\r\n", reply + "\r\n") }
        }
    }

    func testPipelinedRepliesKeepTheirOrderAroundSlowCommands() throws {
        try withServers { _, client, _ in
            var requests = ""
            var replies = ""
            for index in 0..<300 {
                requests += "SET k \(index)\r\nGET k\r\nKEYS nothing*\r\nINCR n\r\nDBSIZE\r\n"
                replies += "+OK\r\n$\(String(index).utf8.count)\r\n\(index)\r\n*0\r\n:\(index + 1)\r\n:2\r\n"
            }
            client.expect(requests, replies)
        }
    }

    func testTheNegotiatedProtocolIsFollowed() throws {
        try withServers { _, client, _ in
            client.expect("HELLO 4\r\n", "-NOPROTO unsupported protocol version\r\n")
            client.send("HELLO 3\r\n")
            XCTAssertEqual(client.receive(4), "%7\r\n")
            let fields =
                "$6\r\nserver\r\n$12\r\nswiftsync-kv\r\n$7\r\nversion\r\n$5\r\n1.0.0\r\n$5\r\nproto\r\n:3\r\n"
                + "$2\r\nid\r\n:1\r\n"
                + "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"
            XCTAssertEqual(client.receive(fields.utf8.count), fields)
            client.expect("GET no\r\nMGET no\r\nCONFIG GET save\r\n", "_\r\n*1\r\n_\r\n%1\r\n$4\r\nsave\r\n$0\r\n\r\n")
            client.send("HELLO 2\r\n")
            XCTAssertEqual(client.receive(5), "*14\r\n")
        }
    }

    func testMalformedInputCostsOneConnectionOnly() throws {
        try withServers { server, client, _ in
            let broken = Client(port: server.port)
            broken.expect(
                "PING\r\n*1\r\n$x\r\nPING\r\n", "+PONG\r\n-ERR Protocol error: invalid bulk length\r\n")
            broken.expectEnd()
            let quitting = Client(port: server.port)
            quitting.expect("QUIT\r\nPING\r\n", "+OK\r\n")
            quitting.expectEnd()
            client.expect("PING\r\n", "+PONG\r\n")
        }
    }

    func testKeysExpireByTheGivenClock() throws {
        try withServers { server, client, clock in
            client.expect(
                "SET a 1 PX 100\r\nSET b 1 EX 10\r\nSET c 1\r\nPTTL a\r\nTTL b\r\nTTL c\r\nTTL no\r\n",
                "+OK\r\n+OK\r\n+OK\r\n:100\r\n:10\r\n:-1\r\n:-2\r\n")
            clock.advance(99)
            client.expect("PTTL a\r\n", ":1\r\n")
            clock.advance(1)
            client.expect(
                "DBSIZE\r\nGET a\r\nDBSIZE\r\nPERSIST b\r\nPERSIST b\r\nEXPIRE c 5\r\n",
                ":3\r\n$-1\r\n:2\r\n:1\r\n:0\r\n:1\r\n")
            clock.advance(5000)
            let removed = (0..<Server.expiryRounds).reduce(0) { $0 + server.removeExpired(round: $1) }
            XCTAssertEqual(removed, 1)
            client.expect("DBSIZE\r\nKEYS *\r\n", ":1\r\n*1\r\n$1\r\nb\r\n")
        }
    }

    func testStoppingLetsWhatWasReceivedBeAnswered() throws {
        try withServers { server, client, _ in
            var load = ""
            for index in 0..<5000 { load += "SET key:\(10_000 + index) v\r\n" }
            client.expect(load, String(repeating: "+OK\r\n", count: 5000))
            client.send("PING\r\nKEYS *\r\n")
            // With the first reply, the server has received both.
            XCTAssertEqual(client.receive(7), "+PONG\r\n")
            XCTAssertTrue(server.stop())
            let reply = client.receive(7 + 5000 * 15)
            XCTAssertTrue(reply.hasPrefix("*5000\r\n"))
            XCTAssertEqual(reply.utf8.count, 7 + 5000 * 15)
            client.expectEnd()
        }
    }

    func testStoppingLetsSlowCommandsThatWereAcceptedBeAnswered() throws {
        try withServers { server, client, _ in
            client.expect("SET a 1\r\n", "+OK\r\n")
            let others = (0..<4).map { _ in Client(port: server.port) }
            for other in others { other.send("PING\r\nDEBUG SLEEP 0.02\r\nGET a\r\nKEYS a\r\n") }
            for other in others { XCTAssertEqual(other.receive(7), "+PONG\r\n") }
            XCTAssertTrue(server.stop())
            for other in others {
                let replies = "+OK\r\n$1\r\n1\r\n*1\r\n$1\r\na\r\n"
                XCTAssertEqual(other.receive(replies.utf8.count), replies)
                other.expectEnd()
            }
        }
    }

    func testStoppingDoesNotWaitForeverForASlowCommand() throws {
        try withServers { server, client, _ in
            client.send("DEBUG SLEEP 1000\r\n")
            let other = Client(port: server.port)
            try wait(for: "slow_commands_running", toBe: 1, other)
            XCTAssertFalse(server.stop(within: .milliseconds(20)))
            client.expectEnd()
        }
    }

    func testSlowCommandsBeyondTheLimitAreRefusedAndOthersGoOn() throws {
        SyncDiagnostics.setHandler { XCTAssertEqual($0.kind, .refusedWhenFull) }
        defer { SyncDiagnostics.setHandler(nil) }
        try withServers(configure: { $0.slowLimit = 1 }) { server, client, _ in
            let sleeping = [Client(port: server.port), Client(port: server.port)]
            for (index, sleeping) in sleeping.enumerated() {
                sleeping.send("DEBUG SLEEP 1000\r\n")
                // Until it has begun, it is one that waits.
                try wait(for: "slow_commands_running", toBe: index + 1, client)
            }
            let waiting = Client(port: server.port)
            waiting.send("KEYS *\r\n")
            try wait(for: "slow_commands_waiting", toBe: 1, client)
            let busy = "-BUSY Too many slow commands wait. Try again later.\r\n"
            client.expect(
                "SET a 1\r\nKEYS *\r\nGET a\r\nFLUSHALL\r\nSCAN 0\r\nDEBUG SLEEP 0\r\nDBSIZE\r\n",
                "+OK\r\n\(busy)$1\r\n1\r\n\(busy)\(busy)\(busy):1\r\n")
            XCTAssertEqual(try number("slow_commands_refused", client), 4)
            XCTAssertFalse(server.stop(within: .milliseconds(20)))
        }
    }

    func testActiveExpiryRemovesWhatNobodyAsksFor() throws {
        try withServers(configure: {
            $0.clock = .monotonic; $0.expiryInterval = .milliseconds(1)
        }) { _, client, _ in
            client.expect("MSET a 1 b 2\r\nPEXPIRE a 3\r\n", "+OK\r\n:1\r\n")
            try wait(for: "expired_keys_active", toBe: 1, client)
            client.expect("KEYS *\r\n", "*1\r\n$1\r\nb\r\n")
        }
    }

    func testCommandsPerSecond() {
        let statistics = Statistics(), start = ContinuousClock.now
        statistics.sample(at: start)
        statistics.commandsRead(300)
        statistics.sample(at: start + .milliseconds(1500))
        XCTAssertEqual(statistics.commandsPerSecondCount, 200)
        statistics.reset()
        statistics.sample(at: start + .milliseconds(2500))
        XCTAssertEqual(statistics.commandsPerSecondCount, 0)
    }

    /// Starts the program itself, and returns it with a client of its own.
    private func startProgram(_ arguments: [String]) throws -> (Process, Client) {
        let program = Process(), output = Pipe()
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        program.executableURL = folder.appendingPathComponent("kv-server")
        program.arguments = ["--port", "0"] + arguments
        program.standardOutput = output
        try program.run()
        let greeting = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = try XCTUnwrap(
            greeting.split(separator: " ").first { $0.hasPrefix("127.0.0.1:") }?.split(separator: ":").last.flatMap {
                Int($0)
            })
        return (program, Client(port: port))
    }

    /// What the program has accepted is answered, and it ends with status 0.
    func testASignalEndsTheProgramGracefully() throws {
        let (program, client) = try startProgram(["--slow-limit", "8"])
        XCTAssertEqual(try number("deadlock_watch", client), 0)
        client.expect("SET a 1\r\n", "+OK\r\n")
        client.send("PING\r\nDEBUG SLEEP 0.05\r\nKEYS *\r\nGET a\r\n")
        XCTAssertEqual(client.receive(7), "+PONG\r\n")
        program.terminate()
        let replies = "+OK\r\n*1\r\n$1\r\na\r\n$1\r\n1\r\n"
        XCTAssertEqual(client.receive(replies.utf8.count), replies)
        client.expectEnd()
        program.waitUntilExit()
        XCTAssertEqual(program.terminationReason, .exit)
        XCTAssertEqual(program.terminationStatus, 0)
    }

    func testAProgramThatObservesWatchesForDeadlocks() throws {
        let (program, client) = try startProgram(["--observe"])
        XCTAssertEqual(try number("deadlock_watch", client), 1)
        XCTAssertEqual(try number("deadlocks_found", client), 0)
        program.terminate()
        program.waitUntilExit()
        XCTAssertEqual(program.terminationStatus, 0)
    }

    func testAValueOfManyMegabytesComesBackWhole() throws {
        try withServers { _, client, _ in
            let value = String(repeating: "0123456789abcdef", count: 1 << 18)
            client.expect("*3\r\n$3\r\nSET\r\n$1\r\nv\r\n$\(value.utf8.count)\r\n\(value)\r\n", "+OK\r\n")
            client.expect("GET v\r\nPING\r\n", "$\(value.utf8.count)\r\n\(value)\r\n+PONG\r\n")
        }
    }

    func testTheConfigurationIsReadAndChanged() throws {
        try withServers { server, client, _ in
            let failed = "-ERR CONFIG SET failed (possibly related to argument"
            let dialogue = [
                ("CONFIG GET maxclients", "*2\r\n$10\r\nmaxclients\r\n$5\r\n10000"),
                ("CONFIG SET maxclients 20 loglevel WARNING", "+OK"),
                ("CONFIG GET MAXC* loglevel", "*4\r\n$8\r\nloglevel\r\n$7\r\nwarning\r\n$10\r\nmaxclients\r\n$2\r\n20"),
                (
                    "CONFIG SET maxclients 0",
                    "\(failed) 'maxclients') - argument must be between 1 and 4294967295 inclusive"
                ),
                ("CONFIG SET maxclients x", "\(failed) 'maxclients') - argument couldn't be parsed into an integer"),
                (
                    "CONFIG SET slowlog-log-slower-than -2",
                    "\(failed) 'slowlog-log-slower-than') - argument must be between -1 and \(Int.max) inclusive"
                ),
                (
                    "CONFIG SET loglevel loud",
                    "\(failed) 'loglevel') - argument(s) must be one of the following: debug, verbose, notice, warning"
                ),
                ("CONFIG SET maxclients 1 maxclients 2", "\(failed) 'maxclients') - duplicate parameter"),
                ("CONFIG SET shards 7", "\(failed) 'shards') - can't set immutable config"),
                ("CONFIG SET shards 16", "+OK"),
                ("CONFIG SET nosuch 1", "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"),
                ("CONFIG SET maxclients", "-ERR wrong number of arguments for 'config|set' command"),
                ("CONFIG SET maxclients 5 loglevel", "-ERR syntax error"),
                ("CONFIG GET nosuch*", "*0"),
                // One that is wrong spoils the others.
                (
                    "CONFIG SET maxclients 30 loglevel loud",
                    "\(failed) 'loglevel') - argument(s) must be one of the following: debug, verbose, notice, warning"
                ),
                ("CONFIG GET maxclients", "*2\r\n$10\r\nmaxclients\r\n$2\r\n20"),
            ]
            for (request, reply) in dialogue { client.expect(request + "\r\n", reply + "\r\n") }
            // What one connection sets, all others see.
            Client(port: server.port).expect("CONFIG GET maxclients\r\n", "*2\r\n$10\r\nmaxclients\r\n$2\r\n20\r\n")
        }
    }

    func testTheLimitOfClientsIsKept() throws {
        try withServers { server, client, _ in
            client.expect("CONFIG SET maxclients 1\r\n", "+OK\r\n")
            let refused = Client(port: server.port)
            let reply = "-ERR max number of clients reached\r\n"
            XCTAssertEqual(refused.receive(reply.utf8.count), reply)
            refused.expectEnd()
            client.expect("CONFIG SET maxclients 2\r\n", "+OK\r\n")
            Client(port: server.port).expect("PING\r\n", "+PONG\r\n")
        }
    }

    func testTheLimitOfKeysIsKept() throws {
        try withServers { _, client, _ in
            client.expect("MSET a 1 b 2 c 3\r\nCONFIG SET keys-max-results 2\r\n", "+OK\r\n+OK\r\n")
            client.send("KEYS *\r\n")
            XCTAssertEqual(client.receive(4), "*2\r\n")
            XCTAssertEqual(client.receive(14).filter { $0 == "$" }.count, 2)
            client.expect("KEYS b\r\n", "*1\r\n$1\r\nb\r\n")
            client.send("CONFIG SET keys-max-results 0\r\nKEYS *\r\n")
            XCTAssertEqual(client.receive(9), "+OK\r\n*3\r\n")
        }
    }

    func testSlowCommandsAreCountedAndLoggedAsConfigured() throws {
        let lines = Mutex<[String]>([])
        try withServers(log: { line in lines.withLock { $0.append(line) } }) { _, client, _ in
            lines.withLock { $0 = [] }
            client.expect(
                "CONFIG SET slowlog-log-slower-than -1 loglevel warning\r\nSET a 1\r\nKEYS *\r\n",
                "+OK\r\n+OK\r\n*1\r\n$1\r\na\r\n")
            XCTAssertEqual(lines.withLock { $0 }, [])
            XCTAssertEqual(try slowCount(client), 0)
            // At zero, each is slow.
            client.expect(
                "CONFIG SET slowlog-log-slower-than 0 loglevel notice\r\nGET a\r\nKEYS *\r\n",
                "+OK\r\n$1\r\n1\r\n*1\r\n$1\r\na\r\n")
            let logged = lines.withLock { $0 }
            XCTAssertEqual(logged.count, 3)
            XCTAssertEqual(logged.first, "notice: the configuration was changed")
            for (line, name) in zip(logged.dropFirst(), ["get", "keys"]) {
                XCTAssertTrue(line.hasPrefix("notice: \(name) took ") && line.hasSuffix(" us"), line)
            }
            XCTAssertEqual(try slowCount(client), 2)
            client.expect(
                "CONFIG SET slowlog-log-slower-than -1\r\nGET a\r\nCONFIG RESETSTAT\r\n", "+OK\r\n$1\r\n1\r\n+OK\r\n")
            XCTAssertEqual(try slowCount(client), 0)
            client.expect("CONFIG SET loglevel debug\r\nGET a\r\n", "+OK\r\n$1\r\n1\r\n")
            XCTAssertTrue(lines.withLock { $0.contains("debug: client 1: get") })
        }
    }

    private func slowCount(_ client: Client) throws -> Int { try number("slow_commands", client) }

    private func wait(for name: String, toBe expected: Int, _ client: Client) throws {
        let start = ContinuousClock.now
        while try number(name, client) != expected {
            guard ContinuousClock.now - start < .seconds(10) else {
                return XCTFail("\(name) does not become \(expected)")
            }
        }
    }

    /// A line of the statistics of `INFO`.
    private func number(_ name: String, _ client: Client) throws -> Int {
        client.send("INFO stats\r\n")
        var header = ""
        while !header.hasSuffix("\r\n") { header += client.receive(1) }
        let length = try XCTUnwrap(Int(header.dropFirst().dropLast(1)))
        let text = client.receive(length + 2)
        let line = try XCTUnwrap(text.split(separator: "\r\n").first { $0.hasPrefix("\(name):") })
        return try XCTUnwrap(Int(line.dropFirst(name.count + 1)))
    }
}
