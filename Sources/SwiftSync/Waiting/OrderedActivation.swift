import Synchronization

/// A task-local value that marks a stretch of an ordered queue's work, or the part of a task that another task runs for
/// it. The task of the work and its child tasks see it. A task that is about to wait for a queue, or for an object that
/// a task holds, learns from it whether that queue or task waits for it.
///
/// Child tasks see the value at the address where their parent has bound it. A `Task { }` gets a copy of it, elsewhere
/// in memory. The work need not wait for such a task, so only the bound value counts: `home` is the address of the
/// bound value.
///
/// Stretches that follow each other may share one activation: a copy that is left from an earlier stretch is not at the
/// address `home` either.
@safe
final class OrderedActivation: @unchecked Sendable {
    @TaskLocal private static var current: OrderedActivation?

    /// The address of the queue or task.
    private let waiting: UInt
    private let cancelledAt: Int64
    private let isShielded: Bool
    /// The stretch of work that encloses this one, in the same task or in the task whose child it is. The enclosing one
    /// lasts longer.
    @safe private var outer: Unmanaged<OrderedActivation>?
    /// The address of the bound value; 0 before and after.
    private let home = Atomic<UInt>(0)

    init(for queue: AnyObject) {
        waiting = UInt(bitPattern: ObjectIdentifier(queue))
        cancelledAt = Deadline.never
        isShielded = false
    }

    /// Marks a part of the calling task that another task runs, and for which it waits.
    ///
    /// - Parameter deadline: when the part is cancelled. Nil: it is shielded from all cancellation.
    init(cancelledAt deadline: Int64?) {
        waiting = RuntimeFacts.addressOfTask()
        cancelledAt = deadline ?? Deadline.never
        isShielded = deadline == nil
    }

    /// Runs `body` as work of `queue`. (It returns no result: generic async code is slow, and takes much of the task's
    /// memory.)
    @inline(__always)
    static func run(
        for queue: AnyObject, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
    ) async rethrows {
        try await OrderedActivation(for: queue).run(isolation: isolation, body)
    }

    /// Runs `body` as work of this activation's queue. It may be called repeatedly, but for one piece of work at a
    /// time. A task that is not a child task passes the activation in which its starter waits.
    @inline(__always)
    func run(
        inside enclosing: OrderedActivation? = enclosing, isolation: isolated (any Actor)?,
        _ body: () async throws -> Void
    ) async rethrows {
        outer = unsafe enclosing.map(Unmanaged.passUnretained)
        try await Self.$current.withValue(self) {
            // A closure that captures the isolation has it. Otherwise it would leave the caller's actor.
            _ = isolation
            unsafe home.store(UInt(bitPattern: Self.address), ordering: .relaxed)
            defer { home.store(0, ordering: .relaxed) }
            try await body()
        }
    }

    /// Returns true if the calling task, or a task that waits for it as its parent, is work of `queue` that has not
    /// ended.
    static func isInside(_ queue: AnyObject) -> Bool { isAwaited(by: UInt(bitPattern: ObjectIdentifier(queue))) }

    /// Returns true if the queue or task at that address waits for the calling task, directly or indirectly.
    static func isAwaited(by address: UInt) -> Bool {
        var next = enclosing
        while let activation = next {
            if activation.waiting == address { return true }
            next = unsafe activation.outer?.takeUnretainedValue()
        }
        return false
    }

    /// Returns true if the deadline of a part of a task that encloses the calling task cancels it at that time, or
    /// before.
    static func isCancelled(at deadline: Int64) -> Bool {
        var next = enclosing
        while let activation = next, !activation.isShielded {
            if activation.cancelledAt <= deadline { return true }
            next = unsafe activation.outer?.takeUnretainedValue()
        }
        return false
    }

    /// The innermost activation that waits for the calling task.
    static var enclosing: OrderedActivation? {
        guard let address = unsafe address,
            let activation = unsafe address.assumingMemoryBound(to: OrderedActivation?.self).pointee,
            activation.home.load(ordering: .relaxed) == UInt(bitPattern: address)
        else { return nil }
        return activation
    }

    /// The address of the value that the calling task sees.
    private static var address: UnsafeMutableRawPointer? { unsafe RuntimeFacts.address(of: $current) }
}
