/// A queue of elements in chunks of 64. It never allocates by itself, so it can be used under a lock.
///
/// A caller that appends checks `needsChunk` first, and supplies a chunk that was allocated before the lock was taken.
/// Emptied chunks are kept as spares, up to `spareLimit` of them. Only a queue that a single task owns may have such a
/// limit.
struct OrderedChunks<Element>: ~Copyable {
    static var chunkCapacity: Int { 64 }

    /// Memory for 64 elements behind a link.
    @safe
    struct Chunk {
        /// The header's size is malloc's alignment, which no element's alignment exceeds.
        private static var headerSize: Int { 16 }
        @safe private let memory: UnsafeMutableRawPointer

        init() {
            let size = Self.headerSize + OrderedChunks.chunkCapacity * MemoryLayout<Element>.stride
            memory = .allocate(byteCount: size, alignment: Self.headerSize)
            unsafe memory.bindMemory(to: UnsafeMutableRawPointer?.self, capacity: 1).initialize(to: nil)
        }

        private init(memory: UnsafeMutableRawPointer) { self.memory = unsafe memory }

        var next: Chunk? {
            get {
                unsafe memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self).pointee.map(Chunk.init(memory:))
            }
            nonmutating set {
                unsafe memory.assumingMemoryBound(to: UnsafeMutableRawPointer?.self).pointee = newValue?.memory
            }
        }

        subscript(index: Int) -> UnsafeMutablePointer<Element> {
            unsafe (memory + Self.headerSize).assumingMemoryBound(to: Element.self) + index
        }

        func free() { unsafe memory.deallocate() }
    }

    private let spareLimit: Int
    private var head: Chunk?
    private var tail: Chunk?
    /// The first element's index in `head`, and the index in `tail` at which the next element goes.
    private var headIndex = 0
    private var tailIndex = 0
    private var spares: Chunk?
    private var spareCount = 0
    private(set) var count = 0

    init(spareLimit: Int = .max) {
        self.spareLimit = spareLimit
    }

    deinit {
        var chunk = head, first = headIndex, left = count
        while let current = chunk {
            let here = min(left, Self.chunkCapacity - first)
            unsafe current[first].deinitialize(count: here)
            left -= here
            first = 0
            chunk = current.next
            current.free()
        }
        chunk = spares
        while let current = chunk {
            chunk = current.next
            current.free()
        }
    }

    var isEmpty: Bool { count == 0 }

    /// True when `append` has no place left.
    var needsChunk: Bool {
        (tail == nil || tailIndex == Self.chunkCapacity) && spares == nil
    }

    mutating func supply(_ chunk: Chunk) {
        chunk.next = spares
        spares = chunk
        spareCount += 1
    }

    mutating func append(_ element: consuming Element) {
        if tail == nil || tailIndex == Self.chunkCapacity { extend() }
        unsafe tail![tailIndex].initialize(to: element)
        tailIndex += 1
        count += 1
    }

    private mutating func extend() {
        guard let chunk = spares else {
            fatalError("OrderedChunks: an element was appended before a chunk was supplied")
        }
        spares = chunk.next
        spareCount -= 1
        chunk.next = nil
        if let tail { tail.next = chunk } else { head = chunk }
        tail = chunk
        tailIndex = 0
    }

    mutating func popFirst() -> Element? {
        guard count > 0, let chunk = head else { return nil }
        let element = unsafe chunk[headIndex].move()
        count -= 1
        headIndex += 1
        if count == 0 {
            // This is the only chunk left. The next element goes to its beginning.
            headIndex = 0
            tailIndex = 0
        } else if headIndex == Self.chunkCapacity {
            head = chunk.next
            headIndex = 0
            if spareCount < spareLimit { supply(chunk) } else { chunk.free() }
        }
        return element
    }

    /// Calls `body` with the first element, in its place.
    func withFirst<R>(_ body: (borrowing Element) -> R) -> R? {
        guard count > 0, let head else { return nil }
        return unsafe body(head[headIndex].pointee)
    }

    /// Removes the elements for which `isGone` is true, and keeps the order of the rest.
    /// - Complexity: O(n).
    mutating func removeAll(where isGone: (borrowing Element) -> Bool) {
        guard count > 0, var from = head else { return }
        var fromIndex = headIndex, to = from, toIndex = headIndex, kept = 0
        for _ in 0..<count {
            if fromIndex == Self.chunkCapacity { (from, fromIndex) = (from.next!, 0) }
            let element = unsafe from[fromIndex]
            fromIndex += 1
            if unsafe isGone(element.pointee) {
                unsafe element.deinitialize(count: 1)
                continue
            }
            if toIndex == Self.chunkCapacity { (to, toIndex) = (to.next!, 0) }
            if unsafe to[toIndex] != element { unsafe to[toIndex].moveInitialize(from: element, count: 1) }
            toIndex += 1
            kept += 1
        }
        while let emptied = to.next {
            to.next = emptied.next
            supply(emptied)
        }
        (tail, tailIndex, count) = (to, toIndex, kept)
        if kept == 0 { (headIndex, tailIndex) = (0, 0) }
    }

    /// Calls `body` with each element in order, in its place, until it returns a value.
    /// - Complexity: O(n).
    mutating func firstResult<R>(_ body: (inout Element) -> R?) -> R? {
        var chunk = head, index = headIndex
        for _ in 0..<count {
            if index == Self.chunkCapacity {
                chunk = chunk?.next
                index = 0
            }
            if let result = unsafe body(&chunk![index].pointee) { return result }
            index += 1
        }
        return nil
    }
}
