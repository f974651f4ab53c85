public import CSyncKernel

/// A value that is read without a lock, and updated by publishing a changed copy.
///
/// Use it for values that are read all the time and written now and then: configuration, routes, feature flags. Copies
/// share the value.
///
/// ```swift
/// let routes = Snapshot(["/": "index"])
/// let page = routes.read { $0["/"] }             // no lock, no waiting, no reference counted
/// routes.update { $0["/about"] = "about" }       // copies, changes the copy, publishes it
/// ```
///
/// A read sees one version of the value from beginning to end, whatever is published meanwhile. While it lasts, it
/// delays the release of all replaced versions. So keep reads short, and don't wait in them. A read that delays them
/// for a second is reported to ``SyncDiagnostics`` (`memoryWaits`). Updates run one after the other, so none is lost.
/// They wait for each other, not for readers. A reader may update, even the snapshot that it reads.
///
/// A version that was replaced is released once the reads that may have seen it are over. That is usually a few
/// milliseconds later, and happens on a thread of the library. The current version is released with the last copy of
/// the snapshot, at once, on the thread that releases that copy. When 32 768 versions of all snapshots wait for their
/// end, each further update waits for up to 10 ms, unless it is made inside a read.
///
/// Don't use it in signal handlers. `rcu.h` says what a child of `fork` may do.
@frozen
public struct Snapshot<Value: ~Copyable & Sendable>: @unchecked Sendable {
    @usableFromInline
    let box: SnapshotBox<Value>

    /// Publishes `value` as the first version. It makes two allocations.
    ///
    /// - Parameters:
    ///   - value: the first version.
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the snapshot is made.
    ///   - line: the line there.
    @inlinable
    public init(
        _ value: consuming Value, name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) {
        box = unsafe .make(.make(value), .named(name, fileID, line))
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { box.name }

    /// Runs `body` with the current value.
    ///
    /// It never blocks, allocates or counts a reference, and costs about as much as a function call. The first read on
    /// a thread registers the thread. Reads may be nested. `body` can't suspend: a read ends on the thread on which it
    /// began. What `body` throws is rethrown.
    @inlinable
    public borrowing func read<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        csk_rcu_read_lock()
        // The end of the box ends the last version at once, so the box lasts as long as the read.
        defer { withExtendedLifetime(box) { _ = csk_rcu_read_unlock() } }
        return unsafe try body(
            csk_snapshot_get(box.snapshot).unsafelyUnwrapped.assumingMemoryBound(to: Value.self).pointee)
    }

    /// Publishes `value` in place of the current value.
    ///
    /// It waits for updates in progress, not for readers. Calling it inside an update of the same snapshot stops the
    /// program with a message. It makes one allocation.
    @inlinable
    public borrowing func store(_ value: consuming Value) {
        let status = box.store(.make(value))
        if status != 0 { box.stop(status) }
    }

    /// Publishes the value that `make` derives from the current one. It is ``update(_:)`` for values that can't be
    /// copied.
    ///
    /// It waits for other updates, not for readers. When `make` throws, nothing is published, and the error is
    /// rethrown. Calling it inside an update of the same snapshot stops the program with a message.
    @inlinable
    public borrowing func replace<Failure: Error>(_ make: (borrowing Value) throws(Failure) -> Value) throws(Failure) {
        box.beginUpdateOrStop()
        do {
            unsafe box.endUpdate(.make(try make(box.updated.pointee)))
        } catch {
            box.cancelUpdate()
            throw error
        }
    }
}

extension Snapshot where Value: Copyable {
    /// Returns a copy of the current value.
    ///
    /// It never blocks. Copying counts the value's references; ``read(_:)`` counts none.
    @inlinable
    public var current: Value { read { $0 } }

    /// Copies the current value, lets `body` change the copy, and publishes the copy. It returns what `body` returns.
    ///
    /// It waits for other updates, not for readers, and returns before the old value is released. When `body` throws,
    /// nothing is published, and the error is rethrown. Calling it inside an update of the same snapshot stops the
    /// program with a message, where ``update(timeout:_:)`` throws. It makes one allocation, besides what the value's
    /// own copy costs.
    @inlinable
    @discardableResult
    public func update<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        box.beginUpdateOrStop()
        return try publish(body)
    }

    /// Publishes a changed copy of the value, and waits for other updates for at most `timeout`. A timeout of zero or
    /// less tries once.
    ///
    /// It throws ``SnapshotError/timedOut`` on timeout, and ``SnapshotError/wouldDeadlock`` inside an update of the
    /// same snapshot. In both cases `body` is not run.
    @inlinable
    @discardableResult
    public func update<Result: ~Copyable>(
        timeout: TimeLimit, _ body: (inout Value) -> Result
    ) throws(SnapshotError) -> Result {
        try box.beginUpdate(timeout)
        return publish(body)
    }

    @inlinable
    func publish<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = unsafe box.updated.pointee
        do {
            let result = try body(&copy)
            box.endUpdate(.make(copy))
            return result
        } catch {
            box.cancelUpdate()
            throw error
        }
    }
}

extension SnapshotBox where Value: ~Copyable {
    @usableFromInline
    func beginUpdateOrStop() {
        let status = beginUpdate(deadline: Deadline.never)
        if status != 0 { stop(status) }
    }

    @usableFromInline
    func beginUpdate(_ limit: TimeLimit) throws(SnapshotError) {
        var status = beginUpdate(deadline: Deadline.passed)
        if status == ETIMEDOUT { status = beginUpdate(deadline: limit.deadline()) }
        if status == 0 { return }
        guard let error = SnapshotError(SyncErrorReason(status: status)) else { stop(status) }
        throw error
    }

    @usableFromInline
    func stop(_ status: Int32) -> Never {
        if status == EDEADLK {
            fatalError("Snapshot \(name): an update was begun inside an update of the same snapshot by the same thread")
        }
        fatalError("Snapshot \(name): \(statusText(status))")
    }
}
