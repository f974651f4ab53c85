public import Dispatch

/// The priorities of commands that are performed on a queue.
///
/// ```swift
/// let value = QueueSafeValue(value: 1)
/// value.async(performIn: .global()).highestPriority.set { $0 += 1 }
/// value.async(performIn: .utility, timeout: .seconds(1)).priority(.low).get { result in print(result) }
/// ```
///
/// Choosing a priority never blocks, and a schedule may be kept and used from any thread.
@frozen
public struct AsyncSchedule<Value>: @unchecked Sendable {
    @usableFromInline let box: ValueBox<Value>
    @usableFromInline let queue: DispatchQueue
    @usableFromInline let timeout: Duration?

    @inlinable
    init(box: ValueBox<Value>, queue: DispatchQueue, timeout: Duration?) {
        self.box = box
        self.queue = queue
        self.timeout = timeout
    }

    /// After everything that waits.
    @inlinable public var lowestPriority: AsyncCommands<Value> { AsyncCommands(self, rank: CommandRank.back) }
    /// Before everything that waits; the last one in front.
    @inlinable public var highestPriority: AsyncCommands<Value> { AsyncCommands(self, rank: CommandRank.front) }
    /// By priority, within one by arrival.
    @inlinable public func priority(_ priority: CommandPriority) -> AsyncCommands<Value> {
        AsyncCommands(self, rank: CommandRank.of(priority))
    }
}

/// Commands that return at once and run their closures on a queue, each when it is its turn.
///
/// ```swift
/// let value = QueueSafeValue(value: 1)
/// value.async(performIn: .global()).lowestPriority.set { $0 += 1 } completion: { result in
///     print(result)    // .success(2), after the section was left
/// }
/// ```
///
/// None blocks the caller, and a command that waits occupies no thread; they may be called from anywhere but signal
/// handlers. Failures reach the closure: `.timedOut` where the schedule has a timeout, `.valueContainerDeinited` once
/// the value's owner is gone. With n that wait, a command is O(log n) amortized. Each costs two to four allocations and
/// at most one dispatch.
///
/// Commands that are performed on one queue begin in order, always: by priority, then by arrival, among those that have
/// not begun. If their queue has not begun the next one within 1 ms of its turn, waiters of other queues, of executors,
/// and threads go first; it is next again as soon as its queue comes to it. Two `DispatchQueue` objects of one dispatch
/// queue count as one.
@frozen
public struct AsyncCommands<Value>: @unchecked Sendable {
    @usableFromInline let schedule: AsyncSchedule<Value>
    @usableFromInline let rank: Int64

    @inlinable
    init(_ schedule: AsyncSchedule<Value>, rank: Int64) {
        self.schedule = schedule
        self.rank = rank
    }
}

extension AsyncCommands where Value: Sendable {
    private func submit(_ body: @escaping AsyncCommand<Value>.Body) {
        AsyncCommand(box: schedule.box, queue: schedule.queue, body: body).submit(rank: rank, timeout: schedule.timeout)
    }

    /// Runs `commandClosure` with the value, and holds it meanwhile; on failure with the error. Nil does nothing.
    @preconcurrency
    public func get(completion commandClosure: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)?) {
        guard let commandClosure else { return }
        submit { command, error in
            commandClosure(error.map { .failure($0) } ?? .success(command.box.value.pointee))
            return .leave
        }
    }

    /// Runs `commandClosure` with the value, and holds it until the closure's second argument is called, from whatever
    /// thread. On failure runs it with the error; there is nothing to complete then. Nil does nothing.
    @preconcurrency
    public func get(
        manualCompletion commandClosure: (@Sendable (Result<Value, QueueSafeValueError>, @escaping CommandCompletionClosure) -> Void)?
    ) {
        guard let commandClosure else { return }
        submit { command, error in
            if let error {
                commandClosure(.failure(error), {})
                return .isSeenTo
            }
            return command.leaveOnCompletion({ done in commandClosure(.success(command.box.value.pointee), done) }) { command, _ in
                command.leave()
            }
        }
    }

    /// Replaces the value, leaves it, and runs `commandClosure` with what it was then.
    @preconcurrency
    public func set(newValue: Value, completion commandClosure: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)? = nil) {
        submit { command, error in
            if let error {
                commandClosure?(.failure(error))
                return .isSeenTo
            }
            let old = command.box.value.move()
            command.box.value.initialize(to: newValue)
            command.leave()
            withExtendedLifetime(old) {}
            commandClosure?(.success(newValue))
            return .isSeenTo
        }
    }

    /// Runs `accessClosure` on the value, leaves it, and runs `commandClosure` with what it was then. On failure
    /// `accessClosure` is not run. A nil `accessClosure` succeeds with the value unchanged.
    @preconcurrency
    public func set(
        accessClosure: (@Sendable (inout Value) -> Void)?,
        completion commandClosure: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)? = nil
    ) {
        submit { command, error in
            if let error {
                commandClosure?(.failure(error))
                return .isSeenTo
            }
            accessClosure?(&command.box.value.pointee)
            guard let commandClosure else { return .leave }
            let updated = command.box.value.pointee
            command.leave()
            commandClosure(.success(updated))
            return .isSeenTo
        }
    }

    /// Runs `accessClosure` on the value, holds the section until the closure's second argument is called, from
    /// whatever thread, leaves it there, and runs `commandClosure`, on the queue, with what the value was then. `inout`
    /// access itself ends with the closure, and so does its thread's hold: a sync command from there waits. A nil
    /// `accessClosure` completes at once.
    @preconcurrency
    public func set(
        manualCompletion accessClosure: (@Sendable (inout Value, @escaping CommandCompletionClosure) -> Void)?,
        completion commandClosure: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)? = nil
    ) {
        guard let accessClosure else { return set(accessClosure: nil, completion: commandClosure) }
        submit { command, error in
            if let error {
                commandClosure?(.failure(error))
                return .isSeenTo
            }
            return command.leaveOnCompletion({ done in accessClosure(&command.box.value.pointee, done) }) { command, onQueue in
                let updated = command.box.value.pointee
                command.leave()
                guard let commandClosure else { return }
                if onQueue { commandClosure(.success(updated)) } else { command.lane.dispatch { commandClosure(.success(updated)) } }
            }
        }
    }
}
