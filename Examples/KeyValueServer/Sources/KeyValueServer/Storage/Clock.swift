#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// A point of monotonic time, in milliseconds, which is the resolution of the protocol: every expiry that Redis
/// accepts then fits into one.
public typealias Milliseconds = Int

/// Where the server gets its time from. Tests put a clock of their own here.
public struct ServerClock: Sendable {
    public var now: @Sendable () -> Milliseconds

    public init(now: @escaping @Sendable () -> Milliseconds) { self.now = now }

    /// The system's monotonic clock, which no change of the time of day can move.
    public static let monotonic = ServerClock {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }
}
