import Synchronization

/// The right to use one resource of a ``ResourcePool``, as long as a `withResource` runs.
public final class ResourceLease: Sendable {
    private let isKept = Atomic(true)

    /// The fate of a resource when its use has ended.
    public enum Disposition: Sendable, Hashable {
        /// The resource returns to the pool.
        case keep
        /// The resource is closed, and another is made when one is needed.
        case discard
    }

    @usableFromInline init() {}

    /// Marks the resource as broken: it is closed after this use, and another is made when one is needed. It may be
    /// called more than once, and from any thread; after the use has ended it does nothing.
    public func discard() { isKept.store(false, ordering: .relaxed) }

    @usableFromInline var disposition: Disposition { isKept.load(ordering: .relaxed) ? .keep : .discard }
}
