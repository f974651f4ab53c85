import CSyncKernel

/// How often and how long the program waits, by the names of what it waits for: counters and histograms for a
/// monitoring system.
///
/// ```swift
/// try SyncMetrics.start()
/// // what the program does
/// for wait in SyncMetrics.current().waits where wait.spans.longest > .milliseconds(10) {
///     print("\(wait.name): \(wait.spans.count) waits, the longest \(wait.spans.longest)")
/// }
/// ```
///
/// Waits of threads and of tasks for mutexes, values, semaphores and read-write locks are counted, waits of threads at
/// work queues, those of tasks there for room and until one is drained, and what work queues refuse and drop; and those
/// of tasks at `FIFOQueue`, `ActorQueue`, `MainActorQueue`, `ResourcePool` and `TaskQueue`. Objects of one
/// kind and one `name` share their numbers, which outlive them: give one name to what you want to see as one. An object
/// that was made without a name is called by the file and line where it was made.
///
/// Off, it costs nothing. On, a wait changes a few counters when it is over; what doesn't wait pays nothing still.
/// ``openMetrics()`` is the text that Prometheus and others read.
public struct SyncMetrics: Sendable {
    /// How many spans of time there were, and how long.
    public struct Spans: Sendable, Hashable {
        /// How many.
        public let count: UInt64
        /// All of them together.
        public let total: Duration
        /// The longest.
        public let longest: Duration
        /// By length. Element `i` counts spans longer than ``upperBound(ofBucket:)`` of `i - 1`, and not longer than
        /// that of `i`.
        public let buckets: [UInt64]

        /// The longest span that the bucket counts, a microsecond for the first and twice that of the one before for
        /// each further; nil for the last, which has no bound.
        ///
        /// - Precondition: `index` is not negative.
        public static func upperBound(ofBucket index: Int) -> Duration? {
            if index < 0 { fatalError("SyncMetrics: a bucket has an index of at least 0, not \(index)") }
            return index < Int(CSK_METRICS_BUCKETS) - 1 ? .nanoseconds(csk_metrics_bound_ns(UInt32(index))) : nil
        }

        /// A bound that this share of the spans did not exceed, and at most twice as long as the span at that place:
        /// `quantile(0.99)` for 99 of 100. It is zero where there were no spans. It is O(1).
        ///
        /// - Parameter share: from 0 to 1; what is outside counts as the nearer of them.
        public func quantile(_ share: Double) -> Duration {
            if count == 0 { return .zero }
            let wanted = max(1, (Double(count) * min(max(share, 0), 1)).rounded(.up))
            var passed = 0.0
            for (index, spans) in buckets.enumerated() {
                passed += Double(spans)
                if passed >= wanted { return min(Self.upperBound(ofBucket: index) ?? longest, longest) }
            }
            return longest
        }
    }

    /// The waits for the objects of one kind and name.
    public struct Waits: Sendable, Hashable {
        /// What was waited for.
        public let kind: SyncObjectKind
        /// What threads and tasks wanted of a work queue: a turn, room, or its end, each of which is counted apart. Nil
        /// where an object can be waited for in one way only.
        public let purpose: InspectionReport.Purpose?
        /// Its name, or the file and line where it was made.
        public let name: String
        /// Waits that ended by entering.
        public let grantedCount: UInt64
        /// Waits that ended at their deadline.
        public let timedOutCount: UInt64
        /// Waits that ended in another way, by a cancellation for example.
        public let refusedCount: UInt64
        /// How long they took, whatever became of them.
        public let spans: Spans
    }

    /// What became of the works of the work queues that have one label.
    public struct Works: Sendable, Hashable {
        /// The queues' label.
        public let name: String
        /// Works and callers that a queue did not accept: it was full or shut down, or had no room by their deadline.
        public let refusedCount: UInt64
        /// Works that a queue had accepted and dropped, since others came or it was shut down.
        public let droppedCount: UInt64
        /// The most works that have waited in a queue, of what is known: without a bound, what workers found there when
        /// they looked; with a bound, what waited when somebody found the queue full.
        public let mostWaiting: Int
        /// How long works waited to begin. One in 1024 is timed, by chance, and counts as 1024. In a line of more
        /// than some thousands most of these count as having waited as long as the last one before them.
        public let waiting: Spans
        /// How long they ran, of the same works.
        public let running: Spans
    }

    /// The waits, the longest sum first.
    public let waits: [Waits]
    /// The works of work queues, by the queues' labels.
    public let works: [Works]
    /// How long after their deadlines timers were served.
    public let timerLateness: Spans
    /// Waits that were not counted, because the table was full: it holds some 4000 names.
    public let lostCount: UInt64

    /// Begins to count, or goes on. Waits that are under way are not counted. It never blocks.
    ///
    /// The first call takes some 3 MiB of address space for the rest of the process.
    ///
    /// - Throws: ``SyncMetricsError/outOfResources``.
    public static func start() throws(SyncMetricsError) {
        if csk_metrics_start() != 0 { throw .outOfResources }
    }

    /// Ends the counting. What was counted stays, and waits under way are still counted. It never blocks.
    public static func stop() {
        csk_metrics_stop()
    }

    /// What was counted since the first ``start()``. It doesn't end the counting. It is O(n log n) for n names, and
    /// allocates memory.
    public static func current() -> SyncMetrics {
        var found = Found()
        unsafe withUnsafeMutablePointer(to: &found) { pointer in
            unsafe csk_metrics_read(
                { entry, context in
                    let found = unsafe context!.assumingMemoryBound(to: Found.self)
                    unsafe found.pointee.add(entry!.pointee)
                }, pointer)
        }
        return SyncMetrics(
            waits: found.waits.sorted { $0.spans.total > $1.spans.total },
            works: found.works.sorted { $0.name < $1.name }, timerLateness: found.lateness,
            lostCount: csk_metrics_lost())
    }

    /// What was counted, as text of OpenMetrics 1.0.
    ///
    /// Serve it as `application/openmetrics-text; version=1.0.0; charset=utf-8`. Its families are `csk_wait_seconds`, a
    /// histogram; `csk_waits`, a counter with the label `outcome`; `csk_longest_wait_seconds`; of work queues
    /// `csk_works_refused`, `csk_works_dropped`, `csk_most_works_waiting`, `csk_work_waiting_seconds` and
    /// `csk_work_running_seconds`; `csk_timer_lateness_seconds`; and `csk_metrics_lost`. Waits have the labels `kind`
    /// and `name`, works `name`. It is O(n) for n names.
    public static func openMetrics() -> String {
        unsafe printedText { unsafe csk_metrics_print($0, $1) }
    }

    private struct Found {
        var waits: [Waits] = [], works: [Works] = []
        var lateness = Spans(count: 0, total: .zero, longest: .zero, buckets: [])

        mutating func add(_ entry: csk_metrics_entry_t) {
            let spans = unsafe Spans(entry.spans)
            switch unsafe entry.what {
            case UInt32(CSK_METRICS_WAITS):
                unsafe waits.append(
                    Waits(
                        kind: SyncObjectKind(entry.object_kind),
                        purpose: entry.waits_for == 0 ? nil : InspectionReport.Purpose(entry.waits_for, permits: 1),
                        name: String(cString: entry.name!),
                        grantedCount: entry.granted, timedOutCount: entry.timed_out, refusedCount: entry.refused,
                        spans: spans))
            case UInt32(CSK_METRICS_WORKS):
                unsafe works.append(
                    Works(
                        name: String(cString: entry.name!), refusedCount: entry.refused, droppedCount: entry.dropped,
                        mostWaiting: Int(entry.most_waiting), waiting: spans, running: Spans(entry.runs)))
            case UInt32(CSK_METRICS_TIMERS): lateness = spans
            default: break
            }
        }
    }
}

extension SyncMetrics.Spans {
    fileprivate init(_ histogram: csk_metrics_histogram_t) {
        var copy = histogram
        let buckets = unsafe withUnsafeBytes(of: &copy.buckets) { bytes in
            unsafe [UInt64](unsafe bytes.bindMemory(to: UInt64.self))
        }
        self.init(
            count: histogram.count, total: .nanoseconds(histogram.sum_ns), longest: .nanoseconds(histogram.longest_ns),
            buckets: buckets)
    }
}

/// Why the counting did not begin.
public enum SyncMetricsError: Error, Sendable, Hashable {
    /// There is no memory.
    case outOfResources
}
