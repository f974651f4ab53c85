import CSyncKernel

/// The threads that run queued work: closures of work queues, delayed work, enqueued writes.
///
/// There is one pool in a process. It keeps as many workers as the process may use processors. That number is what the
/// CPU affinity allowed when the library was loaded, and no more than the CPU quota of the process's cgroups, rounded
/// up. Other workers take the places of workers that block. A program that wants other numbers configures the pool
/// first:
///
/// ```swift
/// try WorkerPool.configure(least: 2, most: 64, stackSize: 1 << 20) {
///     // On each worker, before its first closure.
/// }
/// ```
public enum WorkerPool {
    /// Configures the pool. The call must come before anything uses the pool: before the process's first queued work,
    /// delayed work or enqueued write.
    ///
    /// Until then each call replaces all settings of the previous call, so the last call counts. A call that throws
    /// changes nothing. The call does not block, and may be made from anywhere.
    ///
    /// - Parameters:
    ///   - least: the number of workers that stay; with nil, the number of usable processors.
    ///   - most: the largest number of workers, including blocked ones. The default, for nil, and the upper limit are
    ///     2048. If that many have been reached and none of them takes the work that waits, this is reported to
    ///     ``SyncDiagnostics``.
    ///   - stackSize: the stack size of each worker, in bytes, from 65 536 to 2^30; with nil, the system's size.
    ///   - onStart: a closure that each worker calls before its first closure. It may block, and may use this library.
    /// - Throws: ``ConfigurationError/inUse`` if the pool has been used already; ``ConfigurationError/invalid`` if a
    ///   number is outside of these bounds, or if `least` is above `most`.
    public static func configure(
        least: Int? = nil, most: Int? = nil, stackSize: Int? = nil, onStart: (@Sendable () -> Void)? = nil
    ) throws(ConfigurationError) {
        guard let least = number(least), let most = number(most), stackSize ?? 1 > 0 else { throw .invalid }
        var attributes = unsafe csk_pool_attr_t()
        unsafe attributes.least = least
        unsafe attributes.most = most
        unsafe attributes.stack_size = stackSize ?? 0
        let start = unsafe onStart.map { unsafe Unmanaged.passRetained(StartHook(call: $0)) }
        if let start = unsafe start {
            unsafe attributes.context = start.toOpaque()
            unsafe attributes.start = { unsafe Unmanaged<StartHook>.fromOpaque($0!).takeUnretainedValue().call() }
        }
        let status = unsafe csk_pool_configure(&attributes)
        if status == 0 { return }
        unsafe start?.release()
        throw status == EBUSY ? .inUse : .invalid
    }

    /// Why the pool could not be configured.
    public enum ConfigurationError: Error, Hashable, Sendable {
        /// The pool has been used already, in this process or before the fork that made it.
        case inUse
        /// A number is outside of its bounds.
        case invalid
    }

    /// The number of workers, at some instant during the call. It is meant for statistics. Reading it blocks for no
    /// longer than starting a worker's work takes.
    public static var workerCount: Int { Int(csk_pool_workers()) }

    /// Returns 0 for nil, which means the default, and nil for an impossible number.
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
