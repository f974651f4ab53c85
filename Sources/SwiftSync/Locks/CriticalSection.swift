public import CSyncKernel

/// A re-entrant section that one thread at a time executes.
///
/// ```swift
/// let section = CriticalSection()
/// section.execute { counter += 1 }
/// let done = section.execute(timeout: .milliseconds(20)) { counter += 1 }   // false: 20 ms were not enough
/// ```
///
/// A thread that is inside may enter again; it leaves with its outermost closure, by return or by throwing. Copies
/// share the lock. Times are monotonic: a step of the wall clock changes nothing. Waiting blocks the calling thread;
/// waiters are served by arrival. From async code use it for short sections only; the closures can't suspend.
/// Uncontended it costs one locked instruction and no allocation. Not for signal handlers.
@frozen
public struct CriticalSection: @unchecked Sendable {
    @usableFromInline
    let box: OwningGateBox<Void>

    /// Makes a section that nobody is in. One allocation; never blocks.
    @inlinable
    public init() {
        box = .make((), .fast, 0)
    }

    /// Runs `closure` inside the section, waiting for as long as it takes, and returns what it returns.
    ///
    /// Blocks the thread while it waits; a thread that is inside enters at once. What `closure` throws is rethrown.
    @inlinable
    public func execute<T>(_ closure: () throws -> T) rethrows -> T {
        let status = csk_gate_lock_recursive(box.gate, CommandPriority.normal.rawValue, CSK_NEVER)
        if status != 0 { stop(status) }
        defer { csk_gate_unlock_recursive(box.gate) }
        return try closure()
    }

    /// Runs `closure` inside the section unless entering takes longer than `timeout`: false then, and nothing was run.
    ///
    /// Blocks the thread while it waits; zero or less tries once. A thread that is inside enters at once. Never early.
    /// What `closure` throws is rethrown.
    @inlinable
    public func execute(timeout: Duration, _ closure: () throws -> Void) rethrows -> Bool {
        guard enter(deadline: { Deadline.after(timeout) }) else { return false }
        defer { csk_gate_unlock_recursive(box.gate) }
        try closure()
        return true
    }

    /// The same with seconds: `.infinity` waits for ever; NaN gives false without running the closure, and is reported
    /// to ``SyncDiagnostics``.
    @inlinable
    public func execute(timeout seconds: Double, _ closure: () throws -> Void) rethrows -> Bool {
        guard !seconds.isNaN else { return refuseNaN() }
        guard enter(deadline: { Deadline.after(seconds: seconds) ?? Deadline.passed }) else { return false }
        defer { csk_gate_unlock_recursive(box.gate) }
        try closure()
        return true
    }

    /// The earlier name of ``execute(timeout:_:)-(Double,_)``.
    @inlinable
    public func executeWithTimeout(_ seconds: Double, _ closure: () throws -> Void) rethrows -> Bool {
        try execute(timeout: seconds, closure)
    }

    /// The clock is read only when the section can't be had at once.
    @inlinable
    func enter(deadline: () -> Int64) -> Bool {
        let status = csk_gate_enter_recursive(box.gate)
        if status == EBUSY { return csk_gate_lock_recursive_slow(box.gate, CommandRank.of(.normal), deadline()) == 0 }
        if status != 0 { stop(status) }
        return true
    }

    @usableFromInline
    func refuseNaN() -> Bool {
        SyncDiagnostics.report(.invalidTimeout, subject: "CriticalSection", message: "a timeout of NaN was refused")
        return false
    }

    @usableFromInline
    func stop(_ status: Int32) -> Never {
        fatalError("CriticalSection: \(String(cString: csk_status_text(status)))")
    }

    /// Threads that wait, at some instant during the call.
    package var waitingCount: Int { box.waitingCount }
}
