import CSyncKernel

/// Commands that suspend the calling task until they are done. Their closures are synchronous and run on the task's own
/// executor.
///
/// ```swift
/// let value = QueueSafeValue(value: 1)
/// await value.suspending.highestPriority.set { $0 += 1 }
/// let result = await value.suspending(timeout: .milliseconds(5)).get()    // .failure(.timedOut) after 5 ms
/// ```
///
/// Without a named priority a command has that of `withPriority`, or of the task, which moves up where it is escalated
/// while it waits. They never block a thread before their turn. A task that is cancelled while it waits leaves the
/// queue with `.failure(.cancelled)`, and `withDeadline` bounds the wait. A task that is cancelled after its turn has
/// come completes, unless it had lost the turn before it was started: to a task that was running, or after 1 ms or more
/// to others. Then it gets `.failure(.cancelled)` too. Uncontended commands neither suspend nor allocate.
@frozen
public struct SuspendingCommands<Value>: CommandSchedule, @unchecked Sendable {
    @usableFromInline let box: ValueBox<Value>
    /// Nil means the priority of the request, or of the calling task.
    @usableFromInline let rank: Int64?
    @usableFromInline let limit: TimeLimit

    @inlinable
    init(box: ValueBox<Value>, rank: Int64?, limit: TimeLimit) {
        self.box = box
        self.rank = rank
        self.limit = limit
    }

    @inlinable @inline(__always)
    public func _commands(rank: Int64) -> SuspendingCommands { Self(box: box, rank: rank, limit: limit) }
}

extension SuspendingCommands where Value: Sendable {
    /// Waits for the gate. On return the calling thread holds it, until the next suspension at the latest.
    private func enter() async -> QueueSafeValueError? {
        if Task.isCancelledByOthers { return .cancelled }
        if box.enterFast() && box.mayStay() { return nil }
        let deadline = limit.deadline()
        if unsafe SuspendedWaiter.enterAtOnce(box.gate, of: box, rank: rank, isolation: #isolation) { return nil }
        let status = unsafe await SuspendedWaiter(box.gate, of: box, isolation: #isolation).acquire(
            rank: rank, deadline: deadline)
        return status == 0 ? nil : QueueSafeValueError(status: status)
    }

    /// Runs `body`, whose section begins in its turn.
    @inline(__always)
    private func inTurn<Result>(_ body: () -> Result) async -> Swift.Result<Result, QueueSafeValueError> {
        if let error = await enter() { return .failure(error) }
        let result = body()
        box.leaveSuspended()
        return .success(result)
    }

    /// Returns the value.
    public func get() async -> Result<Value, QueueSafeValueError> {
        await inTurn { box.value.pointee }
    }

    /// Runs `commandClosure` with the value, and holds the value until it returns. On failure it runs `commandClosure`
    /// with the error, and holds nothing.
    public func get(
        completion commandClosure: (Result<Value, QueueSafeValueError>) -> Void
    ) async {
        if let error = await enter() { return commandClosure(.failure(error)) }
        commandClosure(.success(box.value.pointee))
        box.leaveSuspended()
    }

    /// Runs `commandClosure` with the value, and holds the value until the closure's second argument is called. Then
    /// the task continues.
    public func get(
        manualCompletion commandClosure: (Result<Value, QueueSafeValueError>, @escaping CommandCompletionClosure) ->
            Void
    ) async {
        if let error = await enter() { return commandClosure(.failure(error), {}) }
        await untilCompletion() { done in commandClosure(.success(box.value.pointee), done) }
        box.leaveSuspended()
    }

    /// Replaces the value, and returns the new one.
    @discardableResult
    public func set(
        newValue: Value
    ) async -> Result<Value, QueueSafeValueError> {
        // The old value is released outside of the section.
        await inTurn {
            let old = unsafe box.value.move()
            unsafe box.value.initialize(to: newValue)
            return old
        }.map { _ in newValue }
    }

    /// Runs `accessClosure` on the value, and returns the value that it leaves. On failure the closure does not run.
    @discardableResult
    public func set(
        completion accessClosure: (inout Value) -> Void
    ) async -> Result<Value, QueueSafeValueError> {
        await inTurn {
            accessClosure(&box.value.pointee)
            return box.value.pointee
        }
    }

    /// Runs `accessClosure` on the value, and holds the section until the closure's second argument is called. Any
    /// thread may call it. Then it returns the value of that moment. The `inout` access itself ends when
    /// `accessClosure` returns. On failure `accessClosure` does not run.
    @discardableResult
    public func set(
        manualCompletion accessClosure: (inout Value, @escaping CommandCompletionClosure) -> Void
    ) async -> Result<Value, QueueSafeValueError> {
        if let error = await enter() { return .failure(error) }
        await untilCompletion() { done in accessClosure(&box.value.pointee, done) }
        let updated = box.value.pointee
        box.leaveSuspended()
        return .success(updated)
    }

    /// Returns what `commandClosure` makes of the value. On failure the closure does not run.
    public func map<MappedValue>(
        completion commandClosure: (Value) -> MappedValue
    ) async -> Result<MappedValue, QueueSafeValueError> {
        await inTurn { commandClosure(box.value.pointee) }
    }

    /// The task may continue on another thread, so no particular thread holds the gate meanwhile.
    private func untilCompletion(
        _ body: (@escaping CommandCompletionClosure) -> Void
    ) async {
        let end = SectionEnd()
        let waiting = ContinuationSlot()
        body(
            unsafe box.withGate {
                unsafe ManualCompletion.closure(at: $0) { if end.isSecond() { waiting.resume() } }
            })
        unsafe box.withGate { unsafe csk_gate_disown($0) }
        unsafe await withUnsafeContinuation { continuation in
            waiting.continuation = unsafe continuation
            if end.isSecond() { unsafe continuation.resume() }
        }
    }
}

/// Passes a continuation to the side that comes second. ``SectionEnd`` orders the two.
@safe
private final class ContinuationSlot: @unchecked Sendable {
    @safe var continuation: UnsafeContinuation<Void, Never>?

    func resume() {
        unsafe continuation?.resume()
    }
}
