import CSyncKernel
import Dispatch

/// Selects the priority of commands that block the caller.
///
/// ```swift
/// let value = QueueSafeValue(value: 1)
/// value.wait.highestPriority.set { $0 += 1 }
/// let result = value.wait(timeout: .milliseconds(5)).priority(.low).get()    // .failure(.timedOut) after 5 ms
/// ```
///
/// A schedule may be kept, and may be used from any thread.
///
/// Only the box and the time limit are stored. The optimizer knows the rest at the call site, and an uncontended
/// command reads none of it.
@frozen
public struct SyncSchedule<Value>: CommandSchedule, @unchecked Sendable {
    @usableFromInline let box: ValueBox<Value>
    @usableFromInline let limit: TimeLimit

    @inlinable
    init(box: ValueBox<Value>, limit: TimeLimit) {
        self.box = box
        self.limit = limit
    }

    @inlinable @inline(__always)
    public func _commands(rank: Int64) -> SyncCommands<Value> { SyncCommands(box: box, rank: rank, limit: limit) }
}

/// Commands that block the calling thread until they are done, and run their closures on it.
///
/// ```swift
/// let value = QueueSafeValue(value: [1])
/// let updated = value.wait.lowestPriority.set { $0.append(2) }    // .success([1, 2])
/// let count = value.wait.lowestPriority.map { $0.count }          // .success(2)
/// ```
///
/// A command may block while other commands are inside or ahead of it, so use ``QueueSafeValue/suspending`` in async
/// code. Don't call commands from signal handlers. An uncontended command costs one locked instruction. Waiting is
/// O(log n) amortized when n commands wait.
///
/// A command fails with `.timedOut` where the schedule has a timeout or `withDeadline` bounds it, and with
/// `.valueContainerDeinited` once the value's owner is gone. A command from inside a command on the same value, by the
/// same thread, fails with `.wouldDeadlock`.
@frozen
public struct SyncCommands<Value>: @unchecked Sendable {
    @usableFromInline let box: ValueBox<Value>
    @usableFromInline let rank: Int64
    @usableFromInline let limit: TimeLimit

    @inlinable
    init(box: ValueBox<Value>, rank: Int64, limit: TimeLimit) {
        self.box = box
        self.rank = rank
        self.limit = limit
    }
}

extension SyncCommands where Value: Sendable {
    /// Returns the value.
    @inlinable @_disfavoredOverload
    public func get() -> Result<Value, QueueSafeValueError> {
        if !box.enterFast(), let error = enterSlowly() { return .failure(error) }
        defer { box.leave() }
        return .success(box.value.pointee)
    }

    /// Runs `commandClosure` with the value, and holds the value until it returns. On failure it runs `commandClosure`
    /// with the error, and holds nothing.
    @inlinable @_disfavoredOverload
    public func get(completion commandClosure: (Result<Value, QueueSafeValueError>) -> Void) {
        if !box.enterFast(), let error = enterSlowly() { return commandClosure(.failure(error)) }
        defer { box.leave() }
        commandClosure(.success(box.value.pointee))
    }

    /// Runs an optional closure with the value. A nil closure does nothing.
    @inlinable @_disfavoredOverload
    public func get(completion commandClosure: ((Result<Value, QueueSafeValueError>) -> Void)?) {
        if let commandClosure { get(completion: commandClosure) }
    }

    /// Runs `commandClosure` with the value, holds the value until the closure's second argument is called, and then
    /// returns. Any thread may call it. On failure `commandClosure` runs with the error, and there is nothing to
    /// complete.
    public func get(
        manualCompletion commandClosure: (Result<Value, QueueSafeValueError>, @escaping CommandCompletionClosure) ->
            Void
    ) {
        if !box.enterFast(), let error = enterSlowly() {
            return commandClosure(.failure(error), {})
        }
        defer { box.leave() }
        waitForCompletion { done in commandClosure(.success(box.value.pointee), done) }
    }

    /// Runs an optional closure with the value, and waits until it calls `done`. A nil closure completes at once.
    public func get(
        manualCompletion commandClosure: (
            (Result<Value, QueueSafeValueError>, @escaping CommandCompletionClosure) -> Void
        )?
    ) {
        if let commandClosure { get(manualCompletion: commandClosure) }
    }

    /// Replaces the value, and returns the new one.
    @inlinable @discardableResult @_disfavoredOverload
    public func set(newValue: Value) -> Result<Value, QueueSafeValueError> {
        if !box.enterFast(), let error = enterSlowly() { return .failure(error) }
        // The deinit of the old value may run code of its users. That code must not run inside the section.
        let old = unsafe box.value.move()
        unsafe box.value.initialize(to: newValue)
        box.leave()
        withExtendedLifetime(old) {}
        return .success(newValue)
    }

    /// Runs `accessClosure` on the value, and returns the value that it leaves. On failure the closure does not run.
    @inlinable @discardableResult @_disfavoredOverload
    public func set(completion accessClosure: (inout Value) -> Void) -> Result<Value, QueueSafeValueError> {
        if !box.enterFast(), let error = enterSlowly() { return .failure(error) }
        defer { box.leave() }
        accessClosure(&box.value.pointee)
        return .success(box.value.pointee)
    }

    /// Runs an optional closure on the value. A nil closure succeeds with the value unchanged.
    @inlinable @discardableResult @_disfavoredOverload
    public func set(completion accessClosure: ((inout Value) -> Void)?) -> Result<Value, QueueSafeValueError> {
        if let accessClosure { set(completion: accessClosure) } else { get() }
    }

    /// Runs `accessClosure` on the value, holds the section until the closure's second argument is called, and then
    /// returns the value of that moment. Any thread may call it. The `inout` access itself ends when `accessClosure`
    /// returns. On failure `accessClosure` does not run.
    @discardableResult
    public func set(
        manualCompletion accessClosure: (inout Value, @escaping CommandCompletionClosure) -> Void
    ) -> Result<Value, QueueSafeValueError> {
        if !box.enterFast(), let error = enterSlowly() { return .failure(error) }
        defer { box.leave() }
        waitForCompletion { done in accessClosure(&box.value.pointee, done) }
        return .success(box.value.pointee)
    }

    /// Runs an optional closure on the value, and waits until it calls `done`. A nil closure completes at once.
    @discardableResult
    public func set(
        manualCompletion accessClosure: ((inout Value, @escaping CommandCompletionClosure) -> Void)?
    ) -> Result<Value, QueueSafeValueError> {
        if let accessClosure { set(manualCompletion: accessClosure) } else { get() }
    }

    /// Returns what `commandClosure` makes of the value. On failure the closure does not run.
    @inlinable @_disfavoredOverload
    public func map<MappedValue>(
        completion commandClosure: (Value) -> MappedValue
    ) -> Result<MappedValue, QueueSafeValueError> {
        if !box.enterFast(), let error = enterSlowly() { return .failure(error) }
        defer { box.leave() }
        return .success(commandClosure(box.value.pointee))
    }

    /// Returns what an optional closure makes of the value. A nil closure gives `.failure(.commandClosureDeallocated)`.
    @inlinable @_disfavoredOverload
    public func map<MappedValue>(
        completion commandClosure: ((Value) -> MappedValue)?
    ) -> Result<MappedValue, QueueSafeValueError> {
        if let commandClosure { map(completion: commandClosure) } else { .failure(.commandClosureDeallocated) }
    }

    /// The slow path of the entry, after its inline part has failed. It returns nil if the section was entered after
    /// all.
    @usableFromInline
    func enterSlowly() -> QueueSafeValueError? {
        let status = box.enterSlowly(rank: rank, within: limit)
        return status == 0 ? nil : QueueSafeValueError(status: status)
    }

    private func waitForCompletion(_ body: (@escaping CommandCompletionClosure) -> Void) {
        let completed = DispatchSemaphore(value: 0)
        body(unsafe box.withGate { unsafe ManualCompletion.closure(at: $0) { completed.signal() } })
        completed.wait()
    }
}
