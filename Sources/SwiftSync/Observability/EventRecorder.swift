import CSyncKernel
import Synchronization

/// Keeps the newest events of a queue: which item was pushed, started, finished, cancelled or dropped, when, and by
/// which thread.
///
/// Every ``TaskQueue`` has one. It shows the events as lines of text, step by step in a terminal, or as a trace for
/// Perfetto and `chrome://tracing`.
///
/// ```swift
/// let queue = TaskQueue.getQueue(identifier: "downloads")
/// queue.push(task: Download(tag: "index"))
/// queue.recorder.reply()                                  // 13:49:20: Task index pushed to queue ...
/// let json = queue.recorder.chromeTrace()                 // for a file that ui.perfetto.dev opens
/// let last = queue.recorder.events.last?.kind
/// ```
///
/// The newest ``capacity`` events are kept, and older ones are forgotten. Memory grows with what is recorded, to at
/// most 48 bytes an event, plus the tags that are longer than 15 bytes. Don't use it in signal handlers. In a child of
/// `fork` it may be used unless another thread was just using it.
///
/// Every member may be called from any thread, and from inside a task. None waits for longer than another thread takes
/// to write one event or to copy 128, unless so many events are written meanwhile that a copy has to begin anew.
@safe
public final class EventRecorder: @unchecked Sendable {
    /// The name of the queue whose events these are. Traces show it.
    public let name: String
    /// The number of events that are kept at most.
    public let capacity: Int

    private let box: OwningGateBox<EventRing>
    /// The lock, inside the box.
    @safe private let gate: UnsafeMutablePointer<csk_gate_t>
    /// The events, inside the box, guarded by the lock.
    @safe let ring: UnsafeMutablePointer<EventRing>
    private let lastID = Atomic<UInt64>(0)

    /// Makes an empty recorder. It never blocks.
    ///
    /// - Parameters:
    ///   - name: the name of the queue, for traces.
    ///   - capacity: how many events are kept. It is rounded up to the next power of two, from 16 to 1 048 576.
    public init(name: String, capacity: Int = 4096) {
        self.name = name
        let events = EventRing(capacity: capacity)
        self.capacity = events.capacity
        box = unsafe .make(events, .fast, 0, .unknown)
        gate = box.gate
        ring = box.value
    }

    /// The number of events recorded so far, including those that are forgotten.
    public var recordedCount: UInt64 {
        lock()
        defer { unlock() }
        return ring.pointee.recorded
    }

    /// The events that are kept, the oldest first. They are those that were kept at one instant during the call.
    ///
    /// It is O(events). Other threads may record meanwhile.
    public var events: [Event] {
        var portion = Self.eventsPerPortion
        while true {
            if let events = events(inPortionsOf: portion) { return events }
            portion *= 2
        }
    }

    /// The number of events that are copied in one critical section. A thread that records waits for one such section
    /// only.
    private static let eventsPerPortion = 128

    /// Returns nil when the ring has overtaken the copy. Larger portions make that rarer, and it cannot happen once one
    /// portion is the whole ring.
    private func events(inPortionsOf portion: Int) -> [Event]? {
        var copied: [Event] = []
        var rest = lock(withRoomIn: &copied)
        while true {
            let isOvertaken = rest.lowerBound < ring.pointee.oldest
            if !isOvertaken {
                let end = min(rest.lowerBound + UInt64(portion), rest.upperBound)
                ring.pointee.copy(from: rest.lowerBound, to: end, into: &copied)
                rest = end..<rest.upperBound
            }
            unlock()
            if isOvertaken { return nil }
            if rest.isEmpty { return copied }
            lock()
        }
    }

    /// Takes the lock at a moment at which all events that are kept fit into the array, and returns their numbers.
    private func lock(withRoomIn copied: inout [Event]) -> Range<UInt64> {
        while true {
            lock()
            let kept = ring.pointee.oldest..<ring.pointee.recorded
            if kept.count <= copied.capacity { return kept }
            unlock()
            copied.reserveCapacity(min(2 * kept.count, capacity))
        }
    }

    // MARK: For queues

    /// Records that something happened just now, on this thread, to the item with that `id`. The item's queue has the
    /// `id` from ``makeID()``.
    ///
    /// A queue that has no recorder pays for one branch: `recorder?.record(.pushed, id: id, tag: label)`. The events of
    /// one recorder stand in the order of these calls. Call it where the queue decides, so that the order of events is
    /// that of the queue.
    package func record(_ kind: Event.Kind, id: UInt64, tag: String) {
        let thread = unsafe QueueThread.number(of: QueueThread.current)
        let now = csk_now()
        lock()
        let replaced = ring.pointee.append(kind, id: id, tag: tag, now: now, thread: thread)
        unlock()
        withExtendedLifetime(replaced) {}
    }

    /// Returns a number that no other item of this recorder has.
    package func makeID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    // MARK: The lock

    /// The number of events that one critical section may append.
    static let eventsPerSection = 2

    /// Takes the lock, with room for ``eventsPerSection`` events. A queue may guard its own state by this lock too.
    /// That saves a second lock, and the order of the queue's events is that of its decisions.
    func lock() {
        unsafe csk_gate_lock(gate, CommandPriority.normal.rawValue)
        if !ring.pointee.hasRoom(for: Self.eventsPerSection) { makeRoom() }
    }

    /// Takes the lock if it is free, for reading only: there may be no room for events.
    func lockIfFree() -> Bool { unsafe csk_gate_trylock(gate, CommandPriority.normal.rawValue) == 0 }

    func unlock() {
        unsafe csk_gate_unlock(gate)
    }

    /// Memory is allocated outside the lock, so another thread may have been faster.
    private func makeRoom() {
        while !ring.pointee.hasRoom(for: Self.eventsPerSection) {
            let size = ring.pointee.nextChunkSize
            unlock()
            let chunk = UnsafeMutablePointer<Event>.allocate(capacity: size)
            unsafe csk_gate_lock(gate, CommandPriority.normal.rawValue)
            if unsafe !ring.pointee.add(chunk, size: size) {
                unlock()
                unsafe chunk.deallocate()
                unsafe csk_gate_lock(gate, CommandPriority.normal.rawValue)
            }
        }
    }
}

/// Another name for ``EventRecorder``: the type of a queue's `recorder`.
///
/// ```swift
/// let recorder: Recorder = TaskQueue.getQueue(identifier: "downloads").recorder
/// recorder.reply()
/// ```
public typealias Recorder = EventRecorder
