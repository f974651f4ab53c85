#if Metrics

public import CoreMetrics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Publishes the counts of ``SyncMetrics`` to swift-metrics.
///
/// ```swift
/// try SyncMetrics.start()
/// let publisher = SyncMetricsPublisher()
/// let publishing = Task { try await publisher.run(every: .seconds(10)) }
/// ```
///
/// Each call of ``publish()`` adds the counts since the previous call. These are the labels, with the dimensions `kind`
/// and `name` except for the last two. For threads that wait at a work queue the `kind` includes the purpose: `work
/// queue: turn`, `work queue: room` or `work queue: drain`.
///
/// | label | type | |
/// |---|---|---|
/// | `swiftsync_waits` | `Counter` | waits; also the dimension `outcome`: `granted`, `timed_out`, `refused` |
/// | `swiftsync_wait_nanoseconds` | `Counter` | how long they took together |
/// | `swiftsync_wait_buckets` | `Counter` | waits by length; also `longer_than_ns` and `up_to_ns`, the bounds |
/// | `swiftsync_longest_wait_seconds` | `Meter` | the longest wait so far |
/// | `swiftsync_works` | `Counter` | works of queues, without `kind`; also `outcome`: `refused`, `dropped` |
/// | `swiftsync_work_wait_nanoseconds` | `Counter` | how long works waited to begin, together, without `kind` |
/// | `swiftsync_work_wait_buckets` | `Counter` | works by that; also the bounds, as above |
/// | `swiftsync_work_run_nanoseconds`, `swiftsync_work_run_buckets` | `Counter` | the same of how long they ran |
/// | `swiftsync_longest_work_wait_seconds`, `swiftsync_longest_work_run_seconds` | `Meter` | the longest so far |
/// | `swiftsync_most_works_waiting` | `Meter` | the most works that have waited in a queue, without `kind` |
/// | `swiftsync_timer_lateness_nanoseconds` | `Counter` | how late timers were served, together |
/// | `swiftsync_metrics_lost` | `Counter` | waits that were not counted |
///
/// In a child of fork, where nothing has been counted yet, it begins anew: it publishes the child's counts. The backend
/// is a copy of the parent's, with the numbers of the parent. (On Linux before 4.14 the counts are a copy too, and are
/// published once more.) Don't fork while another thread is in ``publish()``: the child's calls would wait for that
/// thread for ever. Make a new publisher in the child, and a new backend, where that may happen.
///
/// It needs the package's trait `Metrics`.
public final class SyncMetricsPublisher: Sendable {
    private struct Published {
        let process = getpid()
        var waits: [Key: SyncMetrics.Waits] = [:]
        var works: [String: SyncMetrics.Works] = [:]
        var latenessTotal = Duration.zero
        var lostCount: UInt64 = 0
    }

    private struct Key: Hashable {
        let kind: SyncObjectKind, purpose: InspectionReport.Purpose?, name: String
    }

    private let factory: any MetricsFactory
    /// The pause of its service between two calls of ``publish()``.
    public let interval: Duration
    private let published = Mutex(Published())

    /// Makes a publisher for a factory. It never blocks.
    ///
    /// - Parameters:
    ///   - factory: makes the counters. The default is the process's factory at the time of this call.
    ///   - interval: the pause between two calls of ``publish()`` as a service of swift-service-lifecycle.
    public init(factory: any MetricsFactory = MetricsSystem.factory, interval: Duration = .seconds(10)) {
        self.factory = factory
        self.interval = interval
    }

    /// Publishes the counts since the previous call, or since the start. It may be called from any thread. It waits for
    /// a concurrent call, and is as slow as the backend; it is O(n log n) for n names.
    public func publish() {
        published.withLock { published in
            if published.process != getpid() { published = Published() }
            // Under the lock: otherwise older numbers could be published after newer ones, and would go back.
            let now = SyncMetrics.current()
            for waits in now.waits {
                let key = Key(kind: waits.kind, purpose: waits.purpose, name: waits.name)
                publish(waits, since: published.waits.updateValue(waits, forKey: key))
            }
            for works in now.works {
                publish(works, since: published.works.updateValue(works, forKey: works.name))
            }
            let lateness = Counter(label: "swiftsync_timer_lateness_nanoseconds", factory: factory)
            lateness.increment(by: Self.nanoseconds(now.timerLateness.total - published.latenessTotal))
            published.latenessTotal = now.timerLateness.total
            Counter(label: "swiftsync_metrics_lost", factory: factory)
                .increment(by: Int64(now.lostCount - published.lostCount))
            published.lostCount = now.lostCount
        }
    }

    /// Calls ``publish()`` at once, and then again and again, until the task is cancelled, and once more then.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func run(every interval: Duration) async throws {
        defer { publish() }
        while true {
            publish()
            try await Task.sleep(for: interval)
        }
    }

    private func publish(_ waits: SyncMetrics.Waits, since before: SyncMetrics.Waits?) {
        let dimensions = [("kind", Self.kind(waits)), ("name", waits.name)]
        func add(_ label: String, _ more: [(String, String)], _ now: UInt64, _ then: UInt64) {
            increase(label, dimensions + more, now, since: then)
        }
        add("swiftsync_waits", [("outcome", "granted")], waits.grantedCount, before?.grantedCount ?? 0)
        add("swiftsync_waits", [("outcome", "timed_out")], waits.timedOutCount, before?.timedOutCount ?? 0)
        add("swiftsync_waits", [("outcome", "refused")], waits.refusedCount, before?.refusedCount ?? 0)
        publish(waits.spans, as: "wait", dimensions, since: before?.spans)
    }

    private func publish(_ works: SyncMetrics.Works, since before: SyncMetrics.Works?) {
        let dimensions = [("name", works.name)]
        let counts = [
            ("refused", works.refusedCount, before?.refusedCount ?? 0),
            ("dropped", works.droppedCount, before?.droppedCount ?? 0),
        ]
        for (outcome, now, then) in counts {
            increase("swiftsync_works", dimensions + [("outcome", outcome)], now, since: then)
        }
        Meter(label: "swiftsync_most_works_waiting", dimensions: dimensions, factory: factory).set(works.mostWaiting)
        publish(works.waiting, as: "work_wait", dimensions, since: before?.waiting)
        publish(works.running, as: "work_run", dimensions, since: before?.running)
    }

    /// Their sum, their number by length, and the longest.
    private func publish(
        _ spans: SyncMetrics.Spans, as what: String, _ dimensions: [(String, String)], since before: SyncMetrics.Spans?
    ) {
        let total = Self.nanoseconds(spans.total), totalBefore = Self.nanoseconds(before?.total ?? .zero)
        increase("swiftsync_\(what)_nanoseconds", dimensions, UInt64(total), since: UInt64(totalBefore))
        for (index, count) in spans.buckets.enumerated() {
            let bounds = [
                ("longer_than_ns", index == 0 ? "0" : Self.text(SyncMetrics.Spans.upperBound(ofBucket: index - 1))),
                ("up_to_ns", Self.text(SyncMetrics.Spans.upperBound(ofBucket: index))),
            ]
            increase("swiftsync_\(what)_buckets", dimensions + bounds, count, since: before?.buckets[index] ?? 0)
        }
        Meter(label: "swiftsync_longest_\(what)_seconds", dimensions: dimensions, factory: factory)
            .set(spans.longest / .seconds(1))
    }

    private func increase(_ label: String, _ dimensions: [(String, String)], _ now: UInt64, since then: UInt64) {
        guard now > then else { return }
        Counter(label: label, dimensions: dimensions, factory: factory).increment(by: Int64(now - then))
    }

    private static func kind(_ waits: SyncMetrics.Waits) -> String {
        guard let purpose = waits.purpose else { return waits.kind.rawValue }
        return "\(waits.kind.rawValue): \(purpose)"
    }
    private static func nanoseconds(_ duration: Duration) -> Int64 { Int64(duration / .nanoseconds(1)) }
    private static func text(_ bound: Duration?) -> String { bound.map { "\(nanoseconds($0))" } ?? "inf" }
}

#endif
