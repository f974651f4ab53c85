public import Dispatch

/// A value behind a queue of commands, ordered by priority: `value.{schedule}.{priority}.{command}`.
///
/// ```swift
/// let hits = QueueSafeValue(value: 0)
/// hits.wait.lowestPriority.set { $0 += 1 }                                   // blocks the caller until it is done
/// hits.async(performIn: .global()).highestPriority.set { $0 += 1 }           // returns at once
/// let now = await hits.suspending.priority(.high).get()                      // suspends the task
/// let soon = hits.wait(timeout: .milliseconds(5)).highestPriority.get()      // .failure(.timedOut) after 5 ms
/// ```
///
/// Commands of all schedules wait in one order. Commands of `highestPriority` come first, the one issued last before
/// the others. Then come those of `.priority(_:)`, from high to low, and within one priority by arrival. Those of
/// `lowestPriority` come last, by arrival.
///
/// A command issued by the thread that is inside a command on the same value gives `.failure(.wouldDeadlock)`. Commands
/// keep the value's box alive, not its owner. Once the owner is gone, commands already accepted succeed, and later ones
/// give `.failure(.valueContainerDeinited)`. An uncontended sync command costs one locked instruction and no
/// allocation.
public final class QueueSafeValue<Value>: @unchecked Sendable {
    @usableFromInline
    let box: ValueBox<Value>

    /// Protects `value`. It makes one allocation for value and lock, and never blocks.
    ///
    /// - Parameters:
    ///   - value: what is protected. It is sent in.
    ///   - policy: what happens under contention; see ``GatePolicy``.
    ///   - bypassLimit: a command that this many later ones have overtaken goes next. 0 means strict priority; nil
    ///     means a limit of 64 for the commands of ``suspending`` that name no priority.
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the value is made.
    ///   - line: the line there.
    @inlinable
    public init(
        value: sending Value, policy: GatePolicy = .fast, bypassLimit: UInt32? = nil, name: String? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        box = unsafe .make(value, policy, bypassLimit, .named(name, fileID, line))
    }

    /// Protects `value` without recording a place, for references to the initializer:
    /// `values.map(QueueSafeValue.init(value:))`.
    @_disfavoredOverload
    @inlinable
    public init(value: Value) where Value: Sendable {
        box = unsafe .make(value, .fast, nil, .unknown)
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { box.name }

    /// Sets the grace within which a queue or executor must begin what it was granted; otherwise it is 1 ms. It is
    /// meant for tests of order on a busy machine.
    package init(value: sending Value, graceMicroseconds: UInt32, bypassLimit: UInt32? = nil) {
        box = unsafe .make(value, .fast, bypassLimit, graceMicroseconds: graceMicroseconds, .unknown)
    }

    deinit {
        box.close()
    }

    /// The commands of ``wait`` that wait for at most `timeout`, and then give `.failure(.timedOut)`. A timeout of zero
    /// or less tries once.
    @inlinable
    public func wait(timeout: TimeLimit) -> SyncSchedule<Value> {
        SyncSchedule(box: box, limit: timeout)
    }

    /// Commands that return at once, and run their closures on `queue`. They occupy no thread while they wait, and
    /// ignore `withDeadline`.
    ///
    /// - Parameters:
    ///   - queue: where the closures run. It may be busy or serial, and it may differ from one command to the next.
    ///   - timeout: how long the command may wait for its turn before it gives `.failure(.timedOut)`.
    @inlinable
    public func async(performIn queue: DispatchQueue, timeout: TimeLimit = .never) -> AsyncSchedule<Value> {
        AsyncSchedule(box: box, queue: queue, limit: timeout)
    }

    /// Commands that are performed on the global queue of a quality of service.
    @inlinable
    public func async(performIn qos: DispatchQoS.QoSClass, timeout: TimeLimit = .never) -> AsyncSchedule<Value> {
        AsyncSchedule(box: box, queue: .global(qos: qos), limit: timeout)
    }

    /// Commands that suspend the calling task until they are done. Cancelling a task that waits gives
    /// `.failure(.cancelled)`.
    ///
    /// Commands without a named priority wait at that of `withPriority`, or at the priority of the task.
    @inlinable
    public var suspending: SuspendingCommands<Value> {
        SuspendingCommands(box: box, rank: nil, limit: .never)
    }

    /// Commands for tasks that wait for at most `timeout`, and then give `.failure(.timedOut)`.
    @inlinable
    public func suspending(timeout: TimeLimit) -> SuspendingCommands<Value> {
        SuspendingCommands(box: box, rank: nil, limit: timeout)
    }

    /// The number of commands, of every schedule, that waited for their turn at some instant during the call.
    package var waitingCount: Int { box.waitingCount }
}

/// A ``QueueSafeValue`` all of whose commands block: `value.{priority}.{command}`.
///
/// ```swift
/// let names = QueueSafeSyncedValue(value: ["a"])
/// names.lowestPriority.set { $0.append("b") }
/// let count = names.timeout(.milliseconds(5)).highestPriority.map { $0.count }    // .failure(.timedOut) after 5 ms
/// ```
///
/// See ``SyncCommands`` for what they do and where they may be called.
public final class QueueSafeSyncedValue<Value>: CommandSchedule, @unchecked Sendable {
    @usableFromInline
    let box: ValueBox<Value>

    @inlinable @inline(__always)
    public func _commands(rank: Int64) -> SyncCommands<Value> { SyncCommands(box: box, rank: rank, limit: .never) }

    /// Protects `value`, under a name that is copied for messages and reports. It never blocks.
    @inlinable
    public init(value: sending Value, name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line) {
        box = unsafe .make(value, .fast, nil, .named(name, fileID, line))
    }

    /// Protects `value` without recording a place, for references to the initializer.
    @_disfavoredOverload
    @inlinable
    public init(value: Value) where Value: Sendable {
        box = unsafe .make(value, .fast, nil, .unknown)
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { box.name }

    deinit {
        box.close()
    }

    /// Commands that wait for at most `timeout`, and then give `.failure(.timedOut)`. A timeout of zero or less tries
    /// once.
    @inlinable public func timeout(_ timeout: TimeLimit) -> SyncSchedule<Value> {
        SyncSchedule(box: box, limit: timeout)
    }
}

/// A ``QueueSafeValue`` all of whose commands are performed on one queue: `value.{priority}.{command}`.
///
/// ```swift
/// let names = QueueSafeAsyncedValue(value: ["a"], queue: .global(qos: .utility))
/// names.lowestPriority.set { $0.append("b") }
/// names.highestPriority.get { result in print(result) }
/// ```
///
/// See ``AsyncCommands`` for what they do and where they may be called.
public final class QueueSafeAsyncedValue<Value>: CommandSchedule, @unchecked Sendable {
    @usableFromInline
    let value: QueueSafeValue<Value>
    @usableFromInline
    let queue: DispatchQueue

    /// Protects `value`, whose commands are performed on `queue`, under a name that is copied for messages and reports.
    /// It never blocks.
    @inlinable
    public init(
        value: sending Value, queue: DispatchQueue, name: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.value = QueueSafeValue(value: value, name: name, fileID: fileID, line: line)
        self.queue = queue
    }

    /// Protects `value` without recording a place, for references to the initializer.
    @_disfavoredOverload
    @inlinable
    public init(value: Value, queue: DispatchQueue) where Value: Sendable {
        self.value = QueueSafeValue<Value>.init(value:)(value)
        self.queue = queue
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { value.name }

    @inlinable @inline(__always)
    public func _commands(rank: Int64) -> AsyncCommands<Value> { value.async(performIn: queue)._commands(rank: rank) }

    /// Commands that wait for at most `timeout`, and then give `.failure(.timedOut)`. A timeout of zero or less tries
    /// once.
    @inlinable public func timeout(_ timeout: TimeLimit) -> AsyncSchedule<Value> {
        value.async(performIn: queue, timeout: timeout)
    }
}
