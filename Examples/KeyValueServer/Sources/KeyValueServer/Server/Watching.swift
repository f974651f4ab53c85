#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Where a server's log goes, a line at a time. Called on any thread.
public typealias Log = @Sendable (String) -> Void

/// Writes a line to standard error, in one piece.
public func logToStandardError(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    // A log that can't be written is no reason to stop.
    _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

extension ServerFacts {
    func log(_ level: LogLevel, _ line: @autoclosure () -> String) {
        if settings.current.logLevel <= level { write("\(level.name): \(line())") }
    }

    /// Runs a command on data. One that takes longer than the configuration allows is counted and logged, by its name
    /// only.
    @inline(__always)
    func watch<R>(_ command: StaticString, _ body: () -> R) -> R {
        let threshold = settings.current.slowThreshold
        guard threshold >= 0 else { return body() }
        let start = ContinuousClock.now
        let result = body()
        report(command, since: start, threshold)
        return result
    }

    /// The same for a command that suspends; that time counts too.
    func watch<R: Sendable>(_ command: StaticString, _ body: () async -> R) async -> R {
        let threshold = settings.current.slowThreshold
        guard threshold >= 0 else { return await body() }
        let start = ContinuousClock.now
        let result = await body()
        report(command, since: start, threshold)
        return result
    }

    private func report(_ command: StaticString, since start: ContinuousClock.Instant, _ threshold: Int) {
        let taken = start.duration(to: .now) / .microseconds(1)
        guard taken >= Double(threshold) else { return }
        statistics.commandWasSlow()
        log(.notice, "\(command) took \(Int(taken)) us")
    }
}
