#if ServiceLifecycle

import CSyncKernel
public import ServiceLifecycle

/// Drains queues and pools when a `ServiceGroup` shuts down gracefully: one after the other, by one deadline.
///
/// A group shuts its services down in the reverse order of its list. So list the drains before the server, which then
/// accepts no more requests when they begin:
///
/// ```swift
/// let drains = DrainService(timeout: .seconds(10))
///     .draining(requests)                             // first what feeds the others
///     .draining(connections)
/// let group = ServiceGroup(
///     services: [drains, server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// Each queue refuses later work, and runs the work that it has accepted; a pool waits for its uses. At the deadline,
/// works of a ``WorkQueue`` or ``ConcurrentWorkQueue`` that have not begun are dropped, and
/// ``DrainServiceError/timedOut(_:)`` names every drain that was late. It needs the package's trait `ServiceLifecycle`.
public struct DrainService: Service {
    private struct Step: Sendable {
        let name: String
        /// Ends admission, and returns whether all work has ended by the instant. Throws if the task is cancelled.
        let drain: @Sendable (ContinuousClock.Instant) async throws -> Bool
        /// Ends admission, and drops the work that can be dropped. Never waits.
        let giveUp: @Sendable () async -> Void
    }

    private let timeout: TimeLimit
    private var steps: [Step] = []

    /// A service without anything to drain yet.
    ///
    /// - Parameter timeout: how long the drains may take together, from the begin of the shutdown. Zero or less gives
    ///   up at once. More than 292 years, and ``TimeLimit/never``, count as 292 years.
    public init(timeout: TimeLimit) {
        self.timeout = timeout
    }

    /// Adds a work queue, serial or concurrent. Late works that have not begun are dropped.
    public func draining(_ queue: WorkQueueBase) -> DrainService {
        draining(
            queue.name, { try await queue.drain(timeout: $0) }, shutdown: { queue.shutdown(cancelsPending: $0) })
    }

    /// Adds a ``FIFOQueue`` or an ``ActorQueue``. Late tasks go on.
    public func draining(_ queue: some OrderedTaskQueue) -> DrainService {
        draining(queue.name, { try await queue.drain(timeout: $0) }, shutdown: { _ in queue.shutdown() })
    }

    private func draining(
        _ name: String, _ drain: @escaping @Sendable (TimeLimit) async throws -> Void,
        shutdown: @escaping @Sendable (_ cancelsPending: Bool) -> Void
    ) -> DrainService {
        adding(
            name,
            { instant in
                shutdown(false)
                return try await Self.isInTime { try await drain(.until(instant)) }
            },
            giveUp: { shutdown(true) })
    }

    /// Adds a pool of resources. Late uses go on, and their resources are closed at their ends.
    public func draining<Resource>(_ pool: ResourcePool<Resource>) -> DrainService {
        adding(
            pool.name,
            { instant in
                let isComplete = await pool.shutdown(timeout: .until(instant)).isComplete
                if !isComplete { try Task.checkCancellation() }
                return isComplete
            },
            giveUp: { await pool.shutdown(timeout: .zero) })
    }

    /// Adds any other drain.
    ///
    /// - Parameters:
    ///   - name: its name in errors.
    ///   - drain: drains it, and returns whether that was done by the instant. It is called once; if the service is
    ///     cancelled or late, with an instant that has passed. It throws if its task is cancelled.
    public func draining(
        name: String, _ drain: @escaping @Sendable (ContinuousClock.Instant) async throws -> Bool
    ) -> DrainService {
        adding(name, drain, giveUp: { _ = try? await drain(.now) })
    }

    private func adding(
        _ name: String, _ drain: @escaping @Sendable (ContinuousClock.Instant) async throws -> Bool,
        giveUp: @escaping @Sendable () async -> Void
    ) -> DrainService {
        var copy = self
        copy.steps.append(Step(name: name, drain: drain, giveUp: giveUp))
        return copy
    }

    private static func isInTime(_ drain: () async throws -> Void) async throws -> Bool {
        do {
            try await drain()
            return true
        } catch WorkQueueError.timedOut, OrderedQueueError.timedOut {
            return false
        } catch WorkQueueError.cancelled, OrderedQueueError.cancelled {
            throw CancellationError()
        }
    }

    /// The deadline of a shutdown that begins now. An instant can't represent every span.
    private func deadline() -> ContinuousClock.Instant {
        // In this order, so that the instant is never early.
        let now = csk_now(), rest = max(timeout.deadline() - now, 0)
        return .now + .nanoseconds(rest)
    }

    /// Suspends the task until the group shuts down, then drains what was added, in that order.
    ///
    /// - Throws: ``DrainServiceError/timedOut(_:)``; `CancellationError` if the task is cancelled, before or during the
    ///   shutdown: then it gives up at once.
    public func run() async throws {
        var ended = 0, late: [String] = []
        do {
            try await gracefulShutdown()
            let deadline = deadline()
            for step in steps {
                if try await !step.drain(deadline) {
                    late.append(step.name)
                    await step.giveUp()
                }
                ended += 1
            }
        } catch {
            for step in steps[ended...] { await step.giveUp() }
            throw error
        }
        if !late.isEmpty { throw DrainServiceError.timedOut(late) }
    }
}

/// Why a ``DrainService`` did not drain everything.
public enum DrainServiceError: Error, Sendable, Hashable {
    /// The names of those that had not ended at the deadline, in the order in which they were added.
    case timedOut([String])
}

#endif
