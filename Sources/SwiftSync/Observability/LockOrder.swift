import CSyncKernel

/// Detects deadlocks that have not happened yet, by the order in which threads take locks.
///
/// While it is on, each thread has a list of the locks that it holds. If a thread has taken B inside of A, and the same
/// or another thread takes A inside of B, threads that do both at once could deadlock. That is reported to
/// ``SyncDiagnostics`` (`lockOrder`), once for each such circle, before the thread waits. To find further circles
/// through the reversed pair, remove the pair's first order and run again. So a test that runs on one thread finds it:
///
/// ```swift
/// try LockOrder.start()                       // or CSK_LOCK_ORDER=1 in the environment
/// let sessions = PriorityMutex(0, name: "sessions"), users = PriorityMutex(0, name: "users")
/// sessions.withLock { _ in users.withLock { $0 += 1 } }
/// users.withLock { _ in sessions.withLock { $0 += 1 } }
/// print(LockOrder.text())                     // users -> sessions -> users, and where both steps were taken first
/// ```
///
/// The checker keeps an order of classes. Locks with one name are one class, and so are those that were made in one
/// line. Nested locks of one class are reported too, unless they have different levels:
/// ``LockOrdered/setLockOrder(level:)``.
///
/// It covers blocking sections of `PriorityMutex`, `CriticalSection`, `QueueSafeValue` and `QueueSafeSyncedValue`; of
/// `ReadWriteLock` and `ReadWriteCoordinator` where the package trait `LockOrder` is on. A lock decides at its first
/// use whether it is covered, so start the checker before locks are used. It does not cover sections of tasks
/// (`suspending`, `AsyncMutex`), semaphores, or tries, which never wait; but locks that a thread takes inside of a
/// section that it tried are covered.
///
/// Taking and leaving a covered lock costs 7 to 12 ns more, a `CriticalSection` some 36 ns, other locks nothing.
public enum LockOrder {
    /// Starts checking, or continues. The orders seen before stay. The first call maps 6 MiB of address space for the
    /// rest of the process. It never blocks.
    ///
    /// - Throws: ``ObservationError/outOfResources``.
    public static func start() throws(ObservationError) {
        KernelReports.arePassedOn
        if csk_order_start() != 0 { throw .outOfResources }
    }

    /// Stops checking. The orders seen stay, and covered locks stay a little slower. It never blocks.
    public static func stop() {
        csk_order_stop()
    }

    /// The number of circles reported since the first ``start()``.
    public static var circleCount: Int { Int(counts.circles) }

    /// The number of entries that were not checked because a table was full: there is room for 4096 classes, for 16384
    /// steps of one inside of another, and for 48 locks that one thread holds.
    public static var lostCount: Int { Int(counts.lost) }

    private static var counts: csk_order_counts_t {
        var counts = csk_order_counts_t()
        unsafe csk_order_count(&counts)
        return counts
    }

    /// Returns the reported circles, each with the call stack of the first occurrence of each of its steps; then the
    /// locks that are not covered and at which threads have waited. It reads the files of the program for the names of
    /// functions, so call it where latency does not matter.
    public static func text() -> String {
        unsafe printedText { unsafe csk_order_print($0, $1) }
    }
}

/// A lock that ``LockOrder`` covers. Only types of this library are such locks.
public protocol LockOrdered {}

extension LockOrdered {
    /// Puts it into another class for ``LockOrder``, so that it may be taken inside of a lock of another level that has
    /// the same name or was made in the same line. It does nothing before ``LockOrder/start()``. It never blocks.
    ///
    /// - Parameter level: from 0, the initial level, to 7.
    public func setLockOrder(level: Int) {
        guard 0...Int(CSK_ORDER_LEVELS) ~= level else {
            fatalError("LockOrder: a level is from 0 to \(CSK_ORDER_LEVELS), not \(level)")
        }
        unsafe (self as? any CheckedLock)?.withChecked { _ = unsafe csk_order_level($0, UInt32(level)) }
    }

    /// Excludes it from ``LockOrder``. It does nothing before ``LockOrder/start()``. It never blocks.
    public func leaveOutOfLockOrder() {
        unsafe (self as? any CheckedLock)?.withChecked { _ = unsafe csk_order_ignore($0) }
    }
}

/// What the checker knows of a lock: an address of the kernel's.
private protocol CheckedLock {
    /// Calls `body` with the kernel's lock, which lasts until it has returned.
    func withChecked(_ body: (UnsafeRawPointer) -> Void)
}

extension PriorityMutex: LockOrdered, CheckedLock where Value: ~Copyable {
    fileprivate func withChecked(_ body: (UnsafeRawPointer) -> Void) { unsafe box.withGate { unsafe body($0) } }
}

extension CriticalSection: LockOrdered, CheckedLock {
    fileprivate func withChecked(_ body: (UnsafeRawPointer) -> Void) { unsafe box.withGate { unsafe body($0) } }
}

extension QueueSafeValue: LockOrdered, CheckedLock {
    fileprivate func withChecked(_ body: (UnsafeRawPointer) -> Void) { unsafe box.withGate { unsafe body($0) } }
}

extension QueueSafeSyncedValue: LockOrdered, CheckedLock {
    fileprivate func withChecked(_ body: (UnsafeRawPointer) -> Void) { unsafe box.withGate { unsafe body($0) } }
}

extension ReadWriteLock: LockOrdered, CheckedLock where Value: ~Copyable {
    fileprivate func withChecked(_ body: (UnsafeRawPointer) -> Void) { unsafe box.withLock { unsafe body($0) } }
}

extension ReadWriteCoordinator: LockOrdered, CheckedLock {
    fileprivate func withChecked(_ body: (UnsafeRawPointer) -> Void) { unsafe box.withLock { unsafe body($0) } }
}
