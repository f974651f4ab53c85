import CSyncKernel
import Dispatch
import Synchronization

/// Delivers the changes of a queue to its observers, in order.
///
/// A batch holds the changes that one call has made. Its memory is allocated before the queue's lock is taken. It is
/// filled and queued under the lock, so batches stand in the order of the changes. A thread that queues a batch while
/// no thread delivers becomes the deliverer: it delivers all batches until none is left. So handlers run one at a time,
/// and the changes that handlers make themselves are delivered by the same loop, without recursion.
///
/// Two things are bounded. The first is the number of waiting batches: a push that finds ``capacity`` of them waits
/// until half are delivered. The second is how long one thread delivers what others queue: after ``turn`` batches the
/// next push waits for the handler that runs, and then its thread becomes the deliverer. A push waits for ``patience``
/// at most, since a handler may wait for something that the pushing thread has yet to do. A push on the delivering
/// thread never waits, and neither does the end of a task. So a handler that returns delays pushes, and a handler that
/// does not return slows them down; neither hangs them.
@safe
final class TaskQueueChanges: @unchecked Sendable {
    final class Batch {
        @safe @exclusivity(unchecked) fileprivate var changes: [TaskQueue.Change] = []
        @safe @exclusivity(unchecked) fileprivate var observers: [TaskQueueObserver] = []
        @safe @exclusivity(unchecked) fileprivate var next: Batch?

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

    /// A push that waits for room or to become the deliverer. It is made, woken and freed outside the recorder's lock,
    /// which guards its other state.
    private final class Waiter {
        enum Answer { case none, goOn, deliver }

        let isAnswered = DispatchSemaphore(value: 0)
        @safe @exclusivity(unchecked) var answer = Answer.none
        @safe @exclusivity(unchecked) var next: Waiter?
    }

    /// The action that a call which has queued a batch still has to take.
    enum Duty {
        case none
        case deliver
        case wait
    }

    static let capacity = 1024
    static let turn = 1024
    static let patience = DispatchTimeInterval.milliseconds(100)

    private let recorder: EventRecorder
    /// An unobserved queue pays only for one load of this.
    private let isObserved = Atomic(false)
    // The recorder's lock, which is also the queue's, guards the following fields.
    @safe @exclusivity(unchecked) private var observers: [TaskQueueObserver] = []
    @safe @exclusivity(unchecked) private var version = 0
    @safe @exclusivity(unchecked) private var first: Batch?
    @safe @exclusivity(unchecked) private var last: Batch?
    @safe @exclusivity(unchecked) private var waitingCount = 0
    @safe @exclusivity(unchecked) private var isDelivering = false
    /// The thread that delivers; nil while the next deliverer has yet to begin. It comes from `csk_self`:
    /// `pthread_self` is declared as constant, so the optimized code of a task may keep its result over an `await`.
    @safe @exclusivity(unchecked) private var deliverer: UInt64?
    /// The number of batches that the deliverer has taken.
    @safe @exclusivity(unchecked) private var takenCount = 0
    @safe @exclusivity(unchecked) private var firstWaiter: Waiter?
    @safe @exclusivity(unchecked) private var lastWaiter: Waiter?

    init(recorder: EventRecorder) {
        self.recorder = recorder
    }

    /// Returns a batch for the changes that the caller is about to make; nil if the queue is not observed. It is called
    /// before the lock is taken.
    @inline(__always)
    func newBatch() -> Batch? {
        isObserved.load(ordering: .relaxed) ? Batch() : nil
    }

    /// True if the queue was observed at some instant during the call.
    var isObservedNow: Bool { isObserved.load(ordering: .relaxed) }

    /// The number of batches whose delivery has not begun.
    var untoldCount: Int {
        recorder.lock()
        defer { recorder.unlock() }
        return waitingCount
    }

    /// Queues the changes of a call, under the lock. The caller passes the result to `perform` after the lock is
    /// dropped.
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

    /// True if a push on this thread has to wait. It is read under the lock.
    private var isBehind: Bool {
        isDelivering && (waitingCount > Self.capacity || takenCount >= Self.turn) && deliverer != csk_self()
    }

    /// Takes the remaining action of the call, without the lock.
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
        // An answer may have come just after the timeout.
        if waiter.answer == .none { remove(waiter) }
        let answer = waiter.answer
        recorder.unlock()
        if answer == .deliver { deliver() }
    }

    /// Removes a waiter from the list, under the lock. The waiter's thread keeps it alive, as the threads of the other
    /// waiters do.
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

    /// Takes the oldest batch. Returns nil when there is none, or when another thread has become the deliverer.
    private func next(_ isFirst: Bool) -> Batch? {
        recorder.lock()
        if isFirst {
            deliverer = csk_self()
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

    /// Answers waiters, under the lock, and returns those to be woken. If this leaves no deliverer, the first of them
    /// is the next deliverer.
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

    /// Takes the oldest batch, under the lock. Without one, delivery ends.
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

    /// Replaces the list of observers. The new list is made outside the lock, and made again if another thread has
    /// replaced the list meanwhile.
    func replaceObservers(_ change: ([TaskQueueObserver]) -> [TaskQueueObserver]) {
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
