public import CSyncKernel

/// A re-entrant critical section that one thread at a time executes.
///
/// ```swift
/// let section = CriticalSection()
/// section.execute { counter += 1 }
/// let done = section.execute(timeout: .milliseconds(20)) { counter += 1 }   // false: 20 ms were not enough
/// ```
///
/// A thread that is inside may enter again. It leaves with its outermost closure, by return or by throwing. Copies
/// share the lock. Times are monotonic: a step of the wall clock changes nothing. Waiting blocks the calling thread,
/// and waiters are served by arrival. In async code use it for short sections only: the closures can't suspend. An
/// uncontended section costs one locked instruction and no allocation. Don't use it in signal handlers.
@frozen
public struct CriticalSection: @unchecked Sendable {
    @usableFromInline
    let box: OwningGateBox<Void>

    /// Makes a free section. It makes one allocation and never blocks.
    ///
    /// - Parameters:
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the section is made.
    ///   - line: the line there.
    @inlinable
    public init(name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line) {
        box = unsafe .make((), .fast, 0, .named(name, fileID, line))
    }

    /// Makes a section without a recorded place, for references to the initializer.
    @_disfavoredOverload
    @inlinable
    public init() {
        box = unsafe .make((), .fast, 0, .unknown)
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { unsafe box.name }

    /// Runs `closure` inside the section, and returns what it returns. It waits without a limit.
    ///
    /// It blocks the thread while it waits, and ignores `withDeadline`. A thread that is inside enters at once. What
    /// `closure` throws is rethrown.
    @inlinable
    public func execute<T>(_ closure: () throws -> T) rethrows -> T {
        let status = unsafe box.withGate {
            unsafe csk_gate_lock_recursive($0, CommandPriority.normal.rawValue, CSK_NEVER)
        }
        if status != 0 { stop(status) }
        defer { unsafe box.withGate { unsafe csk_gate_unlock_recursive($0) } }
        return try closure()
    }

    /// Runs `closure` inside the section, unless entering takes longer than `timeout`. In that case it returns false,
    /// and nothing was run.
    ///
    /// It blocks the thread while it waits. A timeout of zero or less tries once. A thread that is inside enters at
    /// once. It never times out early. What `closure` throws is rethrown.
    @inlinable
    public func execute(timeout: Duration, _ closure: () throws -> Void) rethrows -> Bool {
        try execute(timeout: .after(timeout), closure)
    }

    /// Runs `closure` inside the section if it can enter within a time in seconds, and returns whether it ran.
    /// `.infinity` waits for ever. NaN gives false without running the closure, and is reported to ``SyncDiagnostics``.
    @inlinable
    public func execute(timeout seconds: Double, _ closure: () throws -> Void) rethrows -> Bool {
        guard !seconds.isNaN else { return refuseNaN() }
        return try execute(timeout: TimeLimit.seconds(seconds), closure)
    }

    /// The earlier name of ``execute(timeout:_:)-(Double,_)``.
    @inlinable
    public func executeWithTimeout(_ seconds: Double, _ closure: () throws -> Void) rethrows -> Bool {
        try execute(timeout: seconds, closure)
    }

    /// Runs `closure` inside the section if it can enter within a ``TimeLimit``, and returns whether it ran. The limit
    /// may be an instant: `execute(timeout: .until(.now + .seconds(1)))`.
    @_disfavoredOverload
    @inlinable
    @inline(__always)
    public func execute(timeout: TimeLimit, _ closure: () throws -> Void) rethrows -> Bool {
        guard enter(timeout) else { return false }
        defer { unsafe box.withGate { unsafe csk_gate_unlock_recursive($0) } }
        try closure()
        return true
    }

    /// The clock is read only if the section is not available at once.
    @inlinable
    func enter(_ limit: TimeLimit) -> Bool {
        let status = unsafe box.withGate { unsafe csk_gate_enter_recursive($0) }
        if status == EBUSY {
            return unsafe box.withGate {
                unsafe csk_gate_lock_recursive_slow($0, CommandRank.of(.normal), limit.deadline())
            } == 0
        }
        if status != 0 { stop(status) }
        return true
    }

    @usableFromInline
    func refuseNaN() -> Bool {
        SyncDiagnostics.report(
            .invalidTimeout, subject: "CriticalSection \(name)", message: "a timeout of NaN was refused")
        return false
    }

    @usableFromInline
    func stop(_ status: Int32) -> Never {
        fatalError("CriticalSection \(name): \(statusText(status))")
    }

    /// The number of threads that waited at some instant during the call.
    package var waitingCount: Int { unsafe box.waitingCount }
}
