import CSyncKernel
import Synchronization

/// A queue of tasks that are executed one at a time, whichever threads push and end them.
///
/// A task lasts until its ``QueueLock`` is released, which may be long after `execute` has returned, on another thread.
/// Queues have no threads of their own. A task's `execute` runs on the thread that pushes the task to an idle queue, or
/// otherwise on the thread that ends the task before it.
///
/// ```swift
/// struct Step: TaskQueue.Task {
///     let tag: String
///     func execute(queueLock: QueueLock) {
///         DispatchQueue.global().async {
///             print("working on \(tag)")
///             queueLock.release()          // the next task starts
///         }
///     }
/// }
///
/// let queue = TaskQueue.getQueue(identifier: "steps")
/// for number in 1...3 { queue.push(task: Step(tag: "step \(number)")) }
/// queue.recorder.reply()                   // prints what has happened so far
/// ```
///
/// Tasks start in the order in which they were pushed. Every member may be called from any thread, and from inside a
/// task. No member blocks by itself, but ``push(task:)`` and ``QueueLock/release()`` last as long as the `execute` that
/// they run. No lock is held meanwhile.
///
/// A thread that is inside an `execute` of a queue starts further tasks of that queue only after that `execute` has
/// returned. So a task may push to its own queue, or release its lock and then push, any number of times without
/// needing stack. A task that releases its lock inside `execute` must not wait there for a task behind it.
@safe
public final class TaskQueue: StallableQueue, @unchecked Sendable {
    /// A task that a queue executes: work, and a name for it.
    ///
    /// A user's type conforms to `TaskQueue.Task`. After `typealias Task = TaskQueue.Task` in its scope it can name the
    /// protocol just `Task`, where Swift's own `Task` is not needed.
    public protocol Task {
        /// The task's name in the recorder. `push` reads it once. Up to 15 bytes of UTF-8 are kept without an
        /// allocation.
        var tag: String { get }

        /// Does the work. The queue calls it once. The task lasts until `queueLock` is released.
        func execute(queueLock: QueueLock)
    }

    /// The name under which ``getQueue(name:)`` finds the queue. Messages, reports and traces show it.
    public var name: String { identifier }

    /// The earlier name of ``name``.
    public let identifier: String
    /// The recorder that keeps the last 4096 events of the queue. It is always on.
    public let recorder: EventRecorder

    /// The queue's state. The recorder's lock guards it, so the order of the events is the order of the decisions.
    @safe
    private struct State {
        /// The locks of the tasks that wait for their turn. They are retained, and linked by `next`.
        @safe var first: Unmanaged<QueueLock>?
        @safe var last: Unmanaged<QueueLock>?
        var waitingCount = 0
        var lastID: UInt64 = 0
        /// True while a task has the queue's lock, although its `execute` may be yet to come.
        var isBusy = false
    }

    @safe private let state: UnsafeMutablePointer<State>
    let changes: TaskQueueChanges
    private let threadSlot = QueueThread.slot

    private static let all = SnapshotDictionary<String, TaskQueue>()

    /// Returns the queue of that name. It is the same queue at every call, in the whole process. The first call makes
    /// it.
    ///
    /// Never blocks. It takes no lock and, for a queue that exists, no allocation; O(1) on average. Queues live for
    /// ever: a queue that has been used takes about 1.4 KB, and up to 200 KB once it has recorded 4096 events. Use a
    /// bounded number of names.
    public static func getQueue(name: String) -> TaskQueue {
        if let found = all[name] { return found }
        let made = TaskQueue(identifier: name)
        return all.insertValue(made, forKey: name) ?? made
    }

    /// The earlier spelling of ``getQueue(name:)``: the same queue.
    public static func getQueue(identifier: String) -> TaskQueue { getQueue(name: identifier) }

    package init(identifier: String) {
        self.identifier = identifier
        recorder = EventRecorder(name: identifier)
        changes = TaskQueueChanges(recorder: recorder)
        state = .allocate(capacity: 1)
        unsafe state.initialize(to: State())
    }

    deinit {
        unsafe state.deinitialize(count: 1)
        unsafe state.deallocate()
    }

    /// Puts a task into the queue. If the queue is idle, the call executes the task before it returns.
    ///
    /// It never waits for a task that another thread executes. O(1), with one allocation, however many tasks wait; with
    /// up to three more while waits are observed (``SyncInspector/listsTasks(_:)``, ``SyncMetrics``).
    /// - Returns: always true, since a task queue accepts every task.
    @discardableResult
    public func push(task: sending any TaskQueue.Task) -> Bool {
        let lock = unsafe Unmanaged.passRetained(QueueLock(of: self, tag: task.tag))
        let thread = unsafe QueueThread.current(in: threadSlot)
        let run = unsafe running(on: thread)
        if csk_task_waits_are_told() {
            unsafe lock._withUnsafeGuaranteedRef { $0.told = ToldTurn(of: $0, at: self) }
        }
        var step = unsafe Step(changes.newBatch(), thread)
        recorder.lock()
        state.pointee.lastID &+= 1
        unsafe lock._withUnsafeGuaranteedRef { $0.id = state.pointee.lastID }
        unsafe step.record(.pushed, lock, recorder)
        let starts = !state.pointee.isBusy
        unsafe lock._withUnsafeGuaranteedRef { $0.told?.begin(as: $0.id, hasTurn: starts) }
        if starts {
            state.pointee.isBusy = true
            step.batch?.add(.running)
            unsafe step.record(.started, lock, recorder)
        } else {
            unsafe lock._withUnsafeGuaranteedRef { $0.store(task) }
            unsafe append(lock)
        }
        end(step, mayWait: true)
        if !starts {
            if StalledQueues.areWatched { StalledQueues.add(self) }
            return true
        }
        if let run = unsafe run {
            unsafe lock._withUnsafeGuaranteedRef { $0.store(task) }
            unsafe run.pointee.next = lock
        } else {
            unsafe execute(task, lock, on: thread)
        }
        return true
    }

    /// Ends the task of `lock`, once, and starts the next task.
    func end(_ lock: QueueLock, _ kind: EventRecorder.Event.Kind) {
        let thread = unsafe QueueThread.current(in: threadSlot)
        let run = unsafe running(on: thread)
        var step = unsafe Step(changes.newBatch(), thread)
        recorder.lock()
        if lock.isReleased {
            recorder.unlock()
            return reportSecondRelease(of: lock)
        }
        lock.isReleased = true
        unsafe step.record(kind, .passUnretained(lock), recorder)
        let next = unsafe takeFirst()
        if let next = unsafe next {
            unsafe step.record(.started, next, recorder)
        } else {
            state.pointee.isBusy = false
            step.batch?.add(.idle)
        }
        unsafe ToldTurn.pass(from: lock.told, to: next?._withUnsafeGuaranteedRef { $0.told })
        end(step, mayWait: false)
        lock.told.take()?.free()
        if kind == .dropped { reportDrop(of: lock) }
        guard let next = unsafe next else { return }
        if let run = unsafe run {
            unsafe run.pointee.next = next
        } else {
            unsafe execute(Self.takeTask(of: next), next, on: thread)
        }
    }

    /// Drops the queue's lock, and then calls the observers.
    @inline(__always)
    private func end(_ step: Step, mayWait: Bool) {
        guard let batch = step.batch else { return recorder.unlock() }
        let duty = changes.queue(batch, mayWait: mayWait)
        recorder.unlock()
        changes.perform(duty)
    }

    /// The number of tasks that wait for their turn, at some instant during the call.
    public var waitingCount: Int {
        recorder.lock()
        defer { recorder.unlock() }
        return state.pointee.waitingCount
    }

    /// True if no task had the queue's lock, at some instant during the call.
    public var isIdle: Bool {
        recorder.lock()
        defer { recorder.unlock() }
        return !state.pointee.isBusy
    }

    // MARK: The deadlock watch

    let isLookedAt = Atomic(false)

    /// Tasks are numbered as they are pushed, and begin in that order.
    var standstill: Standstill {
        guard recorder.lockIfFree() else { return .unknown }
        defer { recorder.unlock() }
        let waiting = state.pointee.waitingCount
        return waiting == 0 ? .nothing : .some(begun: state.pointee.lastID &- UInt64(waiting))
    }

    // MARK: The list, under the lock

    private func append(_ lock: Unmanaged<QueueLock>) {
        if let last = state.pointee.last {
            unsafe last._withUnsafeGuaranteedRef { $0.next = unsafe lock }
        } else {
            state.pointee.first = unsafe lock
        }
        state.pointee.last = unsafe lock
        state.pointee.waitingCount += 1
    }

    private func takeFirst() -> Unmanaged<QueueLock>? {
        guard let first = state.pointee.first else { return nil }
        state.pointee.first = unsafe first._withUnsafeGuaranteedRef { $0.next }
        if unsafe state.pointee.first == nil { state.pointee.last = nil }
        state.pointee.waitingCount -= 1
        return unsafe first
    }

    /// The events that one critical section records, and the tags that it must not release inside.
    private struct Step {
        let batch: TaskQueueChanges.Batch?
        private let thread: Int32
        private let now: Int64
        /// The tags of events that the recorder has forgotten. There are as many as events that the section may record.
        private var replaced = ("", "")

        @inline(__always)
        init(_ batch: TaskQueueChanges.Batch?, _ thread: UnsafeMutablePointer<QueueThread>?) {
            self.batch = batch
            self.thread = unsafe QueueThread.number(of: thread)
            now = csk_now()
        }

        @inline(__always)
        mutating func record(_ kind: EventRecorder.Event.Kind, _ lock: Unmanaged<QueueLock>, _ recorder: EventRecorder)
        {
            replaced.0 = replaced.1
            replaced.1 = unsafe lock._withUnsafeGuaranteedRef { lock in
                batch?.add(TaskQueue.Change(kind, lock))
                return recorder.ring.pointee.append(kind, id: lock.id, tag: lock.tag, now: now, thread: thread)
            }
        }
    }

    // MARK: Running tasks

    /// The state of a thread that is executing tasks of a queue. It lies on that thread's stack, and only that thread
    /// reads it.
    @safe
    struct Run {
        let queue: Unmanaged<TaskQueue>
        let outer: UnsafeMutablePointer<Run>?
        /// The lock of the task to execute once the running `execute` returns, retained. There is at most one such
        /// task, since it has the turn.
        var next: Unmanaged<QueueLock>?
    }

    /// This thread's state of executing tasks of this queue; nil if it executes none.
    private func running(on thread: UnsafeMutablePointer<QueueThread>?) -> UnsafeMutablePointer<Run>? {
        var run = unsafe thread?.pointee.innermostRun
        let queue = unsafe Unmanaged.passUnretained(self).toOpaque()
        while let found = unsafe run, unsafe found.pointee.queue.toOpaque() != queue {
            unsafe run = found.pointee.outer
        }
        return unsafe run
    }

    /// Executes the task, and then the tasks whose turn comes on this thread meanwhile, one after the other.
    private func execute(
        _ task: any TaskQueue.Task, _ lock: Unmanaged<QueueLock>, on thread: UnsafeMutablePointer<QueueThread>?
    ) {
        var run = unsafe Run(queue: .passUnretained(self), outer: thread?.pointee.innermostRun, next: nil)
        unsafe withUnsafeMutablePointer(to: &run) { run in
            unsafe thread?.pointee.innermostRun = run
            unsafe Self.execute(task, lock)
            while let lock = unsafe run.pointee.next.take() { unsafe Self.execute(Self.takeTask(of: lock), lock) }
            unsafe thread?.pointee.innermostRun = run.pointee.outer
        }
    }

    /// Executes a task. It releases the queue's own reference to the lock before it returns. So a lock to which there
    /// is no other reference has ended its task by then, and the loop above starts the next task. That is why locks are
    /// passed as `Unmanaged`: no accidental reference keeps one alive.
    @inline(never)
    private static func execute(_ task: any TaskQueue.Task, _ lock: Unmanaged<QueueLock>) {
        unsafe task.execute(queueLock: lock.takeRetainedValue())
    }

    private static func takeTask(of lock: Unmanaged<QueueLock>) -> any TaskQueue.Task {
        unsafe lock._withUnsafeGuaranteedRef { $0.takeTask() }
    }

    // MARK: Reports

    var subject: String { "TaskQueue \(identifier)" }

    private func reportSecondRelease(of lock: QueueLock) {
        SyncDiagnostics.report(
            .releasedTwice, subject: subject,
            message: "the lock of task \(lock.tag) was released again; only the first release counts")
    }

    private func reportDrop(of lock: QueueLock) {
        SyncDiagnostics.report(
            .lockDropped, subject: subject,
            message: "the last copy of the lock of task \(lock.tag) went away without a release; the task was ended")
    }
}

extension QueueThread {
    /// The innermost queue that is running tasks on this thread.
    @safe var innermostRun: UnsafeMutablePointer<TaskQueue.Run>? {
        get { unsafe innermost?.assumingMemoryBound(to: TaskQueue.Run.self) }
        set { innermost = UnsafeMutableRawPointer(newValue) }
    }
}
