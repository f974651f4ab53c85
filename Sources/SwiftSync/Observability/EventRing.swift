/// The newest events of a queue, in memory that grows with their number and never moves. The owner's lock guards it.
/// The ring neither allocates nor frees under that lock.
///
/// Chunks hold 16, 16, 32, 64, ... slots. So the first slot of chunk k > 0 is 16 << (k - 1), and the highest bit of the
/// slot's number finds the chunk.
@safe
struct EventRing: ~Copyable {
    private typealias Event = EventRecorder.Event
    private static let firstChunkBits = 4

    let capacity: Int
    @safe private let chunks: UnsafeMutablePointer<UnsafeMutablePointer<EventRecorder.Event>?>
    private let chunkLimit: Int
    private var chunkCount = 0
    /// The number of slots that have memory.
    private var slotCount = 0
    /// The place of the next event while its chunk has `slotsLeft`, and the index of that chunk.
    @safe private var next: UnsafeMutablePointer<EventRecorder.Event>?
    private var slotsLeft = 0
    private var currentChunk = -1
    private var depth: UInt32 = 0
    private var newest: Int64 = 0
    /// The number of all events that ever were.
    private(set) var recorded: UInt64 = 0

    init(capacity wanted: Int) {
        let bits = (min(max(wanted, 16), 1 << 20) - 1)
        let log2 = Int.bitWidth - bits.leadingZeroBitCount
        capacity = 1 << log2
        chunkLimit = log2 - Self.firstChunkBits + 1
        chunks = .allocate(capacity: chunkLimit)
        unsafe chunks.initialize(repeating: nil, count: chunkLimit)
    }

    deinit {
        for number in oldest..<recorded { unsafe slot(number).deinitialize(count: 1) }
        for index in 0..<chunkCount { unsafe chunks[index]?.deallocate() }
        unsafe chunks.deallocate()
    }

    /// The number of the oldest event that is kept.
    var oldest: UInt64 { recorded > UInt64(capacity) ? recorded - UInt64(capacity) : 0 }

    func hasRoom(for count: Int) -> Bool {
        slotCount == capacity || recorded + UInt64(count) <= UInt64(slotCount)
    }

    /// The number of slots that the next chunk must have.
    var nextChunkSize: Int { chunkCount == 0 ? 1 << Self.firstChunkBits : slotCount }

    /// Takes over the memory. It returns false if the chunk is not of the size that is needed now.
    mutating func add(_ chunk: UnsafeMutablePointer<EventRecorder.Event>, size: Int) -> Bool {
        guard chunkCount < chunkLimit, size == nextChunkSize else { return false }
        unsafe chunks[chunkCount] = chunk
        chunkCount += 1
        slotCount += size
        return true
    }

    /// Appends an event, for which there must be room. It returns the tag that the event replaces, which the caller
    /// releases outside the lock.
    mutating func append(_ kind: EventRecorder.Event.Kind, id: UInt64, tag: String, now: Int64, thread: Int32) -> String
    {
        if kind == .pushed { depth &+= 1 } else if kind != .started, depth > 0 { depth &-= 1 }
        if now > newest { newest = now }
        if slotsLeft == 0 { enterNextChunk() }
        let place = unsafe next.unsafelyUnwrapped
        next = unsafe place + 1
        slotsLeft &-= 1
        let event = Event(kind, id: id, tag: tag, nanoseconds: newest, thread: thread, depth: depth)
        var replaced = ""
        if recorded >= UInt64(capacity) { replaced = unsafe place.move().tag }
        unsafe place.initialize(to: event)
        recorded &+= 1
        return replaced
    }

    private mutating func enterNextChunk() {
        currentChunk = currentChunk + 1 == chunkLimit ? 0 : currentChunk + 1
        next = unsafe chunks[currentChunk]
        slotsLeft = 1 << (Self.firstChunkBits + max(currentChunk - 1, 0))
    }

    /// Appends the events numbered `first..<end` to an array that has the room.
    func copy(from first: UInt64, to end: UInt64, into copied: inout [EventRecorder.Event]) {
        for number in first..<end { unsafe copied.append(slot(number).pointee) }
    }

    private func slot(_ number: UInt64) -> UnsafeMutablePointer<EventRecorder.Event> {
        let index = Int(truncatingIfNeeded: number) & (capacity - 1)
        let chunk = Int.bitWidth - (index >> Self.firstChunkBits).leadingZeroBitCount
        let first = chunk == 0 ? 0 : 1 << (chunk + Self.firstChunkBits - 1)
        return unsafe chunks[chunk].unsafelyUnwrapped + (index - first)
    }
}
