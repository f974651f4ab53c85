import Dispatch
import Glibc
import Synchronization

/// Hands the changes of a queue to who observes it, in order.
///
/// A batch holds what one call has changed. Its memory comes from before the queue's lock; under the lock it is filled
/// and queued, so batches stand in the order of the changes. Whoever queues one while nobody delivers, delivers all
/// until none is left: handlers run one at a time, and what they change themselves is delivered by the same loop,
/// without recursion.
///
/// Two things are bounded. How many batches wait: a push that finds ``capacity`` of them waits for half to be told. And
/// how long one thread delivers what others queue: after ``turn`` batches the next push waits for the handler that runs
/// and then delivers in its stead. A push waits for ``patience`` at most, since a handler may wait for what the pusher
/// has yet to do; and never on the thread that delivers, nor does the end of a task ever wait. So a handler that comes
/// back delays pushes, and one that does not slows them down; none hangs.
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

    /// A push that waits, for room or to deliver. Made, woken and freed outside the recorder's lock, which guards the
    /// rest.
    private final class Waiter {
        enum Answer { case none, goOn, deliver }

        let isAnswered = DispatchSemaphore(value: 0)
        @exclusivity(unchecked) var answer = Answer.none
        @exclusivity(unchecked) var next: Waiter?
    }

    /// What is left to do for a call that has queued a batch.
    enum Duty {
        case none
        case deliver
        case wait
    }

    static let capacity = 1024
    static let turn = 1024
    static let patience = DispatchTimeInterval.milliseconds(100)

    private let recorder: EventRecorder
    /// So that a queue that nobody observes pays for one look.
    private let isObserved = Atomic(false)
    // Guarded by the recorder's lock, which is the queue's.
    @exclusivity(unchecked) private var observers: [TaskQueue.Observation] = []
    @exclusivity(unchecked) private var version = 0
    @exclusivity(unchecked) private var first: Batch?
    @exclusivity(unchecked) private var last: Batch?
    @exclusivity(unchecked) private var waitingCount = 0
    @exclusivity(unchecked) private var isDelivering = false
    /// Who delivers; nil while the next one has yet to begin.
    @exclusivity(unchecked) private var deliverer: pthread_t?
    /// How many batches the deliverer has taken.
    @exclusivity(unchecked) private var takenCount = 0
    @exclusivity(unchecked) private var firstWaiter: Waiter?
    @exclusivity(unchecked) private var lastWaiter: Waiter?

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

    /// How many batches nobody has begun to deliver.
    var untoldCount: Int {
        recorder.lock()
        defer { recorder.unlock() }
        return waitingCount
    }

    /// Queues what was changed. Under the lock; what it returns is for `perform`, after it.
    func queue(_ batch: Batch, mayWait: Bool) -> Duty {
        batch.observers = observers
        if let last { last.next = batch } else { first = batch }
        last = batch
        waitingCount += 1
        if !isDelivering {
            isDelivering = true
            return .deliver
        }
        return mayWait && isBehind ? .wait : .none
    }

    /// Whether a push on this thread is to wait. Under the lock.
    private var isBehind: Bool {
        isDelivering && (waitingCount > Self.capacity || takenCount >= Self.turn) && deliverer != pthread_self()
    }

    /// Without the lock.
    func perform(_ duty: Duty) {
        switch duty {
        case .none: break
        case .deliver: deliver()
        case .wait: wait()
        }
    }

    private func wait() {
        let waiter = Waiter()
        recorder.lock()
        let waits = isBehind
        if waits {
            if let lastWaiter { lastWaiter.next = waiter } else { firstWaiter = waiter }
            lastWaiter = waiter
        }
        recorder.unlock()
        guard waits else { return }
        _ = waiter.isAnswered.wait(timeout: .now() + Self.patience)
        recorder.lock()
        // An answer may have come just after the time was over.
        if waiter.answer == .none { remove(waiter) }
        let answer = waiter.answer
        recorder.unlock()
        if answer == .deliver { deliver() }
    }

    /// Under the lock. Its thread keeps it alive, as those of the others do.
    private func remove(_ waiter: Waiter) {
        var previous: Waiter?
        var found = firstWaiter
        while let other = found, other !== waiter { (previous, found) = (other, other.next) }
        if let previous { previous.next = waiter.next } else { firstWaiter = waiter.next }
        if waiter.next == nil { lastWaiter = previous }
        waiter.next = nil
    }

    private func deliver() {
        var isFirst = true
        while let batch = next(isFirst) {
            isFirst = false
            batch.deliver()
        }
    }

    /// The oldest batch. Nil when there is none, or when somebody else goes on.
    private func next(_ isFirst: Bool) -> Batch? {
        recorder.lock()
        if isFirst {
            deliverer = pthread_self()
            takenCount = 0
        }
        var answered = answerWaiters()
        let batch = deliverer == nil ? nil : take()
        recorder.unlock()
        while let waiter = answered {
            answered = waiter.next.take()
            waiter.isAnswered.signal()
        }
        return batch
    }

    /// Under the lock. Gives the waiters to be woken; without a deliverer the first of them is the next.
    private func answerWaiters() -> Waiter? {
        if takenCount >= Self.turn, first != nil, let waiter = firstWaiter {
            firstWaiter = waiter.next.take()
            if firstWaiter == nil { lastWaiter = nil }
            waiter.answer = .deliver
            deliverer = nil
            return waiter
        }
        guard waitingCount <= Self.capacity / 2, takenCount < Self.turn || first == nil else { return nil }
        let answered = firstWaiter.take()
        lastWaiter = nil
        var waiter = answered
        while let found = waiter {
            found.answer = .goOn
            waiter = found.next
        }
        return answered
    }

    /// Under the lock.
    private func take() -> Batch? {
        guard let batch = first else {
            isDelivering = false
            deliverer = nil
            return nil
        }
        first = batch.next.take()
        if first == nil { last = nil }
        waitingCount -= 1
        takenCount += 1
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
