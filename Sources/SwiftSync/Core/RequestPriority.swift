import CSyncKernel
import Synchronization

/// The priority of waits that name none. Every object that ranks its waiters uses this.
@usableFromInline
enum RequestPriority {
    /// The priority of the innermost ``withPriority(_:body:)`` around the call.
    @TaskLocal private static var innermost: CommandPriority?
    /// Whether one was ever begun in this process. Until then no wait looks up a priority. (It is set before the value
    /// is bound, and code that sees the value began after that.)
    private static let isUsed = Atomic(false)

    /// The priority of the calling thread's or task's request; nil if it has none.
    static var ofRequest: CommandPriority? { isUsed.load(ordering: .relaxed) ? innermost : nil }

    /// The priority at which a task waits: the one that its call names, that of the request, or the task's own.
    @usableFromInline
    static func ofTask(naming priority: CommandPriority? = nil) -> CommandPriority {
        priority ?? ofRequest ?? CommandPriority(Task.currentPriority)
    }

    /// Whether a task waits at its own priority, since neither its call nor its request names one.
    static func isOfTask(naming priority: CommandPriority?) -> Bool { priority == nil && ofRequest == nil }

    /// The priority at which a thread waits: the one that its call names, that of the request, or the normal one.
    static func ofThread(naming priority: CommandPriority? = nil) -> CommandPriority {
        if let priority { return priority }
        return isUsed.load(ordering: .relaxed) ? ofRequestOrNormal() : .normal
    }

    /// It is not inlined, so that a thread without a request saves no registers.
    @inline(never)
    private static func ofRequestOrNormal() -> CommandPriority { innermost ?? .normal }

    /// The rank of a task that waits in an order with a bypass limit, which applies if the call names no priority.
    static func rankOfTask(naming priority: CommandPriority?) -> Int64 {
        rank(ofTask(naming: priority), isNamed: priority != nil)
    }

    /// The rank of a thread that waits in an order with a bypass limit.
    static func rankOfThread(naming priority: CommandPriority?) -> Int64 {
        rank(ofThread(naming: priority), isNamed: priority != nil)
    }

    static func rank(_ priority: CommandPriority, isNamed: Bool) -> Int64 {
        csk_rank(priority.rawValue, Int32(isNamed ? CSK_PLACE_BACK : CSK_PLACE_UNNAMED))
    }

    static func within<R>(_ priority: CommandPriority, _ body: () throws -> R) rethrows -> R {
        isUsed.store(true, ordering: .relaxed)
        return try $innermost.withValue(priority, operation: body)
    }

    /// Runs `body`, a part of a task, at that priority, where its caller runs.
    static func within<R: ~Copyable, Failure: Error>(
        _ priority: CommandPriority, isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> R
    ) async throws(Failure) -> R {
        isUsed.store(true, ordering: .relaxed)
        var result: Result<R, Failure>?
        await $innermost.withValue(
            priority,
            operation: {
                // A closure that captures the isolation has it. Otherwise it would leave the caller's actor.
                _ = isolation
                do throws(Failure) {
                    result = .success(try await body())
                } catch {
                    result = .failure(error)
                }
            }, isolation: isolation)
        return try result.take()!.get()
    }
}
