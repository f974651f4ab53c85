import CSyncKernel

/// Counts how often and how long the program waits, by the names of the objects: counters and histograms for a
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
/// It counts waits of threads and tasks for mutexes, values, semaphores and read-write locks; waits of threads at work
/// queues, and of tasks there for room or for a drain; the work that work queues refuse and drop; and waits of tasks at
/// `FIFOQueue`, `ActorQueue`, `MainActorQueue`, `ResourcePool` and `TaskQueue`. Objects of one kind and one `name`
/// share their numbers, which outlive them: give one name to objects that you want to see as one. An object without a
/// name goes by the file and line where it was made.
///
/// While it is off, it costs nothing. While it is on, a wait updates a few counters at its end; calls that don't wait
/// still cost nothing. ``openMetrics()`` is the text that Prometheus and others read.
public struct SyncMetrics: Sendable {
    /// The number and lengths of spans of time.
    public struct Spans: Sendable, Hashable {
        /// Their number.
        public let count: UInt64
        /// Their sum.
        public let total: Duration
        /// The longest.
        public let longest: Duration
        /// Their number by length. Element `i` counts spans longer than ``upperBound(ofBucket:)`` of `i - 1`, and not
        /// longer than that of `i`.
        public let buckets: [UInt64]

        /// The longest span that the bucket counts: a microsecond for the first, and twice the previous one for each
        /// further; nil for the last, which has no bound.
        ///
        /// - Precondition: `index` is not negative.
        public static func upperBound(ofBucket index: Int) -> Duration? {
            if index < 0 { fatalError("SyncMetrics: a bucket has an index of at least 0, not \(index)") }
            return index < Int(CSK_METRICS_BUCKETS) - 1 ? .nanoseconds(csk_metrics_bound_ns(UInt32(index))) : nil
        }

        /// Returns a bound that this share of the spans did not exceed, at most twice as long as the span at that
        /// place: `quantile(0.99)` for 99 of 100. It is zero without spans. It is O(1).
        ///
        /// - Parameter share: from 0 to 1; a value outside counts as the nearer bound.
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
        /// The kind of the object.
        public let kind: SyncObjectKind
        /// The purpose of the waits at a work queue: a turn, room, or a drain, each of which is counted separately. Nil
        /// if an object can be waited for in one way only.
        public let purpose: InspectionReport.Purpose?
        /// Its name, or the file and line where it was made.
        public let name: String
        /// The waits that were granted.
        public let grantedCount: UInt64
        /// Waits that ended at their deadline.
        public let timedOutCount: UInt64
        /// Waits that ended otherwise, by a cancellation for example.
        public let refusedCount: UInt64
        /// Their times, whatever their outcome.
        public let spans: Spans
    }

    /// The works of the work queues with one label.
    public struct Works: Sendable, Hashable {
        /// The queues' label.
        public let name: String
        /// Works and callers that a queue did not accept: it was full or shut down, or had no room by their deadline.
        public let refusedCount: UInt64
        /// Works that a queue had accepted and dropped, since others came or it was shut down.
        public let droppedCount: UInt64
        /// The largest known number of works that have waited in a queue: without a bound, the number that workers
        /// found there; with a bound, the number when a submitter found the queue full.
        public let mostWaiting: Int
        /// The times that works waited to begin. One in 1024 is timed, at random, and counts as 1024. In a queue of
        /// more than some thousands most of these count as having waited as long as the last one before them.
        public let waiting: Spans
        /// The times that the same works ran.
        public let running: Spans
    }

    /// The waits, the longest sum first.
    public let waits: [Waits]
    /// The works of work queues, by the queues' labels.
    public let works: [Works]
    /// The times by which timers were served after their deadlines.
    public let timerLateness: Spans
    /// The number of waits that were not counted because the table was full: it holds some 4000 names.
    public let lostCount: UInt64

    /// Starts counting, or continues. Waits that are under way are not counted. It never blocks.
    ///
    /// The first call takes some 3 MiB of address space for the rest of the process.
    ///
    /// - Throws: ``ObservationError/outOfResources``.
    public static func start() throws(ObservationError) {
        if csk_metrics_start() != 0 { throw .outOfResources }
    }

    /// Stops counting. The counts stay, and waits under way are still counted. It never blocks.
    public static func stop() {
        csk_metrics_stop()
    }

    /// Returns the counts since the first ``start()``. Counting goes on. It is O(n log n) for n names, and allocates
    /// memory.
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

    /// Returns the counts as text in OpenMetrics 1.0.
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
