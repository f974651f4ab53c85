/// Runs `body` with a default priority for its waits: those that name no priority wait at `priority`.
///
/// It is one priority for a whole request, through all functions that it calls:
///
/// ```swift
/// let permits = PrioritySemaphore(value: 8), journal = AsyncMutex([String]())
/// func answer(_ request: String) async throws -> Int {
///     try await withPriority(.high) {
///         try await permits.withPermit {                       // waits at .high
///             try await journal.withLock(priority: .low) {     // waits at .low
///                 $0.append(request)
///                 return $0.count
///             }
///         }
///     }
/// }
/// ```
///
/// - It applies to objects that serve their waiters by priority: ``PriorityMutex``, ``AsyncMutex``,
///   ``PrioritySemaphore``, ``ResourcePool``, `suspending` commands of a ``QueueSafeValue``, and `run` and `sync` of
///   work queues, where it replaces the queue's own priority. Without it, tasks wait there at their own priority and
///   threads at `.normal`.
/// - For `bypassLimit` it counts as not named: its waiters may be overtaken that often.
/// - It changes nothing where arrival decides, as at a ``ReadWriteLock``, a ``FIFOQueue`` or a ``TaskQueue``; nor does
///   it affect pushed elements, work of `async` and `enqueue`, or barriers.
/// - It is not the priority of the task, by which the system runs it.
///
/// `body` runs where the caller does, on its actor if there is one, as a part of the task. The call itself never waits.
/// The priority is a task-local value: child tasks and `Task { }` have it too, `Task.detached` has not. An inner one
/// replaces an outer one. It is looked up when a wait begins, so calls that need not wait cost no more than elsewhere.
///
/// - Parameters:
///   - priority: the urgency of the waits.
///   - body: the code that waits. The call returns what it returns, and throws what it throws.
/// - Complexity: O(1).
public func withPriority<Return: ~Copyable, Failure: Error>(
    _ priority: CommandPriority, body: () async throws(Failure) -> Return
) async throws(Failure) -> Return {
    try await RequestPriority.within(priority, isolation: #isolation, body)
}

/// Runs `body` on this thread with a default priority for its waits: those that name no priority wait at `priority`.
///
/// ```swift
/// let table = PriorityMutex([String: Int]())
/// func count() -> Int {
///     blockingWithPriority(.high) { table.withLock { $0.count } }     // waits at .high
/// }
/// ```
///
/// It is the form of ``withPriority(_:body:)`` for threads, and for synchronous functions that tasks call. It never
/// blocks by itself.
/// - Complexity: O(1).
public func blockingWithPriority<Return>(_ priority: CommandPriority, body: () throws -> Return) rethrows -> Return {
    try RequestPriority.within(priority, body)
}
