public import CSyncKernel

/// A value that many threads may read at once, and one thread at a time may change.
///
/// ```swift
/// let routes = ReadWriteLock(["/": "index"], readerBias: true)
/// let page = routes.withReadLock { $0["/"] }
/// routes.withWriteLock { $0["/about"] = "about" }
/// ```
///
/// Waiters are served by arrival. Readers wait behind a waiting writer too, so neither side starves. Adjacent readers
/// are inside together, unless a thread comes to write before the later ones have run (not under
/// ``GatePolicy/strict``). A thread may read again inside a read, however deep. Locking blocks the calling thread. In
/// async code use it for short sections only: the closures can't suspend. Copies share the value. Don't use it in
/// signal handlers.
///
/// For data that is read far more often than changed, see also ``Snapshot``, whose readers never wait.
@frozen
public struct ReadWriteLock<Value: ~Copyable & Sendable>: @unchecked Sendable {
    @usableFromInline
    let box: ReadWriteBox<Value>

    /// Protects `value`. It makes one allocation and never blocks.
    ///
    /// - Parameters:
    ///   - value: what is protected. It is sent in.
    ///   - policy: ``GatePolicy/strict`` hands the lock from one waiter to the next, and no thread overtakes. Otherwise
    ///     threads that arrive while a waiter wakes up may overtake it, until it has found the lock taken once. That
    ///     is faster when many threads contend.
    ///   - readerBias: readers enter without writing shared memory, in a fraction of the time. A writer first revokes
    ///     that right, which takes some 10 µs. It is meant for values that are read 1000 times as often as written.
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the lock is made.
    ///   - line: the line there.
    @inlinable
    public init(
        _ value: consuming sending Value, policy: GatePolicy = .fast, readerBias: Bool = false, name: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        let kernelPolicy = policy == .strict ? CSK_RWLOCK_STRICT : CSK_RWLOCK_FAST
        box = unsafe .make(
            value, policy: UInt32(kernelPolicy), readerBias: readerBias, .named(name, fileID, line))
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { box.name }

    // MARK: - Reading

    /// Runs `body` with the value, together with other readers. It waits without a limit.
    ///
    /// It blocks the thread while it waits, and ignores `withDeadline`. It returns what `body` returns, and throws what
    /// `body` throws. Inside a write of the same thread it stops the program with a message.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if unsafe !box.withLock({ unsafe csk_rwlock_enter_read($0) }) { enterReadOrStop() }
        defer { unsafe box.withLock { unsafe csk_rwlock_leave_read($0) } }
        return try body(box.value.pointee)
    }

    /// Runs `body` if it can enter at once, else returns nil. It never waits.
    @inlinable
    public borrowing func withReadLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard unsafe box.withLock({ unsafe csk_rwlock_tryrdlock($0) }) == 0 else { return nil }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        return try body(box.value.pointee)
    }

    /// Runs `body` with the value, unless entering takes longer than `timeout`. In that case it returns nil. A timeout
    /// of zero or less tries once. It never times out early.
    ///
    /// It blocks the thread while it waits. Inside a write of the same thread it stops the program with a message.
    @inlinable
    public borrowing func withReadLock<Result: ~Copyable, Failure: Error>(
        timeout: TimeLimit,
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let status = unsafe box.withLock { unsafe timeout.read($0) }
        if status != 0 {
            if status == ETIMEDOUT { return nil }
            stop(status, "withReadLock")
        }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        return try body(box.value.pointee)
    }

    /// Waits for at most `timeout`, and runs a body that reads and returns nothing. It returns true if `body` was run,
    /// else false, and the compiler warns if the result is unused. Where a Bool is expected, the compiler chooses this
    /// form and drops the result of a one-expression body.
    @inlinable
    public borrowing func withReadLock<Failure: Error>(
        timeout: TimeLimit,
        _ body: (borrowing Value) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        let done: Void? = try withReadLock(timeout: timeout, body)
        return done != nil
    }

    // MARK: - Writing

    /// Runs `body` with exclusive access to the value. It waits without a limit.
    ///
    /// It blocks the thread while it waits, and ignores `withDeadline`. It returns what `body` returns, and throws what
    /// `body` throws. Inside a section of the same thread it stops the program with a message.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let status = unsafe box.withLock { unsafe csk_rwlock_wrlock($0) }
        if status != 0 { stop(status, "withWriteLock") }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        return try body(&box.value.pointee)
    }

    /// Runs `body` if it can enter at once, else returns nil. It never waits, not even for its own thread.
    @inlinable
    public borrowing func withWriteLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard unsafe box.withLock({ unsafe csk_rwlock_trywrlock($0) }) == 0 else { return nil }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        return try body(&box.value.pointee)
    }

    /// Runs `body` with the value, unless entering takes longer than `timeout`. In that case it returns nil. A timeout
    /// of zero or less tries once. It never times out early.
    ///
    /// It blocks the thread while it waits. Inside a section of the same thread it stops the program with a message.
    @inlinable
    public borrowing func withWriteLock<Result: ~Copyable, Failure: Error>(
        timeout: TimeLimit,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let status = unsafe box.withLock { unsafe timeout.write($0) }
        if status != 0 {
            if status == ETIMEDOUT { return nil }
            stop(status, "withWriteLock")
        }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        return try body(&box.value.pointee)
    }

    /// Waits for at most `timeout`, and runs a body that writes and returns nothing. It returns true if `body` was run,
    /// else false, and the compiler warns if the result is unused. Where a Bool is expected, the compiler chooses this
    /// form and drops the result of a one-expression body.
    @inlinable
    public borrowing func withWriteLock<Failure: Error>(
        timeout: TimeLimit,
        _ body: (inout Value) throws(Failure) -> Void
    ) throws(Failure) -> Bool {
        let done: Void? = try withWriteLock(timeout: timeout, body)
        return done != nil
    }

    /// Runs `write` alone, and then `read` together with other readers. No other writer can enter in between.
    ///
    /// What `write` returns is passed to `read`. It blocks, and stops the program, as ``withWriteLock(_:)`` does. What
    /// either closure throws is rethrown.
    ///
    /// ```swift
    /// let total = totals.withWriteLock { $0.add(order) } thenRead: { totals, _ in totals.sum() }
    /// ```
    @inlinable
    public borrowing func withWriteLock<Written: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ write: (inout Value) throws(Failure) -> Written,
        thenRead read: (borrowing Value, consuming Written) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var status = unsafe box.withLock { unsafe csk_rwlock_wrlock($0) }
        if status != 0 { stop(status, "withWriteLock") }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        let written = try write(&box.value.pointee)
        status = unsafe box.withLock { unsafe csk_rwlock_downgrade($0) }
        if status != 0 { stop(status, "withWriteLock") }
        return try read(box.value.pointee, written)
    }

    // MARK: - Upgrading

    /// The right of a reader to become the writer, before all waiters.
    @frozen
    public struct Upgrade: ~Copyable {
        @usableFromInline
        let box: ReadWriteBox<Value>

        @inlinable
        init(_ box: ReadWriteBox<Value>) {
            self.box = box
        }

        /// Runs `body` alone once the other readers have left. Afterwards the thread is a reader again.
        ///
        /// The value has not changed since this thread began to read. It blocks the thread for at most `timeout`, or
        /// without a limit if there is none. On any error the thread is still a reader. `body` has not run then, unless
        /// it threw the error itself.
        ///
        /// - Throws: ``ReadWriteError/timedOut``; ``ReadWriteError/wouldDeadlock`` when another reader waits to
        ///   upgrade, when this thread has read more than once, or when (with reader bias) a writer already waits for
        ///   this reader; and what `body` throws. After `wouldDeadlock` leave the section, and write.
        @inlinable
        public borrowing func callAsFunction<Result: ~Copyable>(
            timeout: TimeLimit = .never, _ body: (inout Value) throws -> Result
        ) throws -> Result {
            let status = unsafe box.withLock { unsafe timeout.upgrade($0) }
            if status != 0 { throw ReadWriteError(status: status) }
            defer { unsafe box.withLock { unsafe csk_rwlock_downgrade($0) } }
            return try body(&box.value.pointee)
        }
    }

    @usableFromInline
    borrowing func enterReadOrStop() {
        let status = unsafe box.withLock { unsafe csk_rwlock_rdlock($0) }
        if status != 0 { stop(status, "withReadLock") }
    }

    @usableFromInline
    borrowing func stop(_ status: Int32, _ call: String) -> Never {
        if status == EDEADLK {
            fatalError("ReadWriteLock \(name): \(call) was called inside a section of the same lock by the same thread")
        }
        fatalError("ReadWriteLock \(name): \(call): \(statusText(status))")
    }

    /// The number of threads that waited at some instant during the call.
    package var waitingCount: Int { unsafe Int(box.withLock { unsafe csk_rwlock_waiting($0) }) }
}

extension ReadWriteLock {
    /// Runs `body` as a reader that may become the writer.
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
    /// `body` gets a copy, which an upgrade does not change, so the first change of a collection copies it. Where that
    /// costs too much, leave the section, and check again in ``withWriteLock(_:)``. It blocks as ``withReadLock(_:)``
    /// does. It is only for values that can be copied: any other value is borrowed, and would be changed or destroyed
    /// while the reader still uses it.
    ///
    /// - Throws: ``ReadWriteError/wouldDeadlock`` inside a write of the same thread, ``ReadWriteError/timedOut`` at the
    ///   deadline of `withDeadline`, and what `body` throws.
    @inlinable
    public borrowing func withUpgradableReadLock<Result: ~Copyable>(
        _ body: (borrowing Value, borrowing Upgrade) throws -> Result
    ) throws -> Result {
        let status = unsafe box.withLock { unsafe TimeLimit.never.read($0) }
        if status != 0 { throw ReadWriteError(status: status) }
        defer { unsafe box.withLock { unsafe csk_rwlock_unlock($0) } }
        // This copy holds its own reference to whatever the value refers to.
        let value = box.value.pointee
        return try body(value, Upgrade(box))
    }
}
