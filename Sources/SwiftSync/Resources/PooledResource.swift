/// A resource of a pool, type-erased, and its state: so all of the pool except its calls is compiled for one type.
@usableFromInline
class PooledResource: HeapMember, ResourceListed, @unchecked Sendable {
    /// The time from which it is too old to be used. It is written before the pool has the resource.
    final var expires = Deadline.never
    /// The time since which it has been idle or in use. The pool's lock guards this and the following fields.
    final var since: Int64 = 0
    /// Its user.
    final var request: ResourceRequest?
    /// Its place among the pool's resources.
    final var position = 0
    final var idleLinks = IdleLinks()
    @exclusivity(unchecked) private final var memory = HeapPlace()

    final var heapPlace: UnsafeMutablePointer<HeapPlace> { unsafe RuntimeFacts.lastingAddress(of: &memory) }
}

/// A pooled resource with the resource itself.
@usableFromInline
final class Pooled<Resource: Sendable>: PooledResource, @unchecked Sendable {
    @usableFromInline let resource: Resource

    init(_ resource: Resource) { self.resource = resource }
}

/// A request for a resource: its rank, whether it may use the reserved places, and its location in the program.
struct ResourceRequest {
    let rank: Int64
    let mayUseReserve: Bool
    let file: StaticString
    let line: UInt
}
