public import CSyncKernel
import Dispatch

/// The priorities of commands that block the caller.
///
/// ```swift
/// let value = QueueSafeValue(value: 1)
/// value.wait.highestPriority.set { $0 += 1 }
/// let result = value.wait(timeout: .milliseconds(5)).priority(.low).get()    // .failure(.timedOut) after 5 ms
/// ```
///
/// Choosing a priority never blocks, and a schedule may be kept and used from any thread.
///
/// The named ones are stored, so that the value's own schedule is read in place: a computed one would retain and
/// release the box at each command, which costs as much as the lock.
@frozen
public struct SyncSchedule<Value>: @unchecked Sendable {
    /// After everything that waits.
    public let lowestPriority: SyncCommands<Value>
    /// Before everything that waits; the last one in front.
    public let highestPriority: SyncCommands<Value>

    @inlinable
    init(box: ValueBox<Value>, timeout: Duration?) {
        lowestPriority = SyncCommands(box: box, rank: CommandRank.back, timeout: timeout)
        highestPriority = SyncCommands(box: box, rank: CommandRank.front, timeout: timeout)
    }

    /// By priority, within one by arrival.
    @inlinable public func priority(_ priority: CommandPriority) -> SyncCommands<Value> {
        SyncCommands(box: lowestPriority.box, rank: CommandRank.of(priority), timeout: lowestPriority.timeout)
    }
}

/// Commands that block the calling thread until they are done, and run their closures on it.
///
/// ```swift
/// let value = QueueSafeValue(value: [1])
/// let updated = value.wait.lowestPriority.set { $0.append(2) }    // .success([1, 2])
/// let count = value.wait.lowestPriority.map { $0.count }          // .success(2)
/// ```
///
/// Each may block for as long as others are inside or stand before it, so from async code use
/// ``QueueSafeValue/suspending``; none is for signal handlers. Uncontended a command costs one locked instruction; with
/// n that wait, waiting is O(log n) amortized.
///
/// Failures: `.timedOut` where the schedule has a timeout, `.valueContainerDeinited` once the value's owner is gone. A
/// command from inside a command on the same value, by the same thread, fails with `.wouldDeadlock`.
@frozen
public struct SyncCommands<Value>: @unchecked Sendable {
    @usableFromInline let box: ValueBox<Value>
    @usableFromInline let rank: Int64
    @usableFromInline let timeout: Duration?

    @inlinable
    init(box: ValueBox<Value>, rank: Int64, timeout: Duration?) {
        self.box = box
        self.rank = rank
        self.timeout = timeout
    }
}

extension SyncCommands where Value: Sendable {
    /// The value.
    @inlinable
    public func get() -> Result<Value, QueueSafeValueError> {
        if !csk_gate_enter_fast(box.gate), let error = enterSlowly() { return .failure(error) }
        defer { csk_gate_unlock(box.gate) }
        return .success(box.value.pointee)
    }

    /// Runs `commandClosure` with the value, and holds it meanwhile. On failure runs it with the error, holding
    /// nothing.
    @inlinable
    public func get(completion commandClosure: (Result<Value, QueueSafeValueError>) -> Void) {
        if !csk_gate_enter_fast(box.gate), let error = enterSlowly() { return commandClosure(.failure(error)) }
        defer { csk_gate_unlock(box.gate) }
        commandClosure(.success(box.value.pointee))
    }

    /// The same for an optional closure; nil does nothing.
    @inlinable
    public func get(completion commandClosure: ((Result<Value, QueueSafeValueError>) -> Void)?) {
        if let commandClosure { get(completion: commandClosure) }
    }

    /// Runs `commandClosure` with the value, holds it until the closure's second argument is called, from whatever
    /// thread, and then returns. On failure runs it with the error; there is nothing to complete then.
    public func get(manualCompletion commandClosure: (Result<Value, QueueSafeValueError>, @escaping CommandCompletionClosure) -> Void) {
        if !csk_gate_enter_fast(box.gate), let error = enterSlowly() { return commandClosure(.failure(error), {}) }
        defer { csk_gate_unlock(box.gate) }
        waitForCompletion { done in commandClosure(.success(box.value.pointee), done) }
    }

    /// The same for an optional closure; nil completes at once.
    public func get(manualCompletion commandClosure: ((Result<Value, QueueSafeValueError>, @escaping CommandCompletionClosure) -> Void)?) {
        if let commandClosure { get(manualCompletion: commandClosure) }
    }

    /// Replaces the value; returns what it is now.
    @inlinable @discardableResult
    public func set(newValue: Value) -> Result<Value, QueueSafeValueError> {
        if !csk_gate_enter_fast(box.gate), let error = enterSlowly() { return .failure(error) }
        // The old value's end may run code of its users, which must not find itself inside the section.
        let old = box.value.move()
        box.value.initialize(to: newValue)
        csk_gate_unlock(box.gate)
        withExtendedLifetime(old) {}
        return .success(newValue)
    }

    /// Runs `accessClosure` on the value; returns what it is then. Not run on failure.
    @inlinable @discardableResult
    public func set(completion accessClosure: (inout Value) -> Void) -> Result<Value, QueueSafeValueError> {
        if !csk_gate_enter_fast(box.gate), let error = enterSlowly() { return .failure(error) }
        defer { csk_gate_unlock(box.gate) }
        accessClosure(&box.value.pointee)
        return .success(box.value.pointee)
    }

    /// The same for an optional closure; nil succeeds with the value unchanged.
    @inlinable @discardableResult
    public func set(completion accessClosure: ((inout Value) -> Void)?) -> Result<Value, QueueSafeValueError> {
        if let accessClosure { set(completion: accessClosure) } else { get() }
    }

    /// Runs `accessClosure` on the value, holds the section until the closure's second argument is called, from
    /// whatever thread, and then returns what the value is. `inout` access itself ends with the closure. Not run on
    /// failure.
    @discardableResult
    public func set(
        manualCompletion accessClosure: (inout Value, @escaping CommandCompletionClosure) -> Void
    ) -> Result<Value, QueueSafeValueError> {
        if !csk_gate_enter_fast(box.gate), let error = enterSlowly() { return .failure(error) }
        defer { csk_gate_unlock(box.gate) }
        waitForCompletion { done in accessClosure(&box.value.pointee, done) }
        return .success(box.value.pointee)
    }

    /// The same for an optional closure; nil completes at once.
    @discardableResult
    public func set(
        manualCompletion accessClosure: ((inout Value, @escaping CommandCompletionClosure) -> Void)?
    ) -> Result<Value, QueueSafeValueError> {
        if let accessClosure { set(manualCompletion: accessClosure) } else { get() }
    }

    /// What `commandClosure` makes of the value. Not run on failure.
    @inlinable
    public func map<MappedValue>(completion commandClosure: (Value) -> MappedValue) -> Result<MappedValue, QueueSafeValueError> {
        if !csk_gate_enter_fast(box.gate), let error = enterSlowly() { return .failure(error) }
        defer { csk_gate_unlock(box.gate) }
        return .success(commandClosure(box.value.pointee))
    }

    /// The same for an optional closure; nil gives `.failure(.commandClosureDeallocated)`.
    @inlinable
    public func map<MappedValue>(completion commandClosure: ((Value) -> MappedValue)?) -> Result<MappedValue, QueueSafeValueError> {
        if let commandClosure { map(completion: commandClosure) } else { .failure(.commandClosureDeallocated) }
    }

    /// What is left when the inline entry fails: nil when the section was entered after all.
    @usableFromInline
    func enterSlowly() -> QueueSafeValueError? {
        let status = box.enterSlowly(rank: rank, timeout: timeout)
        return status == 0 ? nil : QueueSafeValueError(status: status)
    }

    private func waitForCompletion(_ body: (@escaping CommandCompletionClosure) -> Void) {
        let completed = DispatchSemaphore(value: 0)
        body(ManualCompletion.closure { completed.signal() })
        completed.wait()
    }
}
