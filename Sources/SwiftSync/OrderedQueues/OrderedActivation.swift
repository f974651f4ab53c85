import Synchronization

/// A stretch of work of an ordered queue, as a task local that the task of the work and its child tasks see. It tells a
/// task that is about to wait for a queue whether that queue waits for the task.
///
/// Child tasks see the value where their parent has bound it; `Task { }` gets a copy of it, elsewhere in memory. Nobody
/// waits for such a task by necessity, so only the bound value counts: `home` is where that is.
///
/// Stretches that follow each other may share one: a copy of it that is left from an earlier one is not at home either.
final class OrderedActivation: @unchecked Sendable {
    @TaskLocal private static var current: OrderedActivation?

    private let queue: ObjectIdentifier
    /// The stretch of work that this one is inside of, in the same task or in that whose child it is: it lasts longer.
    private var outer: Unmanaged<OrderedActivation>?
    /// The address of the bound value; 0 before and after.
    private let home = Atomic<UInt>(0)

    init(for queue: AnyObject) {
        self.queue = ObjectIdentifier(queue)
    }

    /// Runs `body` as work of `queue`. (Without a result: generic async code is slow, and large in the memory of the
    /// task.)
    @inline(__always)
    static func run(
        for queue: AnyObject, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
    ) async rethrows {
        try await OrderedActivation(for: queue).run(isolation: isolation, body)
    }

    /// The same again and again, one at a time.
    @inline(__always)
    func run(isolation: isolated (any Actor)?, _ body: () async throws -> Void) async rethrows {
        outer = Self.enclosing.map(Unmanaged.passUnretained)
        try await Self.$current.withValue(self) {
            home.store(UInt(bitPattern: Self.address), ordering: .relaxed)
            defer { home.store(0, ordering: .relaxed) }
            try await body()
        }
    }

    /// True if the calling task, or one that waits for it as its parent, is work of `queue` that has not ended.
    static func isInside(_ queue: AnyObject) -> Bool {
        var next = enclosing
        while let activation = next {
            if activation.queue == ObjectIdentifier(queue) { return true }
            next = activation.outer?.takeUnretainedValue()
        }
        return false
    }

    /// The innermost one that waits for the calling task.
    private static var enclosing: OrderedActivation? {
        guard let address, let activation = address.assumingMemoryBound(to: OrderedActivation?.self).pointee,
            activation.home.load(ordering: .relaxed) == UInt(bitPattern: address)
        else { return nil }
        return activation
    }

    /// Where the value is that the calling task sees.
    private static var address: UnsafeMutableRawPointer? { RuntimeFacts.address(of: $current) }
}
