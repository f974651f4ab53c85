extension SyncSchedule {
    /// A ``SyncSchedule`` for a call that follows at once: see ``ValueOwner``.
    @frozen
    public struct AtOnce: @unchecked Sendable {
        @usableFromInline let owner: ValueOwner<Value>

        @inlinable
        init(owner: ValueOwner<Value>) {
            self.owner = owner
        }

        /// Commands that run after all waiting commands.
        @inlinable public var lowestPriority: SyncCommands<Value>.AtOnce {
            SyncCommands.AtOnce(owner: owner, rank: CommandRank.back)
        }
        /// Commands that run before all waiting commands. The one issued last runs first.
        @inlinable public var highestPriority: SyncCommands<Value>.AtOnce {
            SyncCommands.AtOnce(owner: owner, rank: CommandRank.front)
        }
        /// Commands ordered by priority, and within one priority by arrival.
        @inlinable public func priority(_ priority: CommandPriority) -> SyncCommands<Value>.AtOnce {
            SyncCommands.AtOnce(owner: owner, rank: CommandRank.of(priority))
        }
    }
}

extension SyncCommands {
    /// The most used commands, for a call that follows at once: see ``ValueOwner``.
    ///
    /// See ``SyncCommands`` for what they do and where they may be called.
    @frozen
    public struct AtOnce: @unchecked Sendable {
        @usableFromInline let owner: ValueOwner<Value>
        @usableFromInline let rank: Int64

        @inlinable
        init(owner: ValueOwner<Value>, rank: Int64) {
            self.owner = owner
            self.rank = rank
        }

        /// Stands behind the arguments of a call, so that a function that is named and kept, as in
        /// `wait.lowestPriority.set(newValue:)`, is one of ``SyncCommands``.
        @frozen
        public struct Call: Sendable {
            /// Made by the default argument of each call. It holds nothing and costs nothing.
            @inlinable public init() {}
        }

        @inlinable var commands: SyncCommands {
            SyncCommands(box: owner.box, rank: rank, limit: .never)
        }
    }
}

extension SyncCommands.AtOnce where Value: Sendable {
    /// Returns the value.
    @inlinable
    public func get(_: Call = Call()) -> Result<Value, QueueSafeValueError> {
        commands.get()
    }

    /// Runs `commandClosure` with the value, and holds the value until it returns. On failure it runs `commandClosure`
    /// with the error, and holds nothing.
    @inlinable
    public func get(completion commandClosure: (Result<Value, QueueSafeValueError>) -> Void, _: Call = Call()) {
        commands.get(completion: commandClosure)
    }

    /// Replaces the value, and returns the new one.
    @inlinable @discardableResult
    public func set(newValue: Value, _: Call = Call()) -> Result<Value, QueueSafeValueError> {
        commands.set(newValue: newValue)
    }

    /// Runs `accessClosure` on the value, and returns the value that it leaves. On failure the closure does not run.
    @inlinable @discardableResult
    public func set(
        completion accessClosure: (inout Value) -> Void, _: Call = Call()
    ) -> Result<Value, QueueSafeValueError> {
        commands.set(completion: accessClosure)
    }

    /// Returns what `commandClosure` makes of the value. On failure the closure does not run.
    @inlinable
    public func map<MappedValue>(
        completion commandClosure: (Value) -> MappedValue, _: Call = Call()
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
    public func get(_: Call = Call(), _: Call = Call()) {
        _ = commands.get()
    }

    /// Replaces the value, and returns nothing.
    @inlinable
    public func set(newValue: Value, _: Call = Call(), _: Call = Call()) {
        commands.set(newValue: newValue)
    }

    /// Runs `accessClosure` on the value, and returns nothing.
    @inlinable
    public func set(completion accessClosure: (inout Value) -> Void, _: Call = Call(), _: Call = Call()) {
        commands.set(completion: accessClosure)
    }
}

extension SyncCommands where Value: Sendable {
    /// Replaces the value, and returns nothing.
    @inlinable @_disfavoredOverload
    public func set(newValue: Value, _: AtOnce.Call = AtOnce.Call()) {
        _ = set(newValue: newValue) as Result
    }

    /// Runs `accessClosure` on the value, and returns nothing.
    @inlinable @_disfavoredOverload
    public func set(completion accessClosure: (inout Value) -> Void, _: AtOnce.Call = AtOnce.Call()) {
        _ = set(completion: accessClosure) as Result
    }
}
