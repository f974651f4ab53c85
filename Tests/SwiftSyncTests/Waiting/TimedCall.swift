import Testing

@testable import SwiftSync

/// A call that takes a limit of time. It says whether it has reported that this came first.
struct TimedCall: Sendable {
    private enum Form {
        case thread(@Sendable (TimeLimit) throws -> Bool)
        case task(@Sendable (TimeLimit) async throws -> Bool)
    }

    let name: String
    private let form: Form
    /// Whether it succeeds at once where nobody is in the way any more.
    let isFreeAtOnce: Bool

    /// One that blocks its thread, and so has one of its own.
    static func thread(
        _ name: String, isFreeAtOnce: Bool = true, _ call: @escaping @Sendable (TimeLimit) throws -> Bool
    ) -> TimedCall {
        TimedCall(name: name, form: .thread(call), isFreeAtOnce: isFreeAtOnce)
    }

    static func task(
        _ name: String, isFreeAtOnce: Bool = true, _ call: @escaping @Sendable (TimeLimit) async throws -> Bool
    ) -> TimedCall {
        TimedCall(name: name, form: .task(call), isFreeAtOnce: isFreeAtOnce)
    }

    func hasTimedOut(_ limit: TimeLimit) async -> Bool {
        switch form {
        case .thread(let call): await Self.onThread { Self.hasTimedOut { try call(limit) } }
        case .task(let call): await Self.hasTimedOut { try await call(limit) }
        }
    }

    /// The same call, made inside `withDeadline`.
    func hasTimedOut(within instant: ContinuousClock.Instant, _ limit: TimeLimit = .never) async -> Bool {
        switch form {
        case .thread(let call):
            await Self.onThread { blockingWithDeadline(.until(instant)) { Self.hasTimedOut { try call(limit) } } }
        case .task(let call): await withDeadline(instant) { await Self.hasTimedOut { try await call(limit) } }
        }
    }

    static func onThread(_ body: @escaping @Sendable () -> Bool) async -> Bool {
        let count = RequestLookups.count
        return await withUnsafeContinuation { continuation in
            Thread {
                // A thread's first call gets its number, and takes a longer way for it.
                CriticalSection().execute {}
                continuation.resume(returning: RequestLookups.$count.withValue(count, operation: body))
            }.detach()
        }
    }

    private static func hasTimedOut(_ call: () throws -> Bool) -> Bool {
        do { return try call() } catch { return isTimeout(error) }
    }

    private static func hasTimedOut(_ call: () async throws -> Bool) async -> Bool {
        do { return try await call() } catch { return isTimeout(error) }
    }

    private static func isTimeout(_ error: any Error) -> Bool {
        if (error as? any SyncError)?.reason == .timedOut { return true }
        Issue.record(error)
        return false
    }
}
