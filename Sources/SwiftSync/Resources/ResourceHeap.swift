import CSyncKernel

/// The links of an object in a ``ResourceHeap``, which knows this memory by the address of `node`.
@safe
struct HeapPlace {
    var node = unsafe csk_heap_node_t()
    /// Used if there is a bypass limit.
    var arrival = unsafe csk_arrival_t()
    /// Nil while the object is in no heap.
    @safe var owner: Unmanaged<AnyObject>?
}

/// An object that can be in one heap at a time.
protocol HeapMember: AnyObject {
    /// Memory of the object's own, which lasts as long as the object.
    var heapPlace: UnsafeMutablePointer<HeapPlace> { get }
}

/// Objects by rank, the highest first, and within one rank by ticket. It is the kernel's heap: adding costs O(1), and
/// taking out O(log n) amortized, wherever the object stands. The pool's lock guards it.
///
/// It holds no reference to its objects. The code that adds an object keeps it until it is taken out.
@safe
struct ResourceHeap<Member: HeapMember> {
    private var heap = unsafe csk_heap_t()
    private(set) var count = 0

    /// The first in order.
    var first: Member? {
        mutating get {
            guard let node = unsafe csk_heap_top(&heap) else { return nil }
            return unsafe member(at: Layout.whole(of: node, at: \HeapPlace.node))
        }
    }

    /// The object at that place. It must be in this heap.
    func member(at place: UnsafeMutablePointer<HeapPlace>) -> Member {
        unsafe unsafeDowncast(place.pointee.owner.unsafelyUnwrapped.takeUnretainedValue(), to: Member.self)
    }

    mutating func insert(_ member: Member, rank: Int64, ticket: Int64 = 0) {
        let place = unsafe member.heapPlace
        unsafe place.pointee.owner = Unmanaged.passUnretained(member)
        unsafe place.pointee.node.rank = rank
        unsafe place.pointee.node.ticket = ticket
        unsafe csk_heap_insert(&heap, place.pointer(to: \.node)!)
        count += 1
    }

    /// Removes an object. Returns false, and does nothing, if it is not in this heap.
    @discardableResult
    mutating func remove(_ member: Member) -> Bool {
        let place = unsafe member.heapPlace
        if unsafe place.pointee.owner == nil { return false }
        unsafe csk_heap_remove(&heap, place.pointer(to: \.node)!)
        unsafe place.pointee.owner = nil
        count -= 1
        return true
    }
}
