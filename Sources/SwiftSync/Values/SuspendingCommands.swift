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
/// They never block a thread for a turn that is not theirs. A task that is cancelled while it waits leaves the queue
/// with `.failure(.cancelled)`; one that is cancelled once it is its turn completes. Uncontended they neither suspend
/// nor allocate.
@frozen
public struct SuspendingCommands<Value>: @unchecked Sendable {
    @usableFromInline let box: ValueBox<Value>
    /// Nil: by the priority of the task that calls.
    @usableFromInline let rank: Int64?
    @usableFromInline let timeout: Duration?

    @inlinable
    init(box: ValueBox<Value>, rank: Int64?, timeout: Duration?) {
        self.box = box
        self.rank = rank
        self.timeout = timeout
    }

    /// After everything that waits.
    @inlinable public var lowestPriority: Self { Self(box: box, rank: CommandRank.back, timeout: timeout) }
    /// Before everything that waits; the last one in front.
    @inlinable public var highestPriority: Self { Self(box: box, rank: CommandRank.front, timeout: timeout) }
    /// By priority, within one by arrival.
    @inlinable public func priority(_ priority: CommandPriority) -> Self {
        Self(box: box, rank: CommandRank.of(priority), timeout: timeout)
    }
}

extension SuspendingCommands where Value: Sendable {
    /// Waits for the gate; on return the calling thread holds it, until the next suspension at the latest.
    private func enter(isolation: isolated (any Actor)?) async -> QueueSafeValueError? {
        if Task.isCancelled { return .cancelled }
        // What `box.gate` is, which would be a call in generic code.
        let gate = box.lastingHeader
        if csk_gate_enter_fast(gate) {
            if !csk_gate_has_lost_grants(gate) { return nil }
            // One of this executor's may have lost its grant, and comes first.
            leave()
        }
        let rank = rank ?? CommandRank.of(CommandPriority(Task.currentPriority))
        let deadline = Deadline.after(timeout: timeout)
        let status = await SuspendedWaiter(box, isolation: isolation).acquire(rank: rank, deadline: deadline, isolation: isolation)
        return status == 0 ? nil : QueueSafeValueError(status: status)
    }

    /// Nothing between the entry and this may change the thread: the gate would stay held for good, so better stop.
    private func leave() {
        let status = csk_gate_unlock(box.gate)
        guard status == 0 else { fatalError("QueueSafeValue: a suspending command can't leave: \(String(cString: csk_status_text(status)))") }
    }

    /// The value.
    public func get(isolation: isolated (any Actor)? = #isolation) async -> Result<Value, QueueSafeValueError> {
        await map(isolation: isolation) { $0 }
    }

    /// Runs `commandClosure` with the value, and holds it meanwhile. On failure runs it with the error, holding
    /// nothing.
    public func get(
        isolation: isolated (any Actor)? = #isolation,
        completion commandClosure: (Result<Value, QueueSafeValueError>) -> Void
    ) async {
        if let error = await enter(isolation: isolation) { return commandClosure(.failure(error)) }
        commandClosure(.success(box.value.pointee))
        leave()
    }

    /// Runs `commandClosure` with the value, and holds it until the closure's second argument is called; then the task
    /// goes on.
    public func get(
        isolation: isolated (any Actor)? = #isolation,
        manualCompletion commandClosure: (Result<Value, QueueSafeValueError>, @escaping CommandCompletionClosure) -> Void
    ) async {
        if let error = await enter(isolation: isolation) { return commandClosure(.failure(error), {}) }
        await untilCompletion(isolation: isolation) { done in commandClosure(.success(box.value.pointee), done) }
        leave()
    }

    /// Replaces the value; returns what it is now.
    @discardableResult
    public func set(isolation: isolated (any Actor)? = #isolation, newValue: Value) async -> Result<Value, QueueSafeValueError> {
        if let error = await enter(isolation: isolation) { return .failure(error) }
        let old = box.value.move()
        box.value.initialize(to: newValue)
        leave()
        withExtendedLifetime(old) {}
        return .success(newValue)
    }

    /// Runs `accessClosure` on the value; returns what it is then. Not run on failure.
    @discardableResult
    public func set(
        isolation: isolated (any Actor)? = #isolation,
        completion accessClosure: (inout Value) -> Void
    ) async -> Result<Value, QueueSafeValueError> {
        if let error = await enter(isolation: isolation) { return .failure(error) }
        accessClosure(&box.value.pointee)
        let updated = box.value.pointee
        leave()
        return .success(updated)
    }

    /// Runs `accessClosure` on the value and holds the section until the closure's second argument is called, from
    /// whatever thread; returns what the value is then. `inout` access itself ends with the closure. Not run on
    /// failure.
    @discardableResult
    public func set(
        isolation: isolated (any Actor)? = #isolation,
        manualCompletion accessClosure: (inout Value, @escaping CommandCompletionClosure) -> Void
    ) async -> Result<Value, QueueSafeValueError> {
        if let error = await enter(isolation: isolation) { return .failure(error) }
        await untilCompletion(isolation: isolation) { done in accessClosure(&box.value.pointee, done) }
        let updated = box.value.pointee
        leave()
        return .success(updated)
    }

    /// What `commandClosure` makes of the value. Not run on failure.
    public func map<MappedValue>(
        isolation: isolated (any Actor)? = #isolation,
        completion commandClosure: (Value) -> MappedValue
    ) async -> Result<MappedValue, QueueSafeValueError> {
        if let error = await enter(isolation: isolation) { return .failure(error) }
        let mapped = commandClosure(box.value.pointee)
        leave()
        return .success(mapped)
    }

    /// The task may go on on another thread, so the gate is nobody's in particular meanwhile.
    private func untilCompletion(isolation: isolated (any Actor)?, _ body: (@escaping CommandCompletionClosure) -> Void) async {
        let end = SectionEnd()
        let waiting = ContinuationSlot()
        body(ManualCompletion.closure { if end.isSecond() { waiting.resume() } })
        csk_gate_disown(box.gate)
        await withUnsafeContinuation { continuation in
            waiting.continuation = continuation
            if end.isSecond() { continuation.resume() }
        }
    }
}

/// Hands a continuation to whoever comes second; ``SectionEnd`` orders the two.
private final class ContinuationSlot: @unchecked Sendable {
    var continuation: UnsafeContinuation<Void, Never>?

    func resume() {
        continuation?.resume()
    }
}
