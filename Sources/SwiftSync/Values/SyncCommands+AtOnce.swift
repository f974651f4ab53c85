// `value.wait` has two forms, and the compiler chooses by what follows.
//
// - Where a command follows at once, as in `value.wait.lowestPriority.set { … }`, it chooses the class's own form,
//   whose schedule refers to the owner. The caller holds that reference already, so the call retains and releases
//   nothing; counting would take 26 instructions to 75.
// - Where the schedule, its commands or one of their functions are kept, it chooses the form of `_ValueOwning`, which
//   is a `SyncSchedule`. That form keeps the value's box, not the owner.
//
// A protocol that requires `wait` names its type, `SyncSchedule<Value>`; an inferred type would be the first form's.
//
// Neither form keeps the owner alive. The value of a temporary, as in `makeValue().wait.lowestPriority.get()`, may be
// gone before the command begins, which then fails with `valueContainerDeinited`: keep the owner in a variable.
// `@_eagerMove` allows the first form's structs to be released before the end of their scope.

extension QueueSafeValue {
    /// The commands of ``SyncSchedule``, for a call that follows at once.
    @_disfavoredOverload
    @inlinable
    @inline(__always)
    public var wait: SyncSchedule<Value>.AtOnce {
        SyncSchedule.AtOnce(owner: self)
    }
}

/// Gives ``QueueSafeValue`` the `wait` that can be kept. No other type conforms to it.
public protocol _ValueOwning<Value>: AnyObject {
    associatedtype Value

    /// The owner itself, by the name of its class.
    var _owner: QueueSafeValue<Value> { get }
}

extension _ValueOwning {
    /// Commands that block the calling thread until they are done, and run their closures on it.
    @inlinable
    public var wait: SyncSchedule<Value> { SyncSchedule(box: _owner.box, limit: .never) }
}

extension QueueSafeValue: _ValueOwning {
    @inlinable
    public var _owner: QueueSafeValue<Value> { self }
}

extension SyncSchedule {
    /// A ``SyncSchedule`` for a call that follows at once: see ``QueueSafeValue/wait``.
    @frozen
    @_eagerMove
    public struct AtOnce: CommandSchedule, @unchecked Sendable {
        @usableFromInline let owner: QueueSafeValue<Value>

        @inlinable
        init(owner: QueueSafeValue<Value>) {
            self.owner = owner
        }

        @inlinable @inline(__always)
        public func _commands(rank: Int64) -> SyncCommands<Value>.AtOnce {
            SyncCommands.AtOnce(owner: owner, rank: rank)
        }
    }
}

extension SyncCommands {
    /// The most used commands, for a call that follows at once: see ``QueueSafeValue/wait``.
    ///
    /// See ``SyncCommands`` for what they do and where they may be called.
    @frozen
    @_eagerMove
    public struct AtOnce: @unchecked Sendable {
        @usableFromInline let owner: QueueSafeValue<Value>
        @usableFromInline let rank: Int64

        @inlinable
        init(owner: QueueSafeValue<Value>, rank: Int64) {
            self.owner = owner
            self.rank = rank
        }

        /// The commands themselves. Each function that follows has a last argument of no value: it makes a function
        /// that is named and kept, as in `wait.lowestPriority.set(newValue:)`, one of ``SyncCommands``.
        @inlinable var commands: SyncCommands {
            SyncCommands(box: owner.box, rank: rank, limit: .never)
        }
    }
}

extension SyncCommands.AtOnce where Value: Sendable {
    /// Returns the value.
    @inlinable
    public func get(_: Void = ()) -> Result<Value, QueueSafeValueError> {
        commands.get()
    }

    /// Runs `commandClosure` with the value, and holds the value until it returns. On failure it runs `commandClosure`
    /// with the error, and holds nothing.
    @inlinable
    public func get(completion commandClosure: (Result<Value, QueueSafeValueError>) -> Void, _: Void = ()) {
        commands.get(completion: commandClosure)
    }

    /// Replaces the value, and returns the new one.
    @inlinable @discardableResult
    public func set(newValue: Value, _: Void = ()) -> Result<Value, QueueSafeValueError> {
        commands.set(newValue: newValue)
    }

    /// Runs `accessClosure` on the value, and returns the value that it leaves. On failure the closure does not run.
    @inlinable @discardableResult
    public func set(
        completion accessClosure: (inout Value) -> Void, _: Void = ()
    ) -> Result<Value, QueueSafeValueError> {
        commands.set(completion: accessClosure)
    }

    /// Returns what `commandClosure` makes of the value. On failure the closure does not run.
    @inlinable
    public func map<MappedValue>(
        completion commandClosure: (Value) -> MappedValue, _: Void = ()
    ) -> Result<MappedValue, QueueSafeValueError> {
        commands.map(completion: commandClosure)
    }
}

// MARK: - The same where the result is not used

// In `queue.async { section.execute { value.wait.lowestPriority.set { $0 += 1 } } }` both closures consist of one
// expression, and either of them may be the one that drops the result. The compiler finds no reason to prefer one, and
// rejects the call. A form that returns nothing gives it a reason. That form has one more defaulted argument than the
// form that returns the result, so it is chosen nowhere else.
extension SyncCommands.AtOnce where Value: Sendable {
    /// Waits for the value, and discards it.
    @available(*, deprecated, message: "the value is not used")
    @inlinable
    public func get(_: Void = (), _: Void = ()) {
        _ = commands.get()
    }

    /// Replaces the value, and returns nothing.
    @inlinable
    public func set(newValue: Value, _: Void = (), _: Void = ()) {
        commands.set(newValue: newValue)
    }

    /// Runs `accessClosure` on the value, and returns nothing.
    @inlinable
    public func set(completion accessClosure: (inout Value) -> Void, _: Void = (), _: Void = ()) {
        commands.set(completion: accessClosure)
    }
}

extension SyncCommands where Value: Sendable {
    /// Replaces the value, and returns nothing.
    @inlinable @_disfavoredOverload
    public func set(newValue: Value, _: Void = ()) {
        _ = set(newValue: newValue) as Result
    }

    /// Runs `accessClosure` on the value, and returns nothing.
    @inlinable @_disfavoredOverload
    public func set(completion accessClosure: (inout Value) -> Void, _: Void = ()) {
        _ = set(completion: accessClosure) as Result
    }
}
