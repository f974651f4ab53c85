/// The place of a resource among the idle ones.
@safe
struct IdleLinks {
    fileprivate var isIdle = false
    @safe fileprivate var older: Unmanaged<PooledResource>?
    @safe fileprivate var newer: Unmanaged<PooledResource>?
}

/// The idle resources, in the order in which they became idle. Each step costs O(1), wherever the resource stands: a
/// resource that is too old is taken out of the middle. The pool's lock guards it.
///
/// It holds no references. The pool keeps each resource until it is closed.
@safe
struct IdleResources {
    @safe private var first: Unmanaged<PooledResource>?
    @safe private var last: Unmanaged<PooledResource>?
    private(set) var count = 0

    var oldest: PooledResource? { unsafe first?.takeUnretainedValue() }
    var newest: PooledResource? { unsafe last?.takeUnretainedValue() }

    func contains(_ resource: PooledResource) -> Bool { resource.idleLinks.isIdle }

    mutating func append(_ resource: PooledResource) {
        let link = unsafe Unmanaged.passUnretained(resource)
        resource.idleLinks = unsafe IdleLinks(isIdle: true, older: last, newer: nil)
        if let newest { unsafe newest.idleLinks.newer = link } else { unsafe first = link }
        unsafe last = link
        count += 1
    }

    mutating func remove(_ resource: PooledResource) {
        let links = resource.idleLinks
        if let older = unsafe links.older?.takeUnretainedValue() {
            older.idleLinks.newer = links.newer
        } else {
            first = links.newer
        }
        if let newer = unsafe links.newer?.takeUnretainedValue() {
            newer.idleLinks.older = links.older
        } else {
            last = links.older
        }
        resource.idleLinks = IdleLinks()
        count -= 1
    }
}
