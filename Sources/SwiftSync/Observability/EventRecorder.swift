import CSyncKernel
import Synchronization

/// Keeps the last events of a queue: what was pushed, started, finished, cancelled or dropped, when, by which thread.
///
/// Every ``TaskQueue`` has one. It answers what happened: as lines of text, step by step in a terminal, or as a trace
/// that Perfetto and `chrome://tracing` show.
///
/// ```swift
/// let queue = TaskQueue.getQueue(identifier: "downloads")
/// queue.push(task: Download(tag: "index"))
/// queue.recorder.reply()                                  // 13:49:20: Task index pushed to queue ...
/// let json = queue.recorder.chromeTrace()                 // for a file that ui.perfetto.dev opens
/// let last = queue.recorder.events.last?.kind
/// ```
///
/// The newest ``capacity`` events are kept, and older ones forgotten. Memory grows with what is recorded, to 48 bytes
/// an event at most, and to the tags that are longer than 15 bytes. Every member may be called from any thread, and
/// from inside a task; none waits for longer than another thread takes to write one event or to copy 128 (more only
/// where so many are written meanwhile that a copy has to begin anew). Not for signal handlers. In a child of `fork` it
/// may be used unless another thread was just using it.
public final class EventRecorder: @unchecked Sendable {
    /// The name of the queue whose events these are.
    public let label: String
    /// How many events are kept at most.
    public let capacity: Int

    private let box: OwningGateBox<EventRing>
    /// Inside the box.
    private let gate: UnsafeMutablePointer<csk_gate_t>
    /// Inside the box; guarded by the lock.
    let ring: UnsafeMutablePointer<EventRing>
    private let lastID = Atomic<UInt64>(0)

    /// Makes an empty recorder. Never blocks.
    ///
    /// - Parameters:
    ///   - label: the name of the queue, for traces.
    ///   - capacity: how many events are kept: the next power of two, from 16 to 1 048 576.
    public init(label: String, capacity: Int = 4096) {
        self.label = label
        let events = EventRing(capacity: capacity)
        self.capacity = events.capacity
        box = .make(events, .fast, 0)
        gate = box.gate
        ring = box.value
    }

    /// How many events were recorded so far, those that are forgotten included.
    public var recordedCount: UInt64 {
        lock()
        defer { unlock() }
        return ring.pointee.recorded
    }

    /// The events that are kept, the oldest first. O(events); others may record meanwhile.
    ///
    /// They are those that were kept at one instant during the call.
    public var events: [Event] {
        var portion = Self.eventsPerPortion
        while true {
            if let events = events(inPortionsOf: portion) { return events }
            portion *= 2
        }
    }

    /// So many events are copied in one critical section: who records waits for one of them only.
    private static let eventsPerPortion = 128

    /// Nil when the ring has overtaken the copy. With larger portions it does so less, and not at all once one is all
    /// of the ring.
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

    /// Records that something happened just now, on this thread, to the item with that `id`, which its queue has from
    /// ``makeID()``.
    ///
    /// A queue that has no recorder pays for one branch: `recorder?.record(.pushed, id: id, tag: label)`. The events of
    /// one recorder stand in the order of these calls; call it where the queue decides, or the order of events is not
    /// that of the queue.
    package func record(_ kind: Event.Kind, id: UInt64, tag: String) {
        let thread = QueueThread.number(of: QueueThread.current)
        let now = csk_now()
        lock()
        let replaced = ring.pointee.append(kind, id: id, tag: tag, now: now, thread: thread)
        unlock()
        withExtendedLifetime(replaced) {}
    }

    /// A number that no other item of this recorder has.
    package func makeID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    // MARK: The lock

    /// Events that one critical section may append.
    static let eventsPerSection = 2

    /// Takes the lock, with room for ``eventsPerSection`` events. A queue may guard its own state by it too, which
    /// saves a second lock, and makes the order of its events that of its decisions.
    func lock() {
        csk_gate_lock(gate, CommandPriority.normal.rawValue)
        if !ring.pointee.hasRoom(for: Self.eventsPerSection) { makeRoom() }
    }

    func unlock() {
        csk_gate_unlock(gate)
    }

    /// Memory comes from outside the lock, so another thread may have been faster.
    private func makeRoom() {
        while !ring.pointee.hasRoom(for: Self.eventsPerSection) {
            let size = ring.pointee.nextChunkSize
            unlock()
            let chunk = UnsafeMutablePointer<Event>.allocate(capacity: size)
            csk_gate_lock(gate, CommandPriority.normal.rawValue)
            if !ring.pointee.add(chunk, size: size) {
                unlock()
                chunk.deallocate()
                csk_gate_lock(gate, CommandPriority.normal.rawValue)
            }
        }
    }
}

/// Another name of ``EventRecorder``: the type of a queue's `recorder`.
///
/// ```swift
/// let recorder: Recorder = TaskQueue.getQueue(identifier: "downloads").recorder
/// recorder.reply()
/// ```
public typealias Recorder = EventRecorder
