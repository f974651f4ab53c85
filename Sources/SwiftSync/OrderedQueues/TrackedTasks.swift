import CSyncKernel
import Synchronization

/// The tasks of a ``CancellableQueue`` that have not ended, in the order in which they were started. Before all of them
/// are the tasks that run work which the queue has enqueued. They form a list linked through its entries, so
/// nothing is allocated or freed under the lock.
final class TrackedTasks: @unchecked Sendable {
    /// One task. The list's lock protects its fields.
    @safe
    final class Entry: @unchecked Sendable {
        private let list: TrackedTasks
        /// The number of cancellations of all tasks before this task was started.
        fileprivate let cancellations: UInt64
        private let runsWork: Bool
        fileprivate var task: AnyTask?
        fileprivate var hasBegun = false
        /// The generation of the list that the entry is in: the present list, or one that was taken away whole. 0 means
        /// no list.
        fileprivate var generation: UInt64 = 0
        @safe fileprivate var next: Unmanaged<Entry>?
        @safe fileprivate var previous: Unmanaged<Entry>?

        /// Makes the entry of a task that is about to be started.
        init(of list: TrackedTasks) {
            self.list = list
            cancellations = list.cancellations.load(ordering: .acquiring)
            runsWork = false
        }

        /// Makes the entry of a task that is about to run `work`.
        init(for work: CancellableWork) {
            list = work.tasks
            cancellations = work.cancellations
            runsWork = true
        }

        /// True if one cancellation cancels both this task and `work`.
        func isCancelled(with work: CancellableWork) -> Bool {
            list === work.tasks && cancellations == work.cancellations
        }

        /// The task calls this before anything else, since what it does later may cancel it.
        func begin() {
            testStep("TrackedTasks: tracks", self)
            unsafe withUnsafeCurrentTask { unsafe list.insert(self, RuntimeFacts.anyTask($0!), isFirst: runsWork) }
        }

        /// Called before work or a task's operation begins: if all are being cancelled, the calling task is cancelled
        /// at once, lest that begin before.
        func catchUp() {
            if list.cancellationCount == cancellations { return }
            unsafe withUnsafeCurrentTask { unsafe $0!.cancel() }
        }

        /// The task calls this last of all, and a pump's task when it is about to run other work. Returns true if the
        /// task was not cancelled with the others, and will not be.
        @discardableResult
        func end() -> Bool { list.remove(self) }
    }

    fileprivate typealias AnyTask = RuntimeFacts.AnyTask

    @safe
    private struct Links {
        @safe var first: Unmanaged<Entry>?
        @safe var last: Unmanaged<Entry>?
        var generation: UInt64 = 1

        mutating func append(_ entry: Entry) {
            let link = unsafe Unmanaged.passRetained(entry)
            entry.generation = generation
            entry.previous = last
            if let last { unsafe last.takeUnretainedValue().next = link } else { first = unsafe link }
            last = unsafe link
        }

        mutating func prepend(_ entry: Entry) {
            let link = unsafe Unmanaged.passRetained(entry)
            entry.generation = generation
            entry.next = first
            if let first { unsafe first.takeUnretainedValue().previous = link } else { last = unsafe link }
            first = unsafe link
        }

        /// Takes the entry out. The caller owns the list's reference from now on.
        mutating func unlink(_ entry: Entry) -> Unmanaged<Entry> {
            if let previous = entry.previous {
                unsafe previous.takeUnretainedValue().next = entry.next
            } else {
                first = entry.next
            }
            if let next = entry.next {
                unsafe next.takeUnretainedValue().previous = entry.previous
            } else {
                last = entry.previous
            }
            entry.next = nil
            entry.previous = nil
            entry.generation = 0
            return unsafe Unmanaged.passUnretained(entry)
        }

        /// Takes the whole list, with its references, and returns its last entry. O(1).
        mutating func takeAll() -> Unmanaged<Entry>? {
            generation += 1
            first = nil
            return unsafe last.take()
        }
    }

    private let links: OwningGateBox<Links> = unsafe .make(Links(), .fast, 0, .unknown)

    /// The number of cancellations of all tasks. It is one less than the generation of the links.
    private let cancellations = Atomic<UInt64>(0)

    /// The number of cancellations of all tasks. Work that was submitted at an earlier number is cancelled.
    var cancellationCount: UInt64 { cancellations.load(ordering: .acquiring) }

    private func insert(_ entry: Entry, _ task: AnyTask, isFirst: Bool) {
        let isLate = links.withLock { links in
            if entry.hasBegun { return false }
            entry.hasBegun = true
            if links.generation != entry.cancellations + 1 { return true }
            entry.task = task
            if isFirst { links.prepend(entry) } else { links.append(entry) }
            return false
        }
        if isLate { task.cancel() }
    }

    private func remove(_ entry: Entry) -> Bool {
        let (task, link) = unsafe links.withLock { links in
            entry.hasBegun = true
            return unsafe (entry.task.take(), entry.generation == links.generation ? links.unlink(entry) : nil)
        }
        withExtendedLifetime(task) {}
        guard let link = unsafe link else { return false }
        unsafe link.release()
        return true
    }

    /// Cancels all tasks, the last one first, and those that run work last of all. In the other order a task could end
    /// by its cancellation, and the next could begin before it is cancelled itself. Tasks that cancellation handlers
    /// start count as later ones.
    func cancelAll() {
        var next = unsafe links.withLock { links in
            cancellations.store(links.generation, ordering: .releasing)
            return unsafe links.takeAll()
        }
        while let link = unsafe next {
            let entry = unsafe link.takeRetainedValue()
            unsafe next = entry.previous.take()
            entry.next = nil
            links.withLock { _ in entry.task.take() }?.cancel()
        }
    }

    /// The number of tasks that have not ended, for tests.
    var count: Int {
        links.withLock { links in
            var count = 0, next = links.first
            while let entry = unsafe next?.takeUnretainedValue() {
                count += 1
                unsafe next = entry.next
            }
            return count
        }
    }
}
