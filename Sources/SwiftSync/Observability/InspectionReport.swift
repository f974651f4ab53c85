import CSyncKernel

/// A view that ``SyncInspector/report(limit:)`` has taken.
public struct InspectionReport: Sendable {
    /// A thread. Unknown values are 0 or empty.
    public struct Thread: Sendable, Hashable, CustomStringConvertible {
        /// The number that `gettid()` returns and tools show.
        public let id: Int32
        /// The name that tools show.
        public let name: String

        /// The name and the number, as in `csk-worker (4711)`.
        public var description: String { name.isEmpty ? "thread \(id)" : "\(name) (\(id))" }
    }

    /// The holder of an object.
    public enum Holder: Sendable, Hashable, CustomStringConvertible {
        /// The object is free, or of a kind without holders.
        case nobody
        /// This thread.
        case thread(Thread)
        /// This number of readers, and one of them if it is known.
        case readers(Int, Thread?)
        /// A task or a dispatched closure that was granted it.
        case suspended
        /// The task at this address, which may be suspended: an async mutex.
        case task(UInt)
        /// A task of a `TaskQueue`, whose tag is ``Object/holderTaskName``.
        case queueTask
        /// A thread that has ended, and will never release it.
        case endedThread(Thread)
        /// A caller of a work queue's `sync`.
        case caller
        /// The holder could not be read.
        case unknown

        /// The holder in a few words.
        public var description: String {
            switch self {
            case .nobody: "nobody"
            case .thread(let thread): "\(thread)"
            case .readers(let count, let thread): "\(count) readers" + (thread.map { ", one of them \($0)" } ?? "")
            case .suspended: "a task or closure"
            case .task(let address): "task 0x\(String(address, radix: 16))"
            case .queueTask: "a task of the queue"
            case .endedThread(let thread): "\(thread), which has ended"
            case .caller: "a caller of sync"
            case .unknown: "it could not be read"
            }
        }
    }

    /// The purpose of a wait.
    public enum Purpose: Sendable, Hashable {
        /// To enter a mutex.
        case entry
        /// For a predicate of a mutex.
        case predicate
        /// For the signal of a condition variable.
        case signal
        /// For this number of permits of a semaphore.
        case permits(Int)
        /// To read under a read-write lock.
        case read
        /// To write under a read-write lock.
        case write
        /// To write, as a reader that upgrades.
        case upgrade
        /// For an element of a priority queue.
        case element
        /// For room in a queue.
        case room
        /// For its turn at a queue.
        case turn
        /// For the end of the work that a queue has accepted.
        case drain
        /// For a resource of a pool, or until one is made.
        case resource
        /// For something else.
        case other
    }

    /// A waiting thread, task or dispatched closure.
    public struct Waiter: Sendable, Hashable {
        /// The thread that waits; nil for a task or a dispatched closure.
        public let thread: Thread?
        /// The purpose of the wait.
        public let purpose: Purpose
        /// Its priority, if the object orders by priority.
        public let priority: CommandPriority
        /// How long it had waited when the view was begun; nil if that is not known.
        public let waitedFor: Duration?
        /// The number of the wait among the thread's waits. Two views with the same thread, number and object saw one
        /// wait, which lasted from the first to the second. Nil where it is not known.
        public let waitNumber: UInt64?
        /// The address of the task that waits, or that runs on the thread. It is known of tasks whose waits began while
        /// tasks were listed (``SyncInspector/listsTasks(_:)``), of threads whose waits began while ``DeadlockWatch``
        /// was on, and else nil.
        public let taskAddress: UInt?
        /// The name of the task that waits (`Task(name:)`), or the tag of a task of a `TaskQueue`, cut to 63 bytes. Nil
        /// where it has none, where the task is not known, for a task that runs on the thread, and if there was no time
        /// to find it (``InspectionReport/isIncomplete``).
        public let taskName: String?
    }

    /// An object with waiters, a queue that runs or waits for a worker, or a suspended work queue. The last are those
    /// that were suspended while ``SyncInspector/listsTasks(_:)`` was on.
    public struct Object: Sendable {
        /// The kind of the object.
        public let kind: SyncObjectKind
        /// The object's name, or the file and line where it was made; nil if it has neither.
        public let name: String?
        /// Its address.
        public let address: UInt
        /// Its holder.
        public let holder: Holder
        /// The name of the task that holds it: the tag of a task of a `TaskQueue`; or the name of a task that holds an
        /// `AsyncMutex`, and waits elsewhere. Cut to 63 bytes. Nil where there is none, or it is not known.
        public let holderTaskName: String?
        /// Its waiters, in the order in which they will be served. If the view has no room for all, these need not be
        /// the first ones.
        public let waiters: [Waiter]
        /// The number of waiters, which may exceed that of ``waiters``.
        public let waitingCount: Int
        /// The number of works that wait in a work queue, of elements in a priority queue, or of free permits of a
        /// semaphore.
        public let count: Int
        /// True if more works wait in the work queue than ``count`` says: a view does not count more than some
        /// thousand that were queued while a work ran.
        public let countIsAtLeast: Bool
        /// The number of running works and callers of a work queue.
        public let runningCount: Int
        /// The number that may run at once in a work queue; 0 for other objects.
        public let width: Int
        /// How long the holder, a worker, has run the present work of a work queue; or how long the task of a
        /// `TaskQueue` has had its turn. It is known of works that began, and of tasks that were pushed, while
        /// ``SyncInspector/listsTasks(_:)`` was on; otherwise nil.
        public let runningFor: Duration?
        /// True if its lock was not free: the holder may be out of date, and waiters may be missing.
        public let isBusy: Bool
        /// True for a work queue that begins nothing until it is resumed.
        public let isSuspended: Bool
        /// True for a work queue that waits for a worker of the pool.
        public let waitsForWorker: Bool
        /// True for a work queue that a worker of the pool serves.
        public let isServed: Bool
    }

    /// A worker of the pool.
    package struct Worker: Sendable, Hashable {
        /// The worker's thread.
        package let thread: Thread
        /// True if it has nothing to do.
        package let isIdle: Bool
        /// True if it waits inside this library.
        package let isWaiting: Bool
        /// How long the worker has run its present work of a work queue; nil if that is not known, as for
        /// ``Object/runningFor``.
        package let runningFor: Duration?
    }

    /// The pool of workers, in numbers.
    package struct Pool: Sendable, Hashable {
        /// True if its lock was not free: the numbers are 0 then.
        package let isBusy: Bool
        /// The number of workers.
        package let workerCount: Int
        /// The number of idle workers.
        package let idleCount: Int
        /// The number of workers that wait inside this library.
        package let waitingCount: Int
        /// The largest number of workers.
        package let most: Int
        /// The number of queues and other items that wait for a worker.
        package let queuedCount: Int
        /// How long no work was taken and no worker could be added; nil while the pool makes progress.
        package let stalledFor: Duration?
    }

    /// The timers, in numbers.
    package struct Timers: Sendable, Hashable {
        /// The number of started timers.
        package let count: Int
        /// The time until the next is due, zero or less if it is late; nil without one.
        package let nextIn: Duration?
    }

    /// The objects, the longest waited for first.
    public let objects: [Object]
    /// The pool's workers.
    package let workers: [Worker]
    /// The pool.
    package let pool: Pool
    /// The timers.
    package let timers: Timers
    /// The number of objects, waiters and workers that the view has no room for.
    public let leftOutCount: Int
    /// The number of threads whose waits could not be read.
    public let unreadThreadCount: Int
    /// True if a list of threads or tasks was not read to its end, because it is long, its lock was held, or the view
    /// had taken too long: more may wait, an object that is shown as free may have a holder, and a task that has a name
    /// may be shown without it.
    public let isIncomplete: Bool
    /// True if another thread was taking a view, and had not ended after 100 ms: then this view is empty.
    public let isMissing: Bool
}

// MARK: - Taking it

extension InspectionReport {
    init(limit: Int) {
        let none = unsafe csk_inspection_t()
        let objects = UnsafeMutableBufferPointer<csk_inspected_object_t>.allocate(capacity: limit)
        let waiters = UnsafeMutableBufferPointer<csk_inspected_waiter_t>.allocate(capacity: limit)
        let workers = UnsafeMutableBufferPointer<csk_inspected_worker_t>.allocate(capacity: limit)
        defer {
            unsafe objects.deallocate()
            unsafe waiters.deallocate()
            unsafe workers.deallocate()
        }
        var view = unsafe none
        unsafe view.objects = objects.baseAddress
        unsafe view.waiters = waiters.baseAddress
        unsafe view.workers = workers.baseAddress
        unsafe (view.object_room, view.waiter_room, view.worker_room) = (UInt32(limit), UInt32(limit), UInt32(limit))
        let isMissing = unsafe csk_inspect(&view) != 0
        if isMissing { unsafe view = unsafe none }
        let now = unsafe view.began_ns
        let list = unsafe objects[..<Int(view.object_count)].sorted { unsafe Self.age($0) < Self.age($1) }
        self.objects = unsafe list.map { object in
            let range = unsafe Int(object.first_waiter)..<Int(object.first_waiter + object.waiter_count)
            return unsafe Object(object, waiters[range].map { unsafe Waiter($0, now: now) }, now: now)
        }
        self.workers = unsafe workers[..<Int(view.worker_count)].map { worker in
            unsafe Worker(
                thread: Thread(worker.thread), isIdle: worker.idle != 0, isWaiting: worker.waits != 0,
                runningFor: Self.age(worker.running_ns, now))
        }
        pool = unsafe Pool(view.pool, now: now)
        timers = unsafe Timers(view.timers, now: now)
        leftOutCount = unsafe Int(view.objects_left_out + view.waiters_left_out + view.workers_left_out)
        unreadThreadCount = unsafe Int(view.records_busy)
        isIncomplete = unsafe view.list_busy != 0
        self.isMissing = isMissing
    }

    /// The time since which it has had waiters; objects without waiters come last.
    private static func age(_ object: csk_inspected_object_t) -> Int64 {
        unsafe object.since_ns == 0 ? .max : object.since_ns
    }

    /// The time from `from` to the begin of the view; zero if `from` is later.
    fileprivate static func age(_ from: Int64, _ to: Int64) -> Duration? { span(from, max(from, to)) }

    fileprivate static func span(_ from: Int64, _ to: Int64) -> Duration? {
        from == 0 ? nil : .nanoseconds(to - from)
    }
}

extension InspectionReport.Thread {
    init(_ thread: csk_inspected_thread_t) {
        self.init(id: thread.id, name: fieldText(thread.name) ?? "")
    }
}

extension InspectionReport.Waiter {
    fileprivate init(_ waiter: csk_inspected_waiter_t, now: Int64) {
        let isThread = unsafe waiter.kind == UInt32(CSK_WAITER_THREAD)
        unsafe self.init(
            thread: isThread ? InspectionReport.Thread(waiter.thread) : nil,
            purpose: InspectionReport.Purpose(waiter.waits_for, permits: Int(waiter.permits)),
            priority: CommandPriority(rawValue: Int32(truncatingIfNeeded: waiter.rank >> 2)),
            waitedFor: InspectionReport.age(waiter.since_ns, now),
            waitNumber: waiter.wait == 0 ? nil : waiter.wait,
            taskAddress: waiter.task == 0 ? nil : UInt(waiter.task), taskName: fieldText(waiter.task_name))
    }
}

extension InspectionReport.Purpose {
    init(_ purpose: UInt32, permits: Int) {
        switch purpose {
        case UInt32(CSK_WAITS_TO_ENTER): self = .entry
        case UInt32(CSK_WAITS_FOR_PREDICATE): self = .predicate
        case UInt32(CSK_WAITS_FOR_SIGNAL): self = .signal
        case UInt32(CSK_WAITS_FOR_PERMITS): self = .permits(permits)
        case UInt32(CSK_WAITS_TO_READ): self = .read
        case UInt32(CSK_WAITS_TO_WRITE): self = .write
        case UInt32(CSK_WAITS_TO_UPGRADE): self = .upgrade
        case UInt32(CSK_WAITS_FOR_ITEM): self = .element
        case UInt32(CSK_WAITS_FOR_PLACE), UInt32(CSK_WAITS_FOR_ROOM): self = .room
        case UInt32(CSK_WAITS_FOR_TURN): self = .turn
        case UInt32(CSK_WAITS_FOR_DRAINED): self = .drain
        case UInt32(CSK_WAITS_FOR_RESOURCE): self = .resource
        default: self = .other
        }
    }
}

extension InspectionReport.Holder {
    fileprivate init(_ holder: csk_inspected_holder_t) {
        let thread = unsafe InspectionReport.Thread(holder.thread)
        switch unsafe holder.kind {
        case UInt32(CSK_HELD_BY_NOBODY): self = .nobody
        case UInt32(CSK_HELD_BY_THREAD): self = .thread(thread)
        case UInt32(CSK_HELD_BY_READERS):
            self = unsafe .readers(Int(holder.count), holder.thread.id == 0 ? nil : thread)
        case UInt32(CSK_HELD_BY_CALLBACK): self = .suspended
        case UInt32(CSK_HELD_BY_TASK): self = unsafe holder.task == 0 ? .queueTask : .task(UInt(holder.task))
        case UInt32(CSK_HELD_BY_ENDED): self = .endedThread(thread)
        case UInt32(CSK_HELD_BY_CALLER): self = .caller
        default: self = .unknown
        }
    }
}

extension InspectionReport.Object {
    fileprivate init(_ object: csk_inspected_object_t, _ waiters: [InspectionReport.Waiter], now: Int64) {
        func has(_ flag: Int) -> Bool { unsafe object.flags & UInt32(flag) != 0 }
        unsafe self.init(
            kind: SyncObjectKind(object.kind), name: fieldText(object.name),
            address: UInt(bitPattern: object.address), holder: InspectionReport.Holder(object.holder),
            holderTaskName: fieldText(object.holder.task_name), waiters: waiters,
            waitingCount: Int(object.waiting), count: Int(object.count),
            countIsAtLeast: has(Int(CSK_INSPECT_AT_LEAST)), runningCount: Int(object.running),
            width: Int(object.width), runningFor: InspectionReport.age(object.running_ns, now),
            isBusy: has(Int(CSK_INSPECT_BUSY)), isSuspended: has(Int(CSK_INSPECT_SUSPENDED)),
            waitsForWorker: has(Int(CSK_INSPECT_POSTED)), isServed: has(Int(CSK_INSPECT_RUNS)))
    }
}

extension InspectionReport.Pool {
    fileprivate init(_ pool: csk_inspected_pool_t, now: Int64) {
        self.init(
            isBusy: pool.busy != 0, workerCount: Int(pool.workers), idleCount: Int(pool.idle),
            waitingCount: Int(pool.waiting), most: Int(pool.most), queuedCount: Int(pool.queued),
            stalledFor: InspectionReport.span(pool.stalled_ns, now))
    }
}

extension InspectionReport.Timers {
    fileprivate init(_ timers: csk_inspected_timers_t, now: Int64) {
        self.init(
            count: Int(timers.count),
            nextIn: timers.next_ns == Deadline.never ? nil : .nanoseconds(timers.next_ns - now))
    }
}
