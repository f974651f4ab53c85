import CSyncKernel
import Synchronization

/// Work that is queued at a given time, and can be cancelled until it begins.
///
/// ```swift
/// let timeout = queue.async(after: .seconds(5)) { connection.close() }
/// timeout.cancel()                                   // true: it will not run
/// ```
///
/// The work runs whether or not anything refers to this object. It does not run if its queue is shut down before its
/// time. The program need not keep the queue either: releasing the last reference to the queue ends its suspension.
///
/// The closure is released once it will not run any more: after its run, after the last run of periodic work, when the
/// work is cancelled or refused. A queue that was shut down refuses it when its time comes. So an object that the
/// closure captures may keep the work. Only this object keeps work whose time never comes: without a ``cancel()`` its
/// closure is released with it.
public class DelayedWork: @unchecked Sendable {
    init() {}

    /// Cancels the work: it will not begin.
    ///
    /// A run of periodic work that is in progress completes, and is the last. The call may be made from anywhere,
    /// including the work itself. It may wait for the library's timer thread. The closure is released before the call
    /// returns true, or after a run in progress; so its captures may end in this call.
    ///
    /// - Returns: true if this call has ended the work; false if the work had begun (and is not periodic), or had ended
    ///   before.
    @discardableResult
    public func cancel() -> Bool { fatalError("\(Self.self) does not say how it is cancelled") }
}

/// Delayed work of a queue: it waits for its time, and then in the queue.
///
/// The party that ends the kernel's reference to this object owns the closure from then on, and releases it. There is
/// exactly one:
///
/// - The function that the kernel calls, at its only call (`once`) or at the call that announces that no other follows
///   (`again` with a status). Until then `again` only calls the closure.
/// - The thread whose `csk_delayed_cancel` returns 0: the kernel calls no function any more. With EBUSY it calls
///   `again` once more, which then owns the closure.
/// - The thread that starts the work, where the kernel refuses to.
///
/// Work whose time never comes has no such reference: the thread that clears `waitsForEver` owns the closure. The
/// kernel's state word orders a cancellation after the runs before it. All of these hold no lock, so what the closure
/// captures may end there.
@safe
final class DelayedQueueWork: DelayedWork, @unchecked Sendable {
    @safe
    private struct Storage {
        var delayed = unsafe csk_delayed_t()
        /// Set while the kernel holds a reference.
        @safe var owner: Unmanaged<DelayedQueueWork>?
    }

    @safe private let storage: UnsafeMutablePointer<Storage>
    private let kept: KeptWorkQueue
    private var core: WorkQueueCore { kept.core }
    /// Nil once it was released; see above.
    private var body: (@Sendable () -> Void)?
    /// True for work whose time never comes, until it is cancelled. The kernel knows nothing of such work, so it ends
    /// with its last reference.
    private let waitsForEver = Atomic(false)

    @safe private var delayed: UnsafeMutablePointer<csk_delayed_t> {
        unsafe storage.pointer(to: \.delayed)!
    }

    init(_ core: WorkQueueCore, _ body: @escaping @Sendable () -> Void) {
        kept = KeptWorkQueue(core)
        self.body = body
        storage = .allocate(capacity: 1)
        unsafe storage.initialize(to: Storage())
        super.init()
    }

    deinit { unsafe storage.deallocate() }

    func start(rank: Int64, deadline: Int64, period: Int64 = 0) -> Self {
        if deadline == Deadline.never {
            waitsForEver.store(true, ordering: .relaxed)
            return self
        }
        let reference = unsafe Unmanaged.passRetained(self as DelayedQueueWork)
        storage.pointee.owner = unsafe reference
        let status = unsafe csk_delayed_start_ranked(
            delayed, rank, core.queue, deadline, period, period == 0 ? Self.once : Self.again)
        if status != 0 {
            unsafe reference.release()
            body = nil
            core.reportRefusal(status)
        }
        return self
    }

    private static func owner(of work: UnsafeMutablePointer<csk_work_t>) -> Unmanaged<DelayedQueueWork> {
        unsafe UnsafeMutableRawPointer(work).assumingMemoryBound(to: Storage.self).pointee.owner.unsafelyUnwrapped
    }

    private static let once: csk_work_function_t = { work, status in
        if unsafe WorkItem.isLeftToAnother(work!, status, once) { return }
        let delayed = unsafe owner(of: work!).takeRetainedValue()
        let body = delayed.body.take()
        if status == 0 { body?() } else if status != ECANCELED { delayed.core.reportRefusal(status) }
    }

    private static let again: csk_work_function_t = { work, status in
        if unsafe WorkItem.isLeftToAnother(work!, status, again) { return }
        let reference = unsafe owner(of: work!)
        if status == 0 {
            unsafe reference.takeUnretainedValue().body?()
        } else {
            unsafe reference.takeRetainedValue().body = nil
        }
    }

    override func cancel() -> Bool {
        if waitsForEver.exchange(false, ordering: .relaxed) {
            body = nil
            return true
        }
        switch unsafe csk_delayed_cancel(delayed) {
        case 0:
            unsafe Unmanaged.passUnretained(self).release()
            body = nil
            return true
        case EBUSY: return true
        default: return false
        }
    }
}

extension WorkQueueCore {
    func async(after delay: Duration, rank: Int64, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        async(at: Deadline.after(delay), rank: rank, body)
    }

    func async(at deadline: Int64, rank: Int64, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        DelayedQueueWork(self, body).start(rank: rank, deadline: deadline)
    }

    func async(every period: Duration, rank: Int64, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
        let nanoseconds = max(1, Deadline.nanoseconds(in: period) ?? .max)
        return DelayedQueueWork(self, body).start(rank: rank, deadline: Deadline.after(period), period: nanoseconds)
    }
}
