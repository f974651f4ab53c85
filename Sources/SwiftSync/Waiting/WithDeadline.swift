import CSyncKernel

/// Runs `body`, none of whose waits lasts beyond `instant` if it can report that.
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
/// - Waits that can report it end with what they give for a timeout: those that throw, those that return a `Result`,
///   an optional or a `Bool` for that, with or without a timeout of their own. The nearer deadline counts. Once it has
///   passed, each of these waits tries once.
/// - Calls that can't report it ignore it: `withLock`, `withReadLock`, `read`, `execute`, `sync`, `run` and
///   `enqueueAndWait` in the forms without a timeout that don't throw an error of their own, `push` and `pop`.
/// - Commands of `async(performIn:)` and enqueued work are not bounded. Work that inherits the task-local values
///   of its caller is queued without a bound, and takes the deadline along for the waits that it makes itself.
///
/// It is a task-local value: child tasks and `Task { }` have it too, `Task.detached` has not. A deadline within another
/// never makes the time longer. No wait ends early. It is looked up when a wait begins, so calls that need not wait
/// cost what they cost elsewhere. The call itself never blocks, and does not interrupt what `body` does otherwise.
public func withDeadline<R>(_ instant: ContinuousClock.Instant, _ body: () throws -> R) rethrows -> R {
    try RequestDeadline.within(Deadline.at(instant), body)
}

/// Does the same for an `instant` of the clock that the kernel uses, which is exact.
@_disfavoredOverload
public func withDeadline<R>(_ instant: SuspendingClock.Instant, _ body: () throws -> R) rethrows -> R {
    try RequestDeadline.within(Deadline.at(instant), body)
}

/// Does the same in async code, for a `body` that may suspend.
public func withDeadline<R>(
    _ instant: ContinuousClock.Instant, _ body: () async throws -> R
) async rethrows -> R {
    try await RequestDeadline.within(Deadline.at(instant), isolation: #isolation, body)
}

/// Does the same in async code, for an `instant` of the clock that the kernel uses, which is exact.
@_disfavoredOverload
public func withDeadline<R>(
    _ instant: SuspendingClock.Instant, _ body: () async throws -> R
) async rethrows -> R {
    try await RequestDeadline.within(Deadline.at(instant), isolation: #isolation, body)
}

/// The deadline of the request that a thread or task works for.
enum RequestDeadline {
    /// The nearest of those that are in force, by the kernel's clock.
    @TaskLocal static var nearest: Int64 = Deadline.never

    static func within<R>(_ deadline: Int64, _ body: () throws -> R) rethrows -> R {
        try $nearest.withValue(min(nearest, deadline), operation: body)
    }

    static func within<R>(
        _ deadline: Int64, isolation: isolated (any Actor)?, _ body: () async throws -> R
    ) async rethrows -> R {
        try await $nearest.withValue(
            min(nearest, deadline),
            operation: {
                // What captures the isolation has it. The closure would leave the caller's actor otherwise.
                _ = isolation
                return try await body()
            }, isolation: isolation)
    }

    /// Runs what a request happens to set off, and what is not done for it alone.
    static func ignored<R>(isolation: isolated (any Actor)? = #isolation, _ body: () async -> R) async -> R {
        await $nearest.withValue(
            Deadline.never,
            operation: {
                _ = isolation
                return await body()
            }, isolation: isolation)
    }
}

extension Deadline {
    /// The nearer of `deadline` and the request's. One that has passed is ``passed``: who only tries stands in no
    /// queue.
    static func nearer(_ deadline: Int64) -> Int64 {
        testStep("Deadline: asks for the request's")
        let ofRequest = RequestDeadline.nearest
        if ofRequest >= deadline { return deadline }
        return ofRequest <= csk_now() ? passed : ofRequest
    }
}
