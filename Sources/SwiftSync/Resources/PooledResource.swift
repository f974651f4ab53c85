/// A resource of a pool, and what the pool knows of it, whatever its type: so all of the pool but its calls is compiled
/// for one type.
@usableFromInline
class PooledResource: @unchecked Sendable {
    /// Since when it has been idle or in use. The pool's lock guards this, and what follows.
    final var since: Int64 = 0
    /// Who uses it, and where it stands among those that are used.
    final var request: ResourceRequest?
    final var position = 0
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

/// What a task gets when its turn has come.
enum ResourceTurn {
    /// A resource, whose use has begun.
    case use(PooledResource)
    /// The place of a resource that the task has made.
    case place
    /// The pool is shut down.
    case refusal
}
