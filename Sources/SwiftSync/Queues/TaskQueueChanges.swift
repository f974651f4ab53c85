import Dispatch
import Glibc
import Synchronization

/// Hands the changes of a queue to who observes it, in order.
///
/// A batch holds what one call has changed. Its memory comes from before the queue's lock; under the lock it is filled and queued, so
/// batches stand in the order of the changes. Whoever queues one while nobody delivers, delivers all until none is left: handlers run one at a
/// time, and what they change themselves is delivered by the same loop, without recursion.
///
/// Two things are bounded. How many batches wait: a push that finds ``capacity`` of them waits for half to be told. And how long
/// one thread delivers what others queue: after ``turn`` batches the next push waits for the handler that runs and then delivers in its
/// stead. A push waits for ``patience`` at most, since a handler may wait for what the pusher has yet to do; and never on the thread that
/// delivers, nor does the end of a task ever wait. So a handler that comes back delays pushes, and one that does not slows them down;
/// none hangs.
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

    /// A push that waits, for room or to deliver. All but the semaphore is guarded by the recorder's lock.
    final class Waiter {
        fileprivate enum Answer { case none, goOn, deliver }

        fileprivate let isAnswered = DispatchSemaphore(value: 0)
        @exclusivity(unchecked) fileprivate var answer = Answer.none
    }

    /// What is left to do for a call that has queued a batch.
    enum Duty {
        case none
        case deliver
        case wait(Waiter)
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
    @exclusivity(unchecked) private var waiters: [Waiter] = []

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
        guard mayWait, waitingCount > Self.capacity || takenCount >= Self.turn, deliverer != pthread_self() else { return .none }
        let waiter = Waiter()
        waiters.append(waiter)
        return .wait(waiter)
    }

    /// Without the lock.
    func perform(_ duty: Duty) {
        switch duty {
        case .none: break
        case .deliver: deliver()
        case .wait(let waiter): wait(waiter)
        }
    }

    private func wait(_ waiter: Waiter) {
        if waiter.isAnswered.wait(timeout: .now() + Self.patience) == .timedOut {
            recorder.lock()
            waiters.removeAll { $0 === waiter }
            recorder.unlock()
        }
        // Off the list, nobody changes it any more.
        if waiter.answer == .deliver { deliver() }
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
        defer { recorder.unlock() }
        if isFirst {
            deliverer = pthread_self()
            takenCount = 0
        }
        if takenCount >= Self.turn, !waiters.isEmpty, first != nil {
            deliverer = nil
            answer(waiters.removeFirst(), .deliver)
            return nil
        }
        if waitingCount <= Self.capacity / 2, takenCount < Self.turn || first == nil {
            for waiter in waiters { answer(waiter, .goOn) }
            waiters.removeAll(keepingCapacity: true)
        }
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

    private func answer(_ waiter: Waiter, _ answer: Waiter.Answer) {
        waiter.answer = answer
        waiter.isAnswered.signal()
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
