import CSyncKernel

/// Profiles contention: which threads and tasks wait for locks, where, for how long, and which calls let them in.
///
/// It counts waits of threads and tasks for mutexes, values, semaphores and read-write locks by the call stacks of the
/// waiters, and by the call stacks of the calls that let them in. The following are counted by the call stacks of the
/// waiters alone: waits of threads at work queues, waits of tasks there for room or for a drain, and waits of tasks at
/// `FIFOQueue`, `ActorQueue`, `ResourcePool` and `TaskQueue`.
///
/// ```swift
/// try ContentionProfile.start()
/// let before = ContentionProfile.current()
/// // what the program does
/// let profile = ContentionProfile.current().since(before)
/// print(try profile.foldedStacks(.waiting))                // pprof(.waiting) is for go tool pprof
/// ```
///
/// A wait of at least the threshold is kept. A shorter one is kept with a probability of its length divided by the
/// threshold, and then counts as the threshold, and as correspondingly many waits. So the sums are right on average,
/// whatever the threshold.
///
/// While it is off, a wait costs one load, and a call that doesn't wait costs nothing. While it is on, a wait takes its
/// call stack by frame pointers, which the Swift compiler keeps on Linux. A task's stack is that of its suspension: the
/// async functions that await each other. It allocates nothing, and takes only the lock of the names that C code has
/// given, after the wait.
public struct ContentionProfile: Sendable {
    /// The side whose stacks are shown.
    public enum Side: Sendable, Hashable {
        /// The waiters.
        case waiting
        /// The threads and tasks that left a lock, or signalled a semaphore, and so let a waiter in. A wait is counted
        /// up to that moment.
        case lettingIn
    }

    /// The waits with one stack, priority, kind of waiter and name.
    public struct Entry: Sendable, Hashable {
        /// The side of the stack.
        public let side: Side
        /// The priority of the wait.
        public let priority: CommandPriority
        /// True if a suspended task waited, or a callback of C code; false if a thread did.
        public let isSuspended: Bool
        /// Return addresses, the innermost first.
        public let frames: [UInt]
        /// The name of the object, or the file and line where it was made. Nil if it has neither, and on the side that
        /// lets waiters in.
        public let name: String?
        /// The number of waits. It may be fractional, since short waits are weighted.
        public fileprivate(set) var contentions: Double
        /// Their total time.
        public fileprivate(set) var delay: Duration

        fileprivate var key: Key {
            Key(side: side, priority: priority, isSuspended: isSuspended, frames: frames, name: name)
        }
    }

    fileprivate struct Key: Hashable {
        let side: Side, priority: CommandPriority, isSuspended: Bool, frames: [UInt], name: String?
    }

    /// The entries, the longest delays first.
    public private(set) var entries: [Entry]
    /// Waits that were not counted, because the tables for some 8000 stacks and 16 000 entries were full.
    public private(set) var lostCount: UInt64

    private let takenAt: ContinuousClock.Instant
    private var span: Duration?

    /// Starts counting, or continues with this threshold. Earlier counts stay; see ``since(_:)``.
    ///
    /// The first call takes some 5 MiB of address space for the rest of the process. It never blocks.
    ///
    /// - Throws: ``ObservationError``: the threshold is zero or less, or there is no memory.
    public static func start(threshold: Duration = .microseconds(10)) throws(ObservationError) {
        guard threshold > .zero else { throw .limitNotPositive }
        let nanoseconds = threshold / .nanoseconds(1)
        let most: Int64 = 100_000_000_000_000_000 // three years: the kernel multiplies it, and adds products up
        let status = csk_profile_start(nanoseconds < 1 ? 1 : nanoseconds < Double(most) ? Int64(nanoseconds) : most)
        if status != 0 { throw .outOfResources }
    }

    /// Stops counting. The counts stay. Waits that are under way may still be counted. It never blocks.
    public static func stop() {
        csk_profile_stop()
    }

    /// Returns the counts since the first ``start(threshold:)``. Counting goes on. It is O(n log n) for n entries, and
    /// allocates memory.
    public static func current() -> ContentionProfile {
        var entries = [Entry]()
        unsafe withUnsafeMutablePointer(to: &entries) { pointer in
            unsafe csk_profile_read(
                { entry, context in
                    let entry = unsafe entry!.pointee
                    unsafe context!.assumingMemoryBound(to: [Entry].self).pointee.append(Entry(entry))
                }, pointer)
        }
        return ContentionProfile(sorting: entries, lostCount: csk_profile_lost(), takenAt: .now)
    }

    private init(sorting entries: [Entry], lostCount: UInt64, takenAt: ContinuousClock.Instant) {
        self.entries = entries.sorted { $0.delay > $1.delay }
        self.lostCount = lostCount
        self.takenAt = takenAt
    }

    /// Returns the counts between an earlier profile and this one. It is O(n log n) for n entries.
    public func since(_ earlier: ContentionProfile) -> ContentionProfile {
        let before = Dictionary(earlier.entries.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        var rest = [Entry]()
        for var entry in entries {
            if let known = before[entry.key] {
                entry.contentions = max(0, entry.contentions - known.contentions)
                entry.delay -= known.delay
            }
            if entry.delay > .zero { rest.append(entry) }
        }
        var difference = ContentionProfile(
            sorting: rest, lostCount: lostCount &- earlier.lostCount, takenAt: takenAt)
        difference.span = takenAt - earlier.takenAt
        return difference
    }

    /// Returns the profile in pprof's format: `profile.proto`, compressed with gzip.
    ///
    /// Write it to a file, and let `go tool pprof FILE` show it. Its values are `contentions/count` and
    /// `delay/nanoseconds`, its labels `priority`, `waiter` and `name`. Functions have their names if the program has
    /// symbols; a stripped program gives addresses and its build id. It reads the files of the program and its
    /// libraries, so call it where latency does not matter.
    ///
    /// - Throws: ``ObservationError/outOfResources``.
    public func pprof(_ side: Side) throws(ObservationError) -> [UInt8] {
        let nanoseconds = span.map { $0 / .nanoseconds(1) } ?? 0
        return unsafe try printed { entries, count, print, context in
            unsafe csk_profile_print_pprof(entries, count, side.kernelSide, Int64(nanoseconds), print, context)
        }
    }

    /// Returns the profile as folded stacks, one per line: functions from the outermost to the innermost, separated by
    /// semicolons, a blank, and the delay in nanoseconds. `flamegraph.pl` and speedscope read it.
    ///
    /// - Throws: ``ObservationError/outOfResources``.
    public func foldedStacks(_ side: Side) throws(ObservationError) -> String {
        let bytes = unsafe try printed { entries, count, print, context in
            unsafe csk_profile_print_folded(entries, count, side.kernelSide, print, context)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Lends the entries in the kernel's form to `print`, and returns what it has appended.
    private func printed(
        _ print: (UnsafePointer<csk_profile_entry_t>?, Int, csk_print_t, UnsafeMutableRawPointer) -> Int32
    ) throws(ObservationError) -> [UInt8] {
        // The offsets of the frames and the name of each entry. A missing name is empty.
        var starts = [(frame: Int, name: Int)](), frames = [UInt](), names = [CChar]()
        for entry in entries {
            starts.append((frames.count, names.count))
            frames += entry.frames
            names += (entry.name ?? "").utf8CString
        }
        let (status, output) = unsafe frames.withUnsafeBufferPointer { allFrames in
            unsafe names.withUnsafeBufferPointer { allNames in
                let kernelEntries = unsafe zip(entries, starts).map { entry, start in
                    unsafe csk_profile_entry_t(
                        side: entry.side.kernelSide,
                        waiter: UInt32(entry.isSuspended ? CSK_PROFILE_CALLBACK : CSK_PROFILE_THREAD),
                        priority: entry.priority.rawValue, depth: UInt32(entry.frames.count),
                        frames: allFrames.baseAddress.map { unsafe $0 + start.frame },
                        name: entry.name == nil ? nil : allNames.baseAddress.map { unsafe $0 + start.name },
                        contentions: entry.contentions, delay_ns: Int64(entry.delay / .nanoseconds(1)))
                }
                return unsafe kernelEntries.withUnsafeBufferPointer { list in
                    unsafe printedBytes { unsafe print(list.baseAddress, list.count, $0, $1) }
                }
            }
        }
        if status != 0 { throw .outOfResources }
        return output
    }
}

extension ContentionProfile.Side {
    fileprivate var kernelSide: UInt32 { UInt32(self == .waiting ? CSK_PROFILE_WAITED : CSK_PROFILE_LET_IN) }
}

extension ContentionProfile.Entry {
    fileprivate init(_ entry: csk_profile_entry_t) {
        unsafe self.init(
            side: entry.side == UInt32(CSK_PROFILE_WAITED) ? .waiting : .lettingIn,
            priority: CommandPriority(rawValue: entry.priority),
            isSuspended: entry.waiter == UInt32(CSK_PROFILE_CALLBACK),
            frames: [UInt](UnsafeBufferPointer(start: entry.frames, count: Int(entry.depth))),
            name: entry.name.map { unsafe String(cString: $0) },
            contentions: entry.contentions, delay: .nanoseconds(entry.delay_ns))
    }
}
