import CSyncKernel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

extension EventRecorder {
    /// Prints a line for each event that is kept, the oldest first: `13:49:20: Task TAG pushed to queue`,
    /// `... started - accuired lock`, `... finished - released lock`, `... cancelled` or `... dropped`, in local time.
    ///
    /// It blocks as `print` does. It is O(events).
    public func reply() {
        reply { print($0) }
    }

    /// Hands each event as a line to `output`. That runs on the calling thread, without a lock held.
    public func reply(to output: (String) -> Void) {
        reply(by: WallClock(), to: output)
    }

    func reply(by clock: WallClock, to output: (String) -> Void) {
        for event in events { output("\(clock.time(event.nanoseconds)): \(event.text)") }
    }
}

/// Turns monotonic times into local times of day, by the wall clock at the moment at which it is made.
struct WallClock: Sendable {
    /// The offset of the wall clock from the monotonic clock, in nanoseconds.
    let offset: Int64

    init(offset: Int64) {
        tzset()
        self.offset = offset
    }

    /// Reads the wall clock between two readings of the monotonic clock. It repeats that until those two lie close
    /// together, because a thread may be preempted between any two readings.
    init() {
        var best = (gap: Int64.max, offset: Int64(0))
        for _ in 0..<8 where best.gap > 1000 {
            let before = csk_now()
            var now = timespec()
            unsafe clock_gettime(CLOCK_REALTIME, &now)
            let after = csk_now(), gap = after - before
            let offset = Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec) - (before + gap / 2)
            if gap < best.gap { best = (gap, offset) }
        }
        self.init(offset: best.offset)
    }

    /// `HH:mm:ss`.
    func time(_ nanoseconds: Int64) -> String {
        var seconds = time_t((nanoseconds + offset) / 1_000_000_000), parts = unsafe tm()
        unsafe localtime_r(&seconds, &parts)
        return unsafe "\(parts.tm_hour.padded(to: 2)):\(parts.tm_min.padded(to: 2)):\(parts.tm_sec.padded(to: 2))"
    }
}
