import Synchronization

/// Hands the changes of a queue to who observes it, in order.
///
/// A batch holds what one call has changed. Its memory comes from before the queue's lock; under the lock it is filled and queued, so
/// batches stand in the order of the changes. Whoever queues one while nobody delivers, delivers all until none is left: handlers run one at a time, and what
/// they change themselves is delivered by the same loop, without recursion.
final class TaskQueueChanges: @unchecked Sendable {
    final class Batch {
        @exclusivity(unchecked) fileprivate var changes: [TaskQueue.Change] = []
        @exclusivity(unchecked) fileprivate var observers: [TaskQueue.Observation] = []
        @exclusivity(unchecked) fileprivate var next: Batch?

        init() {
            changes.reserveCapacity(3)
        }

        func add(_ change: TaskQueue.Change) {
            changes.append(change)
        }

        fileprivate func deliver() {
            for change in changes {
                for observer in observers { observer.handler(change) }
            }
        }
    }

    private let recorder: EventRecorder
    /// So that a queue that nobody observes pays for one look.
    private let isObserved = Atomic(false)
    // Guarded by the recorder's lock, which is the queue's.
    @exclusivity(unchecked) private var observers: [TaskQueue.Observation] = []
    @exclusivity(unchecked) private var version = 0
    @exclusivity(unchecked) private var first: Batch?
    @exclusivity(unchecked) private var last: Batch?
    @exclusivity(unchecked) private var isDelivering = false

    init(recorder: EventRecorder) {
        self.recorder = recorder
    }

    /// What the caller is about to change, nil if nobody wants to know. Before the lock.
    @inline(__always)
    func newBatch() -> Batch? {
        isObserved.load(ordering: .relaxed) ? Batch() : nil
    }

    /// Whether somebody observes, at some instant during the call.
    var isObservedNow: Bool { isObserved.load(ordering: .relaxed) }

    /// Queues what was changed. Under the lock. True when the caller is to call `deliver` after it.
    func queue(_ batch: Batch) -> Bool {
        batch.observers = observers
        if let last { last.next = batch } else { first = batch }
        last = batch
        defer { isDelivering = true }
        return !isDelivering
    }

    /// Without the lock.
    func deliver() {
        while let batch = next() { batch.deliver() }
    }

    private func next() -> Batch? {
        recorder.lock()
        defer { recorder.unlock() }
        guard let batch = first else {
            isDelivering = false
            return nil
        }
        first = batch.next.take()
        if first == nil { last = nil }
        return batch
    }

    /// Makes the new list outside the lock, anew if another thread has been faster.
    func replaceObservers(_ change: ([TaskQueue.Observation]) -> [TaskQueue.Observation]) {
        while true {
            recorder.lock()
            let old = observers, seen = version
            recorder.unlock()
            let new = change(old)
            recorder.lock()
            let isReplaced = version == seen
            if isReplaced {
                observers = new
                version += 1
                isObserved.store(!new.isEmpty, ordering: .relaxed)
            }
            recorder.unlock()
            if isReplaced { return withExtendedLifetime(old) {} }
        }
    }
}
