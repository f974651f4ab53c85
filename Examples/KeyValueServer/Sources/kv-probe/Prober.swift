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

/// One connection that asks at a fixed rate.
///
/// The times to send are set in advance, and a latency counts from there: a request that could not be sent because the
/// one before was still under way has waited too, and leaving that out would hide the very stalls that are looked for.
struct Prober: Sendable {
    let host: String
    let port: Int
    /// Nanoseconds between two requests.
    let interval: Int
    let start: Int
    let end: Int
    /// Sent once at first, if there is one.
    var greeting: [UInt8]?
    let request: @Sendable () -> [UInt8]

    /// The latencies, in nanoseconds.
    func run() throws -> [Int] {
        let connection = try Connection(host: host, port: port)
        if let greeting {
            try connection.send(greeting)
            try connection.receive()
        }
        var samples: [Int] = []
        samples.reserveCapacity((end - start) / interval + 1)
        var intended = start
        while intended < end {
            Prober.sleep(until: intended)
            try connection.send(request())
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

    /// p50, p99, p99.9 and the maximum, in microseconds. `samples` are sorted.
    static func percentiles(_ samples: [Int]) -> [String] {
        [0.5, 0.99, 0.999, 1].map { share in
            let index = max(Int((Double(samples.count) * share).rounded(.up)) - 1, 0)
            return String(samples[min(index, samples.count - 1)] / 1000)
        }
    }
}
