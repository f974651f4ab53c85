import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Many clients that keep the server busy, and one that is urgent.
struct Saturate: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Measures what an urgent client waits for its SORTs while others keep the server saturated with theirs.",
        discussion: """
            Prints one line: the urgent client's samples, then p50, p99, p99.9 and the maximum in microseconds, then \
            how many SORTs of the others were answered in a second, separated by commas.
            """)

    @Option(help: "The server's IPv4 address.")
    var host = "127.0.0.1"

    @Option(help: "The server's port.")
    var port: Int

    @Option(help: "How many clients keep one SORT each outstanding.")
    var clients = 64

    @Option(help: "How often the urgent client asks in a second.")
    var rate = 50

    @Option(
        help: """
            How many connections the urgent client has, which ask in turn: were there only one, a request would also \
            wait for the answer to the one before.
            """)
    var connections = 10

    @Option(help: "How many elements a list has.")
    var length: Int

    @Option(help: "How long to measure, in milliseconds.")
    var milliseconds = 2000

    @Option(help: "A file to which the urgent client's latencies are written, a line each, in microseconds.")
    var samples: String?

    func validate() throws {
        guard clients > 0, rate > 0, connections > 0, length > 0, milliseconds > 0 else {
            throw ValidationError("All numbers must be positive.")
        }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        let loading = try Connection(host: host, port: port)
        for index in 0..<Numbers.lists { try Numbers(length: length).write(index, over: loading) }
        // Half a second until the server is saturated.
        let start = monotonicNow() + 500_000_000
        let end = start + milliseconds * 1_000_000
        let bulk = (0..<clients).map { index in
            Worker { [host, port] in
                try Saturate.saturate(Connection(host: host, port: port), index, from: start, until: end)
            }
        }
        let interval = connections * 1_000_000_000 / rate
        let urgent = (0..<connections).map { index in
            let prober = Prober(
                host: host, port: port, interval: interval, start: start + index * interval / connections, end: end,
                greeting: Connection.request("CLIENT", "PRIORITY", "high")
            ) { Numbers.sort(index) }
            return Worker { try prober.run() }
        }
        let latencies = try urgent.flatMap { try $0.value() }.sorted()
        let count = try bulk.reduce(0) { try $0 + $1.value() }
        if let samples { try Saturate.write(latencies, to: samples) }
        let perSecond = count * 1000 / milliseconds
        print(([String(latencies.count)] + Prober.percentiles(latencies) + [String(perSecond)]).joined(separator: ","))
    }

    /// Asks again as soon as it has the answer. Returns how many answers came between the two times.
    private static func saturate(_ connection: Connection, _ index: Int, from start: Int, until end: Int) throws -> Int
    {
        let request = Numbers.sort(index)
        var count = 0
        while true {
            try connection.send(request)
            try connection.receive()
            let now = monotonicNow()
            if now >= end { return count }
            if now >= start { count += 1 }
        }
    }

    private static func write(_ latencies: [Int], to path: String) throws {
        guard let file = fopen(path, "w") else {
            throw ProbeFailure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        for latency in latencies { fputs("\(latency / 1000)\n", file) }
        fclose(file)
    }
}
