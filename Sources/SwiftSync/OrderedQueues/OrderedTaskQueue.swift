/// A queue on which `Task(on:)` starts tasks: an ordered queue, or one that can also cancel its tasks.
///
/// ``FIFOQueue``, ``ActorQueue`` and ``CancellableQueue`` conform to it; other types can't. The members of a
/// cancellable queue are those of the queue under it.
public protocol OrderedTaskQueue<TaskActor>: Sendable {
    /// The actor that the queue's tasks run on; `Never` where the queue has no actor.
    associatedtype TaskActor

    /// What gives the order. Only this library makes one.
    var _order: _OrderedTaskOrder<TaskActor> { get }
}

/// The storage of the queue that gives the order, and the tasks that can be cancelled together, if there are such.
public struct _OrderedTaskOrder<TaskActor>: Sendable {
    /// A ``FIFOQueueStorage`` if `TaskActor` is `Never`, and an ``ActorQueueStorage`` otherwise.
    let storage: any OrderedStorage
    var tasks: TrackedTasks?

    /// Makes the entry by which the queue can cancel a task that is about to be started; nil if it cancels no tasks.
    func track() -> TrackedTasks.Entry? { tasks.map { TrackedTasks.Entry(of: $0) } }
}

extension _OrderedTaskOrder where TaskActor == Never {
    init(_ storage: FIFOQueueStorage) { self.storage = storage }
    var fifo: FIFOQueueStorage { unsafe unsafeDowncast(storage, to: FIFOQueueStorage.self) }
}

extension _OrderedTaskOrder where TaskActor: Actor {
    init(_ storage: ActorQueueStorage) { self.storage = storage }
    var actor: ActorQueueStorage { unsafe unsafeDowncast(storage, to: ActorQueueStorage.self) }
}

/// The part of an ordered queue's storage that is the same for all of them.
protocol OrderedStorage: AnyObject, Sendable {
    var name: String { get }
    var recorder: EventRecorder? { get set }
    var waitingCount: Int { get }
    var beyondBoundCount: Int { get }
    func drain(until deadline: Int64) async throws(OrderedQueueError)
    func shutDown()
}

extension OrderedTaskQueue {
    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { _order.storage.name }

    /// The recorder that keeps the queue's last events, if there is one.
    ///
    /// It may be set at any time and from anywhere. A new recorder records work that is submitted from then on; earlier
    /// work stays with its recorder.
    public var recorder: EventRecorder? {
        get { _order.storage.recorder }
        nonmutating set { _order.storage.recorder = newValue }
    }

    /// The number of accepted pieces of work that have not begun and of waiting tasks whose turn has not come, at some
    /// instant during the call. A task whose turn has come may still wait for its actor.
    ///
    /// Reading it holds the queue's lock for some nanoseconds. In a queue without a capacity, tasks that have given up
    /// count until their turn.
    public var waitingCount: Int { _order.storage.waitingCount }

    /// The excess of ``waitingCount`` over the capacity. It is 0 without a capacity.
    ///
    /// The excess consists of tasks of `enqueueAndWait` and `Task(on:)`. Tasks whose calls can't throw exceed the
    /// capacity of a full queue of any kind; tasks whose calls can throw exceed it only where `whenFull` is not
    /// ``OverflowPolicy/refuse``.
    public var beyondBoundCount: Int { _order.storage.beyondBoundCount }

    /// Waits until everything that was submitted before has ended. The call also works after ``shutdown()``, and takes
    /// no room. After the end of an ``ActorQueue``'s actor there is nothing to wait for, and it returns; before an
    /// actor was adopted it stops the program with a message.
    ///
    /// - Parameter timeout: how long to wait; with `.never`, without a limit.
    /// - Throws: ``OrderedQueueError/wouldDeadlock`` when it is called in work of this queue,
    ///   ``OrderedQueueError/cancelled``, ``OrderedQueueError/timedOut``.
    public func drain(timeout: TimeLimit = .never) async throws(OrderedQueueError) {
        try await _order.storage.drain(until: timeout.deadline())
    }

    /// Shuts the queue down: from now on it refuses work that no call waits for, and calls that can throw. Accepted
    /// work still runs. Tasks that wait for room get ``OrderedQueueError/shutDown``. Never blocks.
    public func shutdown() { _order.storage.shutDown() }
}
