public import CSyncKernel

/// A value that many threads may read at once, and one may change.
///
/// ```swift
/// let routes = ReadWriteLock(["/": "index"], readerBias: true)
/// let page = routes.withReadLock { $0["/"] }
/// routes.withWriteLock { $0["/about"] = "about" }
/// ```
///
/// Waiters stand in the order of their arrival, readers behind a waiting writer too, so neither side starves; readers
/// next to each other enter together. A thread may read again inside a read, however deep. Locking blocks the calling
/// thread: from async code use it for short sections only; the closures can't suspend. Copies share the value. Not for
/// signal handlers.
///
/// For data that is read far more often than changed, see also ``Snapshot``, whose readers never wait.
@frozen
public struct ReadWriteLock<Value: ~Copyable & Sendable>: @unchecked Sendable {
    @usableFromInline
    let box: ReadWriteBox<Value>

    /// Protects `value`. One allocation; never blocks.
    ///
    /// - Parameters:
    ///   - value: what is protected, sent in.
    ///   - policy: ``GatePolicy/strict`` hands the lock from one to the next, and nobody ever passes anybody. Otherwise
    ///     those who come while a waiter wakes up may pass it, once: faster when many threads contend.
    ///   - readerBias: readers enter without touching what they share, in a fraction of the time, and a writer first
    ///     takes that right away, which takes some 10 µs. For values that are read 1000 times as often as written.
    @inlinable
    public init(_ value: consuming sending Value, policy: GatePolicy = .fast, readerBias: Bool = false) {
        let kernelPolicy = policy == .strict ? CSK_RWLOCK_STRICT : CSK_RWLOCK_FAST
        box = .make(value, policy: UInt32(kernelPolicy), readerBias: readerBias)
    }

    // MARK: - Reading

    /// Runs `body` with the value, together with other readers, waiting for as long as it takes.
    ///
    /// Blocks the thread while it waits. Returns what `body` returns, and throws what it throws. Inside a write of the
    /// same thread it stops the program with a message.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let status = csk_rwlock_rdlock(box.lock)
        if status != 0 { stop(status, "withReadLock") }
        defer { csk_rwlock_unlock(box.lock) }
        return try body(box.value.pointee)
    }

    /// Runs `body` if it can enter at once, else returns nil. Never waits.
    @inlinable
    public borrowing func withReadLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard csk_rwlock_tryrdlock(box.lock) == 0 else { return nil }
        defer { csk_rwlock_unlock(box.lock) }
        return try body(box.value.pointee)
    }

    /// Runs `body` with the value unless entering takes longer than `timeout`: nil then. Zero or less tries once; never
    /// early.
    ///
    /// Blocks the thread while it waits. Inside a write of the same thread it stops the program with a message.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let status = csk_rwlock_timedrdlock(box.lock, Deadline.after(timeout))
        if status != 0 {
            if status == ETIMEDOUT { return nil }
            stop(status, "withReadLock")
        }
        defer { csk_rwlock_unlock(box.lock) }
        return try body(box.value.pointee)
    }

    // MARK: - Writing

    /// Runs `body` with the value while no other thread reads or writes it, waiting for as long as it takes.
    ///
    /// Blocks the thread while it waits. Returns what `body` returns, and throws what it throws. Inside a section of
    /// the same thread it stops the program with a message.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let status = csk_rwlock_wrlock(box.lock)
        if status != 0 { stop(status, "withWriteLock") }
        defer { csk_rwlock_unlock(box.lock) }
        return try body(&box.value.pointee)
    }

    /// Runs `body` if it can enter at once, else returns nil. Never waits, also not for the same thread.
    @inlinable
    public borrowing func withWriteLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard csk_rwlock_trywrlock(box.lock) == 0 else { return nil }
        defer { csk_rwlock_unlock(box.lock) }
        return try body(&box.value.pointee)
    }

    /// Runs `body` with the value unless entering takes longer than `timeout`: nil then. Zero or less tries once; never
    /// early.
    ///
    /// Blocks the thread while it waits. Inside a section of the same thread it stops the program with a message.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        timeout: Duration,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let status = csk_rwlock_timedwrlock(box.lock, Deadline.after(timeout))
        if status != 0 {
            if status == ETIMEDOUT { return nil }
            stop(status, "withWriteLock")
        }
        defer { csk_rwlock_unlock(box.lock) }
        return try body(&box.value.pointee)
    }

    /// Runs `write` alone, and then `read` together with other readers, without a moment in between in which another
    /// writer could enter.
    ///
    /// What `write` returns is handed to `read`. Blocks and stops as ``withWriteLock(_:)`` does. What either throws is
    /// rethrown.
    ///
    /// ```swift
    /// let total = totals.withWriteLock { $0.add(order) } thenRead: { totals, _ in totals.sum() }
    /// ```
    @inlinable
    public borrowing func withWriteLock<Written: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ write: (inout Value) throws(Failure) -> Written,
        thenRead read: (borrowing Value, consuming Written) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var status = csk_rwlock_wrlock(box.lock)
        if status != 0 { stop(status, "withWriteLock") }
        defer { csk_rwlock_unlock(box.lock) }
        let written = try write(&box.value.pointee)
        status = csk_rwlock_downgrade(box.lock)
        if status != 0 { stop(status, "withWriteLock") }
        return try read(box.value.pointee, written)
    }

    // MARK: - Upgrading

    /// The right of a reader to go on as the writer, before everybody who waits.
    @frozen
    public struct Upgrade: ~Copyable {
        @usableFromInline
        let box: ReadWriteBox<Value>

        @inlinable
        init(_ box: ReadWriteBox<Value>) {
            self.box = box
        }

        /// Runs `body` alone once the other readers have left; then the thread reads on.
        ///
        /// Nobody has changed the value since this thread began to read. Blocks the thread for `timeout` at most,
        /// without one for as long as it takes. On any error `body` has not run (unless it threw itself), and the
        /// thread reads on.
        ///
        /// - Throws: ``ReadWriteError/timedOut``; ``ReadWriteError/wouldDeadlock`` when another reader waits to
        ///   upgrade, when this thread has read more than once, or when (with reader bias) a writer waits for this
        ///   reader already: leave the section, and write; and what `body` throws.
        @inlinable
        public borrowing func callAsFunction<Result: ~Copyable>(
            timeout: Duration? = nil, _ body: (inout Value) throws -> Result
        ) throws -> Result {
            let status = csk_rwlock_timedupgrade(box.lock, timeout.map(Deadline.after) ?? Deadline.never)
            if status != 0 { throw ReadWriteError(status: status) }
            defer { csk_rwlock_downgrade(box.lock) }
            return try body(&box.value.pointee)
        }
    }

    @usableFromInline
    borrowing func stop(_ status: Int32, _ call: String) -> Never {
        if status == EDEADLK { fatalError("ReadWriteLock: \(call) was called inside a section of the same lock by the same thread") }
        fatalError("ReadWriteLock: \(call): \(String(cString: csk_status_text(status)))")
    }

    /// Threads that wait, at some instant during the call.
    package var waitingCount: Int { Int(csk_rwlock_waiting(box.lock)) }
}

extension ReadWriteLock {
    /// Runs `body` as a reader that may go on as the writer.
    ///
    /// ```swift
    /// let user = try users.withUpgradableReadLock { users, upgrade in
    ///     if let known = users[id] { return known }
    ///     let loaded = try load(id)
    ///     try upgrade { $0[id] = loaded }
    ///     return loaded
    /// }
    /// ```
    ///
    /// The value that `body` is given stays what it was before an upgrade, so the first change of a collection copies
    /// it: where that is too dear leave the section, and look again in ``withWriteLock(_:)``. Blocks as
    /// ``withReadLock(_:)-((Value)->Result)`` does. For values that can be copied: what is borrowed from any other
    /// would be changed, or destroyed, under the reader's hands.
    ///
    /// - Throws: ``ReadWriteError/wouldDeadlock`` inside a write of the same thread, and what `body` throws.
    @inlinable
    public borrowing func withUpgradableReadLock<Result: ~Copyable>(
        _ body: (borrowing Value, borrowing Upgrade) throws -> Result
    ) throws -> Result {
        let status = csk_rwlock_rdlock(box.lock)
        if status != 0 { throw ReadWriteError(status: status) }
        defer { csk_rwlock_unlock(box.lock) }
        // A reference of its own to whatever the value refers to.
        let value = box.value.pointee
        return try body(value, Upgrade(box))
    }
}
