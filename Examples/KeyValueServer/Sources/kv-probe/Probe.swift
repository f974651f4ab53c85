import ArgumentParser

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Nanoseconds of the monotonic clock.
func monotonicNow() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// One connection that asks for random keys at a fixed rate.
///
/// The times to send are set in advance, and a latency counts from there: a request that could not be sent because the
/// one before was still under way has waited too, and leaving that out would hide the very stalls that are looked for.
struct Prober: Sendable {
    let host: String
    let port: Int
    let prefix: String
    let keys: Int
    /// Nanoseconds between two requests.
    let interval: Int
    let start: Int
    let end: Int

    /// The latencies, in nanoseconds.
    func run() throws -> [Int] {
        let connection = try Connection(host: host, port: port)
        var samples: [Int] = []
        samples.reserveCapacity((end - start) / interval + 1)
        var intended = start
        while intended < end {
            Prober.sleep(until: intended)
            let request = Connection.request("GET", prefix + String(Int.random(in: 0..<keys)))
            try connection.send(request)
            try connection.receive()
            samples.append(monotonicNow() - intended)
            intended += interval
        }
        return samples
    }

    /// Sleeps until shortly before `time` and spins for the rest, so that the time of waking up is not measured.
    static func sleep(until time: Int) {
        let rest = time - monotonicNow() - 60_000
        if rest > 0 {
            var pause = timespec(tv_sec: rest / 1_000_000_000, tv_nsec: rest % 1_000_000_000)
            // No signal is handled in this process, so none cuts the pause short.
            nanosleep(&pause, nil)
        }
        while monotonicNow() < time {}
    }
}

@main
struct Probe: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv-probe",
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
                host: host, port: port, prefix: prefix, keys: keys, interval: interval,
                start: start + index * interval / connections, end: end)
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
        let columns = [0.5, 0.99, 0.999, 1].map { share in
            let index = max(Int((Double(samples.count) * share).rounded(.up)) - 1, 0)
            return String(samples[min(index, samples.count - 1)] / 1000)
        }
        print(([String(samples.count)] + columns + [String(runs)]).joined(separator: ","))
    }

    /// Sends the other command until the time is over. Returns how often it was answered.
    private func disturb(_ words: [String], from start: Int, until end: Int) throws -> Int {
        let connection = try Connection(host: host, port: port)
        var request = Array("*\(words.count)\r\n".utf8)
        for word in words { request += Array("$\(word.utf8.count)\r\n\(word)\r\n".utf8) }
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
