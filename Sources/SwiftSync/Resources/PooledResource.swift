/// A resource of a pool, and what the pool knows of it, whatever its type: so all of the pool but its calls is compiled
/// for one type.
@usableFromInline
class PooledResource: HeapMember, ResourceListed, @unchecked Sendable {
    /// When it is too old to be used. It is written before the pool knows of the resource.
    final var expires = Deadline.never
    /// Since when it has been idle or in use. The pool's lock guards this, and what follows.
    final var since: Int64 = 0
    /// Who uses it.
    final var request: ResourceRequest?
    /// Where it stands among the pool's.
    final var position = 0
    final var idleLinks = IdleLinks()
    @exclusivity(unchecked) private final var memory = HeapPlace()

    final var heapPlace: UnsafeMutablePointer<HeapPlace> { unsafe RuntimeFacts.lastingAddress(of: &memory) }
}

/// One with the resource itself.
@usableFromInline
final class Pooled<Resource: Sendable>: PooledResource, @unchecked Sendable {
    @usableFromInline let resource: Resource

    init(_ resource: Resource) { self.resource = resource }
}

/// Who asks for a resource: in what order, whether it may have what is reserved, and where it stands in the program.
struct ResourceRequest {
    let rank: Int64
    let mayUseReserve: Bool
    let file: StaticString
    let line: UInt
}
