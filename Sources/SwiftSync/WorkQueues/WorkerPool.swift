import CSyncKernel

/// The threads that run what is queued: closures of work queues, delayed work, enqueued writes.
///
/// There is one pool in a process. It keeps as many workers as the process may use processors: as many as the affinity
/// that stood when the library was loaded allows, and no more than the CPU quota of the process's cgroups, rounded up.
/// Others take the places of those that block. A program that wants it otherwise says so first:
///
/// ```swift
/// try WorkerPool.configure(least: 2, most: 64, stackSize: 1 << 20) {
///     // On each worker, before its first closure.
/// }
/// ```
public enum WorkerPool {
    /// Sets up the pool, before anything uses it: before the process's first queued work, delayed work or enqueued
    /// write. Until then each call replaces all that the one before has said, and the last one counts; one that throws
    /// changes nothing. Does not block. May be called from anywhere.
    ///
    /// - Parameters:
    ///   - least: how many workers stay; nil: as many as processors.
    ///   - most: how many there may be, with those that block; nil, and at most: 2048. When as many have been reached and
    ///     none of them comes for what waits, it is reported to ``SyncDiagnostics``.
    ///   - stackSize: of each worker, in bytes, from 65 536 to 2^30; nil: the system's size.
    ///   - onStart: called on each worker before its first closure. It may block, and use this library.
    /// - Throws: ``ConfigurationError/inUse`` when the pool has been used already, ``ConfigurationError/invalid`` for
    ///   numbers outside of these bounds, and where `least` is above `most`.
    public static func configure(
        least: Int? = nil, most: Int? = nil, stackSize: Int? = nil, onStart: (@Sendable () -> Void)? = nil
    ) throws(ConfigurationError) {
        guard let least = number(least), let most = number(most), stackSize ?? 1 > 0 else { throw .invalid }
        var attributes = csk_pool_attr_t()
        attributes.least = least
        attributes.most = most
        attributes.stack_size = stackSize ?? 0
        let start = onStart.map { Unmanaged.passRetained(StartHook(call: $0)) }
        if let start {
            attributes.context = start.toOpaque()
            attributes.start = { Unmanaged<StartHook>.fromOpaque($0!).takeUnretainedValue().call() }
        }
        let status = csk_pool_configure(&attributes)
        if status == 0 { return }
        start?.release()
        throw status == EBUSY ? .inUse : .invalid
    }

    /// Why the pool could not be set up.
    public enum ConfigurationError: Error, Hashable, Sendable {
        /// Something has used the pool already, here or before the fork that led to this process.
        case inUse
        /// A number is outside of its bounds.
        case invalid
    }

    /// How many workers there are, at some instant during the call: for statistics. Does not block for longer than it
    /// takes to start a worker's work.
    public static var workerCount: Int { Int(csk_pool_workers()) }

    /// 0 for nil, which is the default; nil for what can't be.
    private static func number(_ wanted: Int?) -> UInt32? {
        guard let wanted else { return 0 }
        return wanted > 0 ? UInt32(exactly: wanted) : nil
    }

    private final class StartHook: Sendable {
        let call: @Sendable () -> Void

        init(call: @escaping @Sendable () -> Void) {
            self.call = call
        }
    }
}
