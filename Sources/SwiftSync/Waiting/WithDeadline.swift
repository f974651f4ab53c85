import CSyncKernel

/// Runs `body` with a deadline: at `expiration` it is cancelled, and its waits end, if they can report that.
///
/// It is one deadline for a whole request, through all functions that it calls:
///
/// ```swift
/// let connections = PrioritySemaphore(value: 8), journal = AsyncMutex([String]())
/// func answer(_ request: String) async throws -> Int {
///     try await withDeadline(.now + .milliseconds(50)) {
///         try await connections.withPermit {                   // throws .timedOut after 50 ms
///             try await journal.withLock {                     // and so does this, by the same 50 ms
///                 $0.append(request)
///                 return $0.count
///             }
///         }
///     }
/// }
/// ```
///
/// - Waits of this library that can report a timeout end with one: those that throw, or return a `Result`, an optional
///   or a `Bool` for that, with or without a timeout of their own. The earlier deadline counts. Once it has passed,
///   each of these waits tries once.
/// - Calls that can't report it ignore it: `withLock`, `withReadLock`, `read`, `execute`, `sync`, `run` and
///   `enqueueAndWait` in the forms without a timeout that don't throw an error of their own, `push` and `pop`.
/// - Other waits, as `Task.sleep`, end because `body` is cancelled at `expiration`. The call returns or throws what
///   `body` then does, and waits for that. The rest of the task is not cancelled.
/// - Commands of `async(performIn:)` and enqueued work are not bounded. Work that inherits the task-local values of its
///   caller is queued without a bound, and takes the deadline along for the waits that it makes itself.
///
/// `body` runs where the caller does, on its actor if there is one, in a child task: that costs two allocations and
/// about two microseconds. The deadline is a task-local value: child tasks and `Task { }` have it too, `Task.detached`
/// has not. An inner deadline never extends an outer one, and costs nothing where it is later. No wait ends early. The
/// deadline is looked up when a wait begins, so calls that need not wait cost no more.
///
/// It has the name and signature of the standard library's function (SE-0526), which is called where it exists, and
/// whose deadline ends the waits of this library with `.cancelled`.
///
/// - Parameters:
///   - expiration: the instant. Its clock goes on while the system is suspended, and the clock of the waits does not.
///   - tolerance: how much later the cancellation may come. The library's timers don't make use of it.
///   - clock: the clock of the instant.
///   - body: the code to bound.
@_disfavoredOverload
public func withDeadline<Return: ~Copyable, Failure: Error>(
    _ expiration: ContinuousClock.Instant, tolerance: Duration? = nil, clock: ContinuousClock = ContinuousClock(),
    body: () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await RequestDeadline.within(Deadline.at(expiration), isolation: #isolation, body)
}

/// Runs `body`, and cancels it at an instant of the kernel's own clock, exactly: `clock: .suspending`.
@_disfavoredOverload
public func withDeadline<Return: ~Copyable, Failure: Error>(
    _ expiration: SuspendingClock.Instant, tolerance: Duration? = nil, clock: SuspendingClock,
    body: () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await RequestDeadline.within(Deadline.at(expiration), isolation: #isolation, body)
}

/// Runs `body`, and cancels it once `timeout` has passed from now on.
@_disfavoredOverload
public func withDeadline<Return: ~Copyable, Failure: Error>(
    in timeout: Duration, tolerance: Duration? = nil, body: () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await RequestDeadline.within(Deadline.after(timeout), isolation: #isolation, body)
}

/// Runs `body` on this thread with a deadline: its waits end at `limit`, if they can report that.
///
/// It bounds waits as `withDeadline` does, and cancels nothing. `limit` counts from now on, as in `.after(time)`, or is
/// an instant, as in `.until(instant)`. It never blocks by itself, and costs no allocation.
public func blockingWithDeadline<Return>(_ limit: TimeLimit, body: () throws -> Return) rethrows -> Return {
    try RequestDeadline.within(limit.own, body)
}
