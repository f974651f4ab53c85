import CSyncKernel

/// Finds deadlocks that have not happened yet, by the order in which threads take locks.
///
/// While it is on, each thread has a list of the locks that it holds. Once some thread has taken B inside of A, and the
/// same thread or another one takes A inside of B, threads that do both at once could wait for each other for ever.
/// That is reported to ``SyncDiagnostics`` (`lockOrder`), once for each such circle, before the thread waits. A further
/// circle that goes through the reversed pair is found by a run in which the pair's first order is gone. So a test
/// that runs on one thread finds it:
///
/// ```swift
/// try LockOrder.start()                       // or CSK_LOCK_ORDER=1 in the environment
/// let sessions = PriorityMutex(0, name: "sessions"), users = PriorityMutex(0, name: "users")
/// sessions.withLock { _ in users.withLock { $0 += 1 } }
/// users.withLock { _ in sessions.withLock { $0 += 1 } }
/// print(LockOrder.text())                     // users -> sessions -> users, and where both steps were taken first
/// ```
///
/// What is kept is an order of classes. Locks with one name are one class, and so are those that were made in one line.
/// If locks of one class are taken inside of each other, that is reported too, unless they have different levels:
/// ``PriorityMutex/setLockOrder(level:)``.
///
/// It covers blocking sections of `PriorityMutex`, `CriticalSection`, `QueueSafeValue` and `QueueSafeSyncedValue`; of
/// `ReadWriteLock` and `ReadWriteCoordinator` where the package trait `LockOrder` is on. A lock decides at its first
/// use whether it is covered, so start the checker before locks are used. It does not cover sections of tasks
/// (`suspending`, `AsyncMutex`), semaphores, nor tries, which wait for nobody; but what a thread takes inside of a
/// section that it tried is covered.
///
/// A covered lock takes 7 to 12 ns more to take and leave, a `CriticalSection` some 36 ns, others nothing.
public enum LockOrder {
    /// Begins to check, or goes on. What it knew before stays. The first call maps 6 MiB of address space for the rest
    /// of the process. It never blocks.
    ///
    /// - Throws: ``LockOrderError/outOfResources``.
    public static func start() throws(LockOrderError) {
        KernelReports.arePassedOn
        if csk_order_start() != 0 { throw .outOfResources }
    }

    /// Ends the checking. What is known stays, and covered locks stay a little slower. It never blocks.
    public static func stop() {
        csk_order_stop()
    }

    /// The circles that were reported since the first ``start()``.
    public static var circleCount: Int { Int(counts.circles) }

    /// The entries that were not checked since a table was full: there is room for 4096 classes, for 16384 steps of one
    /// inside of another, and for 48 locks that one thread holds.
    public static var lostCount: Int { Int(counts.lost) }

    private static var counts: csk_order_counts_t {
        var counts = csk_order_counts_t()
        unsafe csk_order_count(&counts)
        return counts
    }

    /// The circles that were reported, each with the call stack at which each of its steps was taken first; then the
    /// locks at which threads have waited that are not covered. It reads the files of the program for the names of
    /// functions, so call it where that may take its time.
    public static func text() -> String {
        unsafe printedText { unsafe csk_order_print($0, $1) }
    }

    fileprivate static func setLevel(_ level: Int, of object: UnsafeRawPointer) {
        guard 0...Int(CSK_ORDER_LEVELS) ~= level else {
            fatalError("LockOrder: a level is from 0 to \(CSK_ORDER_LEVELS), not \(level)")
        }
        _ = unsafe csk_order_level(object, UInt32(level))
    }
}

/// Why the checker of lock order was not started.
public enum LockOrderError: Error, Sendable, Hashable {
    /// There is no memory.
    case outOfResources
}

extension PriorityMutex where Value: ~Copyable {
    /// Makes it one of another class for ``LockOrder``, so that it may be taken inside of a lock that has the same name
    /// or was made in the same line, and another level. It does nothing before ``LockOrder/start()``. It never blocks.
    ///
    /// - Parameter level: from 0, which each lock has at first, to 7.
    public func setLockOrder(level: Int) {
        unsafe box.withGate { unsafe LockOrder.setLevel(level, of: $0) }
    }

    /// Leaves it out of ``LockOrder``. It does nothing before ``LockOrder/start()``. It never blocks.
    public func leaveOutOfLockOrder() {
        _ = unsafe box.withGate { unsafe csk_order_ignore($0) }
    }
}

extension CriticalSection {
    /// Makes it one of another class for ``LockOrder``: see ``PriorityMutex/setLockOrder(level:)``. It never blocks.
    public func setLockOrder(level: Int) {
        unsafe box.withGate { unsafe LockOrder.setLevel(level, of: $0) }
    }

    /// Leaves it out of ``LockOrder``. It does nothing before ``LockOrder/start()``. It never blocks.
    public func leaveOutOfLockOrder() {
        _ = unsafe box.withGate { unsafe csk_order_ignore($0) }
    }
}

extension ReadWriteLock where Value: ~Copyable {
    /// Makes it one of another class for ``LockOrder``: see ``PriorityMutex/setLockOrder(level:)``. It never blocks.
    public func setLockOrder(level: Int) {
        unsafe box.withLock { unsafe LockOrder.setLevel(level, of: $0) }
    }

    /// Leaves it out of ``LockOrder``. It does nothing before ``LockOrder/start()``. It never blocks.
    public func leaveOutOfLockOrder() {
        _ = unsafe box.withLock { unsafe csk_order_ignore($0) }
    }
}

extension QueueSafeValue {
    /// Makes it one of another class for ``LockOrder``: see ``PriorityMutex/setLockOrder(level:)``. It never blocks.
    public func setLockOrder(level: Int) {
        unsafe box.withGate { unsafe LockOrder.setLevel(level, of: $0) }
    }

    /// Leaves it out of ``LockOrder``. It does nothing before ``LockOrder/start()``. It never blocks.
    public func leaveOutOfLockOrder() {
        _ = unsafe box.withGate { unsafe csk_order_ignore($0) }
    }
}

extension QueueSafeSyncedValue {
    /// Makes it one of another class for ``LockOrder``: see ``PriorityMutex/setLockOrder(level:)``. It never blocks.
    public func setLockOrder(level: Int) {
        unsafe box.withGate { unsafe LockOrder.setLevel(level, of: $0) }
    }

    /// Leaves it out of ``LockOrder``. It does nothing before ``LockOrder/start()``. It never blocks.
    public func leaveOutOfLockOrder() {
        _ = unsafe box.withGate { unsafe csk_order_ignore($0) }
    }
}

extension ReadWriteCoordinator {
    /// Makes it one of another class for ``LockOrder``: see ``PriorityMutex/setLockOrder(level:)``. It never blocks.
    public func setLockOrder(level: Int) {
        unsafe box.withLock { unsafe LockOrder.setLevel(level, of: $0) }
    }

    /// Leaves it out of ``LockOrder``. It does nothing before ``LockOrder/start()``. It never blocks.
    public func leaveOutOfLockOrder() {
        _ = unsafe box.withLock { unsafe csk_order_ignore($0) }
    }
}
