/// Runs `operation` as if the task were not cancelled, and returns what it returns.
///
/// A task that is cancelled gets `.cancelled` wherever it would wait. Cleaning up has to wait all the same:
///
/// ```swift
/// let registry = AsyncMutex([1, 2, 3])
/// let worker = Task {
///     do {
///         try await Task.sleep(for: .seconds(60))
///     } catch {
///         try await withTaskCancellationShield {
///             try await registry.withLock { $0.removeAll() }      // the task is cancelled, and enters
///         }
///     }
/// }
/// worker.cancel()
/// try await worker.value
/// ```
///
/// Inside, `Task.isCancelled` is false, handlers of cancellation are not called, and waits of any library begin. The
/// deadline of `withDeadline` bounds waits inside too: clean up outside of it, or after the deadline each wait tries
/// once. `operation` runs where the caller does, on its actor if there is one, in a separate task for which the caller
/// waits. So it costs as much as a `Task`. It has the caller's task-local values and priority, and not its preferred
/// task executor.
///
/// It has the name and signature of the standard library's function (SE-0504), which is called where it exists.
@_disfavoredOverload
public func withTaskCancellationShield<Value: ~Copyable, Failure: Error>(
    operation: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
    var result: Result<Value, Failure>?
    await Shield.run(isolation: #isolation) {
        do throws(Failure) { result = .success(try await operation()) } catch { result = .failure(error) }
    }
    return try result.take()!.get()
}

private enum Shield {
    /// Runs `body` in a task that is never cancelled, where its caller runs.
    static func run(isolation: isolated (any Actor)?, _ body: () async -> Void) async {
        let parent = OrderedActivation(cancelledAt: nil), enclosing = OrderedActivation.enclosing
        await withoutActuallyEscaping(body) { body in
            _ = isolation
            // The caller waits until the task has ended, so at no time do both use what `body` captures.
            nonisolated(unsafe) let body = body
            await Task { await unsafe call(parent, inside: enclosing, isolation: isolation, body) }.value
        }
    }

    @concurrent
    private static func call(
        _ parent: OrderedActivation, inside enclosing: OrderedActivation?, isolation: (any Actor)?,
        _ body: () async -> Void
    ) async {
        nonisolated(unsafe) let body = body
        await parent.run(inside: enclosing, isolation: nil) { await unsafe call(isolation: isolation, body) }
    }

    private static func call(isolation: isolated (any Actor)?, _ body: () async -> Void) async { await body() }
}
