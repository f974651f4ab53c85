public import CSyncKernel

/// Coordinates reads and writes. Reads run concurrently. Writes run alone, in order, and may be enqueued.
///
/// ```swift
/// let coordinator = ReadWriteCoordinator()
/// nonisolated(unsafe) var names = ["ada"]
///
/// coordinator.enqueueWrite { names.append("grace") }        // returns at once
/// let count = coordinator.read { names.count }              // 2: what was written before is seen
/// ```
///
/// They run in the order of submission. A read submitted before a write runs before it, and a write submitted before a
/// read runs before it, from whichever thread and in whichever form. Reads run on the calling thread, and block it
/// while a write is ahead. Enqueued writes run on worker threads of the library. A thread may read again inside a read,
/// however deep, even when a write has been queued in between.
///
/// A write inside a read, and anything inside a write, of the same coordinator and thread would wait for itself. A call
/// that can throw then throws ``ReadWriteError/wouldDeadlock``. Any other call stops the program with a message.
/// Enqueueing a write is always possible.
///
/// A coordinator may be released while writes wait: they still run. Uncontended reads cost two locked instructions and
/// no allocation. Don't use it in signal handlers.
public final class ReadWriteCoordinator: @unchecked Sendable {
    @usableFromInline
    let box: ReadWriteBox<Void>

    /// Makes an idle coordinator. It never blocks.
    ///
    /// - Parameters:
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the coordinator is made.
    ///   - line: the line there.
    public convenience init(name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line) {
        unsafe self.init(at: .named(name, fileID, line))
    }

    /// Makes a coordinator with that ``name``, under the earlier library's label.
    public convenience init(queueLabel: String) {
        self.init(name: queueLabel)
    }

    /// Makes a coordinator without a recorded place, for references to the initializer.
    @_disfavoredOverload
    public convenience init() {
        unsafe self.init(at: .unknown)
    }

    private init(at place: csk_place_t) {
        box = unsafe .make((), policy: UInt32(CSK_RWLOCK_STRICT), readerBias: false, place)
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { box.name }

    /// The earlier name of ``name``.
    public var queueLabel: String { name }

    /// Writes that wait keep the lock.
    deinit {
        EnqueuedWrite.letGo(box)
    }

    // MARK: - Reading

    /// Runs `body` together with other reads, after all writes that were submitted before, and returns what it returns.
    ///
    /// It blocks the thread while it waits, and ignores `withDeadline`. What `body` throws is rethrown. Inside a write
    /// of the same thread it stops the program with a message.
    @inlinable
    public func read<R>(_ body: () throws -> R) rethrows -> R {
        if unsafe !box.withLock({ unsafe csk_rwlock_enter_read($0) }) { enterReadOrStop() }
        defer { unsafe box.withLock { unsafe csk_rwlock_leave_read($0) } }
        return try body()
    }

    /// Runs `body` together with other reads, or throws when it can't read within `timeout`. It throws
    /// ``ReadWriteError/timedOut`` when entering takes longer than `timeout`, and ``ReadWriteError/wouldDeadlock``
    /// inside a write of the same thread.
    ///
    /// `.never` means no limit but that of `withDeadline`. A timeout of zero or less tries once. It never times
    /// out early.
    @inlinable
    public func read<R>(timeout: TimeLimit, _ body: () throws -> R) throws -> R {
        let status = unsafe box.withLock { unsafe timeout.read($0) }
        if status != 0 { throw ReadWriteError(status: status) }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        return try body()
    }

    // MARK: - Writing

    /// Runs `body` alone on a worker thread, after everything that was submitted before. The call returns at once.
    ///
    /// It never blocks, and may be called from anywhere, also inside reads and writes. It allocates nothing beyond the
    /// closure's own, once as many writes were queued before. `body` may block. There are at most 2048 workers in a
    /// process, so no more writes than that may wait at once for something that only later writes do.
    ///
    /// - Returns: false if the system gave no thread to run it on. The write will then not run, and ``SyncDiagnostics``
    ///   gets a report.
    @discardableResult
    public func enqueueWrite(_ body: @escaping @Sendable () -> Void) -> Bool {
        accepted(EnqueuedWrite.enqueue(box, body))
    }

    /// Enqueues a write, which sees the task-local values of the caller if `inheritingTaskLocals` is true.
    ///
    /// With true the write runs as a separate task, which costs several allocations.
    @discardableResult
    public func enqueueWrite(inheritingTaskLocals: Bool, _ body: @escaping @Sendable () -> Void) -> Bool {
        guard inheritingTaskLocals else { return enqueueWrite(body) }
        let section = SuspendedSection(box, write: true, deadline: Deadline.never)
        return accepted(section.start(body))
    }

    private func accepted(_ status: Int32) -> Bool {
        guard status != 0 else { return true }
        SyncDiagnostics.report(
            .outOfResources, subject: "ReadWriteCoordinator \(name)",
            message: "a write was refused: \(statusText(status))")
        return false
    }

    /// Runs `body` alone on the calling thread, after everything that was submitted before, and returns what it
    /// returns.
    ///
    /// It blocks the thread while it waits, and ignores `withDeadline`. What `body` throws is rethrown. Inside a
    /// section of the same thread it stops the program with a message.
    @inlinable
    public func blockingWrite<R>(_ body: () throws -> R) rethrows -> R {
        let status = unsafe box.withLock { unsafe csk_rwlock_wrlock($0) }
        if status != 0 { stop(status, "blockingWrite") }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        return try body()
    }

    /// Runs `body` alone, or throws when it can't write within `timeout`. It throws ``ReadWriteError/timedOut`` when
    /// entering takes longer than `timeout`, and ``ReadWriteError/wouldDeadlock`` inside a section of the same thread.
    ///
    /// `.never` means no limit but that of `withDeadline`. A timeout of zero or less tries once. It never times
    /// out early.
    @inlinable
    public func blockingWrite<R>(timeout: TimeLimit, _ body: () throws -> R) throws -> R {
        let status = unsafe box.withLock { unsafe timeout.write($0) }
        if status != 0 { throw ReadWriteError(status: status) }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        return try body()
    }

    /// Waits until everything that was submitted before has run.
    ///
    /// It blocks the thread. ``Suspending/drain(timeout:)`` suspends a task instead. Inside a section of the same
    /// thread it stops the program with a message.
    @available(*, noasync, message: "try await suspending.drain()")
    public func drain() {
        let status = unsafe box.withLock { unsafe csk_rwlock_wrlock($0) }
        if status != 0 { stop(status, "drain") }
        unsafe box.withLock { unsafe csk_rwlock_unlock($0) }
    }

    /// Waits for everything that was submitted before, or throws when that takes longer than `timeout`. It throws
    /// ``ReadWriteError/timedOut`` when waiting takes longer than `timeout`, and ``ReadWriteError/wouldDeadlock``
    /// inside a section of the same thread. `.never` means no limit but that of `withDeadline`. It never times out
    /// early.
    public func drain(timeout: TimeLimit) throws(ReadWriteError) {
        let status = unsafe box.withLock { unsafe timeout.write($0) }
        if status != 0 { throw ReadWriteError(status: status) }
        unsafe box.withLock { unsafe csk_rwlock_unlock($0) }
    }

    // MARK: - For async code

    /// Reads and writes that suspend the task, and block no thread, while they wait.
    public var suspending: Suspending {
        Suspending(box: box)
    }

    @usableFromInline
    func enterReadOrStop() {
        let status = unsafe box.withLock { unsafe csk_rwlock_rdlock($0) }
        if status != 0 { stop(status, "read") }
    }

    @usableFromInline
    func stop(_ status: Int32, _ call: String) -> Never {
        if status == EDEADLK {
            fatalError(
                "ReadWriteCoordinator \(name): \(call) was called inside a section of the same coordinator "
                    + "by the same thread")
        }
        fatalError("ReadWriteCoordinator \(name): \(call): \(statusText(status))")
    }

    /// The number of threads and sections that waited at some instant during the call.
    package var waitingCount: Int { unsafe Int(box.withLock { unsafe csk_rwlock_waiting($0) }) }
}
