#if ServiceLifecycle

import CSyncKernel
public import ServiceLifecycle

/// Ends queues and pools when a `ServiceGroup` shuts down gracefully: one after the other, by one deadline.
///
/// A group shuts its services down in the reverse order of its list. So list the drains before the server, which
/// then takes no more requests when they begin:
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
/// Each queue refuses what comes from then on, and runs what it has accepted; a pool waits for its uses. What is
/// late at the deadline is given up: works of a ``WorkQueue`` or ``ConcurrentWorkQueue`` that have not begun are
/// dropped, and ``DrainServiceError/timedOut(_:)`` names all that was late. It needs the package's trait
/// `ServiceLifecycle`.
public struct DrainService: Service {
    private struct Step: Sendable {
        let name: String
        /// Ends the admission, and returns whether all has ended by the instant. Throws if the task is cancelled.
        let drain: @Sendable (ContinuousClock.Instant) async throws -> Bool
        /// Ends the admission, and drops what can be dropped. Never waits.
        let giveUp: @Sendable () async -> Void
    }

    private let timeout: TimeLimit
    private var steps: [Step] = []

    /// A service without anything to drain yet.
    ///
    /// - Parameter timeout: how long all of it may take together, from the begin of the shutdown on. Zero or less
    ///   gives up at once what has not ended. More than 292 years, and ``TimeLimit/never``, count as that.
    public init(timeout: TimeLimit) {
        self.timeout = timeout
    }

    /// Adds a work queue, serial or concurrent. Late works that have not begun are dropped.
    public func draining(_ queue: WorkQueueBase) -> DrainService {
        adding(
            queue.name,
            { instant in
                queue.shutdown()
                return try await Self.isInTime { try await queue.drain(timeout: .until(instant)) }
            },
            giveUp: { queue.shutdown(cancelsPending: true) })
    }

    /// Adds a queue of tasks in order. Late tasks go on.
    public func draining(_ queue: FIFOQueue) -> DrainService {
        adding(
            queue.name,
            { instant in
                queue.shutdown()
                return try await Self.isInTime { try await queue.drain(timeout: .until(instant)) }
            },
            giveUp: { queue.shutdown() })
    }

    /// Adds an actor's queue of tasks in order. Late tasks go on.
    public func draining<ActorType: Actor>(_ queue: ActorQueue<ActorType>) -> DrainService {
        adding(
            queue.name,
            { instant in
                queue.shutdown()
                return try await Self.isInTime { try await queue.drain(timeout: .until(instant)) }
            },
            giveUp: { queue.shutdown() })
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

    /// Adds anything else that ends.
    ///
    /// - Parameters:
    ///   - name: what errors call it.
    ///   - drain: ends it, and returns whether that was done by the instant. It is called once, or, where the
    ///     service is cancelled or late, with an instant that has passed. It throws if its task is cancelled.
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

    /// The instant at which a shutdown that begins now is late. An instant has no room for every span.
    private func deadline() -> ContinuousClock.Instant {
        // In this order, so that the instant is never early.
        let now = csk_now(), rest = max(timeout.deadline() - now, 0)
        return .now + .nanoseconds(rest)
    }

    /// Suspends the task until the group shuts down, then ends what was added, in that order.
    ///
    /// - Throws: ``DrainServiceError/timedOut(_:)``; `CancellationError` if the task is cancelled, before or during
    ///   the shutdown: then all is given up at once.
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

/// Why a ``DrainService`` did not end all that it was to end.
public enum DrainServiceError: Error, Sendable, Hashable {
    /// These had not ended at the deadline: their names, in the order in which they were added.
    case timedOut([String])
}

#endif
