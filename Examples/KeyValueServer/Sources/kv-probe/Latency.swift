import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What the program does unless told otherwise.
struct Latency: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency",
        abstract: "Measures the latency of GET at a fixed rate, counted from the intended time of each request.",
        discussion: """
            Prints one line: samples, then p50, p99, p99.9 and the maximum in microseconds, then how often the other \
            command ran, separated by commas.
            """)

    @Option(help: "The server's IPv4 address.")
    var host = "127.0.0.1"

    @Option(help: "The server's port.")
    var port: Int

    @Option(help: "How many connections ask.")
    var connections = 4

    @Option(help: "Requests per second, over all connections.")
    var rate = 2000

    @Option(help: "How long to measure, in milliseconds.")
    var milliseconds = 2000

    @Option(help: "What the keys begin with; a number follows.")
    var prefix = "key:"

    @Option(help: "How many keys there are.")
    var keys = 1_000_000

    @Option(help: "A command that another connection sends meanwhile, words separated by blanks.")
    var meanwhile: String?

    @Flag(help: "Send that command once, after a tenth of the time, instead of over and over.")
    var once = false

    func validate() throws {
        guard connections > 0, rate > 0, milliseconds > 0, keys > 0 else {
            throw ValidationError("All numbers must be positive.")
        }
    }

    func run() throws {
        signal(SIGPIPE, SIG_IGN)
        // A tenth of a second for all connections to be there.
        let start = monotonicNow() + 100_000_000
        let end = start + milliseconds * 1_000_000
        let interval = connections * 1_000_000_000 / rate
        var probes: [Worker<[Int]>] = []
        for index in 0..<connections {
            let prober = Prober(
                host: host, port: port, interval: interval, start: start + index * interval / connections, end: end
            ) { [prefix, keys] in Connection.request("GET", prefix + String(Int.random(in: 0..<keys))) }
            probes.append(Worker { try prober.run() })
        }
        var runs = 0
        if let meanwhile {
            let words = meanwhile.split(separator: " ").map(String.init)
            runs = try disturb(words, from: start, until: end)
        }
        var samples: [Int] = []
        for probe in probes { samples += try probe.value() }
        samples.sort()
        print(([String(samples.count)] + Prober.percentiles(samples) + [String(runs)]).joined(separator: ","))
    }

    /// Sends the other command until the time is over. Returns how often it was answered.
    private func disturb(_ words: [String], from start: Int, until end: Int) throws -> Int {
        let connection = try Connection(host: host, port: port)
        let request = Connection.request(words)
        #if canImport(Glibc)
        // Reading a reply of millions of lines is no part of what is measured: on Linux, niceness belongs to the
        // thread.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        #endif
        Prober.sleep(until: once ? start + (end - start) / 10 : start)
        var runs = 0
        repeat {
            try connection.send(request)
            try connection.receive()
            runs += 1
        } while !once && monotonicNow() < end
        return runs
    }
}
