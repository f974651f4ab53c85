public import Dispatch

/// Selects the priority of commands that run on a queue.
///
/// ```swift
/// let value = QueueSafeValue(value: 1)
/// value.async(performIn: .global()).highestPriority.set { $0 += 1 }
/// value.async(performIn: .utility, timeout: .seconds(1)).priority(.low).get { result in print(result) }
/// ```
///
/// A schedule may be kept, and may be used from any thread.
@frozen
public struct AsyncSchedule<Value>: CommandSchedule, @unchecked Sendable {
    @usableFromInline let box: ValueBox<Value>
    @usableFromInline let queue: DispatchQueue
    @usableFromInline let limit: TimeLimit

    @inlinable
    init(box: ValueBox<Value>, queue: DispatchQueue, limit: TimeLimit) {
        self.box = box
        self.queue = queue
        self.limit = limit
    }

    @inlinable @inline(__always)
    public func _commands(rank: Int64) -> AsyncCommands<Value> { AsyncCommands(self, rank: rank) }
}

/// Commands that return at once. Each runs its closures on a queue when its turn comes.
///
/// ```swift
/// let value = QueueSafeValue(value: 1)
/// value.async(performIn: .global()).lowestPriority.set { $0 += 1 } completion: { result in
///     print(result)    // .success(2), after the section was left
/// }
/// ```
///
/// No command blocks the caller, and a command that waits occupies no thread. Commands may be called from anywhere
/// except signal handlers. Failures are passed to the closure: `.timedOut` where the schedule has a timeout, and
/// `.valueContainerDeinited` once the value's owner is gone. A command takes O(log n) amortized when n commands wait,
/// and examines a sixteenth of as many queues and executors as ever had commands here at once. A command costs at most
/// one dispatch and one allocation, two if it carries a new value, and some more with manual completion.
///
/// Commands that run on one queue always begin in order: by priority, then by arrival. If the queue has not started the
/// next command within 1 ms of its turn, waiters of other queues and executors, and threads, go first. The command is
/// next again as soon as its queue comes to it. Two `DispatchQueue` objects that wrap one dispatch queue count as one
/// queue.
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
    /// Submits a command whose body captures what it needs. `body` is called while the box is kept; one that outlasts
    /// its call has to keep the box itself.
    @inlinable
    func submit(_ body: @escaping AsyncCommand.Body) {
        let box = schedule.box
        let command = unsafe AsyncCommand(
            box.gate, of: box, on: schedule.queue, limit: schedule.limit, body: body)
        AsyncCommand.submit(command, of: box, rank: rank, limit: schedule.limit)
    }

    /// Submits a command whose body captures nothing, and finds these closures and the value in the command.
    @inlinable
    func submit(
        access: consuming (@Sendable (inout Value) -> Void)?,
        completion: consuming (@Sendable (Result<Value, QueueSafeValueError>) -> Void)?,
        _ body: @escaping AsyncCommand.Body
    ) {
        let command = ValueCommand(schedule, access: access, completion: completion, body: body)
        AsyncCommand.submit(command, of: schedule.box, rank: rank, limit: schedule.limit)
    }

    /// Runs `commandClosure` with the value, and holds the value until it returns. On failure it runs `commandClosure`
    /// with the error. A nil closure does nothing.
    @inlinable
    public func get(completion commandClosure: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)?) {
        guard let commandClosure else { return }
        submit(access: nil, completion: commandClosure) { command, status in
            let command = unsafe unsafeDowncast(command, to: ValueCommand<Value>.self)
            command.completion?(
                status == 0 ? .success(command.value.pointee) : .failure(QueueSafeValueError(status: status)))
            return .leave
        }
    }

    /// Runs `commandClosure` with the value, and holds the value until the closure has returned and its second argument
    /// was called. Any thread may call the argument. On failure `commandClosure` runs with the error, and there is
    /// nothing to complete. A nil closure does nothing.
    public func get(
        manualCompletion commandClosure: (
            @Sendable (Result<Value, QueueSafeValueError>, @escaping CommandCompletionClosure) -> Void
        )?
    ) {
        guard let commandClosure else { return }
        nonisolated(unsafe) let box = schedule.box
        submit { command, status in
            if status != 0 {
                commandClosure(.failure(QueueSafeValueError(status: status)), {})
                return .isSeenTo
            }
            return command.leaveOnCompletion({ done in unsafe commandClosure(.success(box.value.pointee), done) }) {
                command, _ in
                command.leave()
            }
        }
    }

    /// Replaces the value, leaves the section, and then runs `commandClosure` with the value that was set.
    @inlinable
    public func set(
        newValue: Value, completion commandClosure: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)? = nil
    ) {
        nonisolated(unsafe) let value = schedule.box.value
        submit { command, status in
            if status != 0 {
                commandClosure?(.failure(QueueSafeValueError(status: status)))
                return .isSeenTo
            }
            let old = unsafe value.move()
            unsafe value.initialize(to: newValue)
            command.leave()
            withExtendedLifetime(old) {}
            commandClosure?(.success(newValue))
            return .isSeenTo
        }
    }

    /// Runs `accessClosure` on the value, leaves the section, and then runs `commandClosure` with the value as it was
    /// on leaving. On failure `accessClosure` does not run. A nil `accessClosure` succeeds with the value unchanged.
    @inlinable
    public func set(
        accessClosure: consuming (@Sendable (inout Value) -> Void)?,
        completion commandClosure: consuming (@Sendable (Result<Value, QueueSafeValueError>) -> Void)? = nil
    ) {
        submit(access: accessClosure, completion: commandClosure) { command, status in
            let command = unsafe unsafeDowncast(command, to: ValueCommand<Value>.self)
            if status != 0 {
                command.completion?(.failure(QueueSafeValueError(status: status)))
                return .isSeenTo
            }
            command.accessClosure?(&command.value.pointee)
            guard let completion = command.completion else { return .leave }
            let updated = command.value.pointee
            command.leave()
            completion(.success(updated))
            return .isSeenTo
        }
    }

    /// Runs `accessClosure` on the value, and holds the section until the closure has returned and its second argument
    /// was called. Any thread may call that. If the call comes after the closure has returned, the section ends on the
    /// calling thread, else on the queue. Then `commandClosure` runs on the queue, with the value as it was on leaving.
    ///
    /// The `inout` access itself ends when `accessClosure` returns. From then on its thread does not hold the gate any
    /// more, so a sync command from that thread waits. A nil `accessClosure` completes at once.
    public func set(
        manualCompletion accessClosure: (@Sendable (inout Value, @escaping CommandCompletionClosure) -> Void)?,
        completion commandClosure: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)? = nil
    ) {
        guard let accessClosure else { return set(accessClosure: nil, completion: commandClosure) }
        nonisolated(unsafe) let box = schedule.box
        submit { command, status in
            if status != 0 {
                commandClosure?(.failure(QueueSafeValueError(status: status)))
                return .isSeenTo
            }
            return command.leaveOnCompletion({ done in unsafe accessClosure(&box.value.pointee, done) }) {
                command, onQueue in
                let updated = unsafe box.value.pointee
                command.leave()
                guard let commandClosure else { return }
                if onQueue {
                    commandClosure(.success(updated))
                } else {
                    command.queue.async { commandClosure(.success(updated)) }
                }
            }
        }
    }
}
