import CSyncKernel
import Glibc

extension EventRecorder {
    /// Prints a line for each event that is kept, the oldest first: `13:49:20: Task TAG pushed to queue`, `... started - accuired lock`,
    /// `... finished - released lock`, `... cancelled` or `... dropped`, in local time.
    ///
    /// Blocks as `print` does. O(events).
    public func reply() {
        reply { print($0) }
    }

    /// The same with another place for the lines than the standard output. `output` runs on the calling thread, without a lock.
    public func reply(to output: (String) -> Void) {
        let clock = WallClock()
        for event in events { output("\(clock.time(event.nanoseconds)): \(event.text)") }
    }
}

/// Turns monotonic times into local times of day, as the wall clock stands when it is made.
struct WallClock: Sendable {
    private let offset: Int64

    init() {
        tzset()
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        offset = Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec) - csk_now()
    }

    /// `HH:mm:ss`.
    func time(_ nanoseconds: Int64) -> String {
        var seconds = time_t((nanoseconds + offset) / 1_000_000_000), parts = tm()
        localtime_r(&seconds, &parts)
        return "\(parts.tm_hour.padded(to: 2)):\(parts.tm_min.padded(to: 2)):\(parts.tm_sec.padded(to: 2))"
    }
}
