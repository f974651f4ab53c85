import CSyncKernel
import Synchronization

/// The tasks of a ``CancellableQueue`` that have not ended, in the order in which they were started. They form a list
/// linked through its entries, so nothing is allocated or freed under the lock.
final class TrackedTasks: @unchecked Sendable {
    /// One task. The list's lock protects its fields.
    final class Entry: @unchecked Sendable {
        private let list: TrackedTasks
        /// How many times all tasks were cancelled before this task was started.
        fileprivate let cancellations: UInt64
        fileprivate var task: AnyTask?
        fileprivate var hasBegun = false
        /// The generation of the list that the entry is in: the present list, or one that was taken away whole. 0 means
        /// no list.
        fileprivate var generation: UInt64 = 0
        fileprivate var next: Unmanaged<Entry>?
        fileprivate var previous: Unmanaged<Entry>?

        /// Makes the entry of a task that is about to be started.
        init(of list: TrackedTasks) {
            self.list = list
            cancellations = list.cancellations.load(ordering: .acquiring)
        }

        /// The task calls this before anything else, since what it does later may cancel it.
        func begin() {
            testStep("TrackedTasks: tracks", self)
            withUnsafeCurrentTask { list.insert(self, RuntimeFacts.anyTask($0!)) }
        }

        /// The caller that has started the task calls this. It matters where a task does not begin at once on this
        /// thread, since the task may not have reached ``begin()`` yet.
        func isStarted<Success, Failure>(_ task: Task<Success, Failure>) {
            #if compiler(<6.2)
            list.insert(self, RuntimeFacts.anyTask(task))
            #endif
        }

        /// The task calls this last of all.
        func end() {
            list.remove(self)
        }
    }

    fileprivate typealias AnyTask = RuntimeFacts.AnyTask

    private struct Links {
        var first: Unmanaged<Entry>?
        var last: Unmanaged<Entry>?
        var generation: UInt64 = 1

        mutating func append(_ entry: Entry) {
            let link = Unmanaged.passRetained(entry)
            entry.generation = generation
            entry.previous = last
            if let last { last.takeUnretainedValue().next = link } else { first = link }
            last = link
        }

        /// Takes the entry out. The caller owns the list's reference from now on.
        mutating func unlink(_ entry: Entry) -> Unmanaged<Entry> {
            if let previous = entry.previous {
                previous.takeUnretainedValue().next = entry.next
            } else {
                first = entry.next
            }
            if let next = entry.next {
                next.takeUnretainedValue().previous = entry.previous
            } else {
                last = entry.previous
            }
            entry.next = nil
            entry.previous = nil
            entry.generation = 0
            return Unmanaged.passUnretained(entry)
        }

        /// Takes the whole list, with its references, and returns its last entry. O(1).
        mutating func takeAll() -> Unmanaged<Entry>? {
            generation += 1
            first = nil
            return last.take()
        }
    }

    private let links: OwningGateBox<Links> = .make(Links(), .fast, 0)

    /// How many times all tasks were cancelled. It is one less than the generation of the links.
    private let cancellations = Atomic<UInt64>(0)

    private func insert(_ entry: Entry, _ task: AnyTask) {
        let isLate = links.withLock { links in
            if entry.hasBegun { return false }
            entry.hasBegun = true
            if links.generation != entry.cancellations + 1 { return true }
            entry.task = task
            links.append(entry)
            return false
        }
        if isLate { task.cancel() }
    }

    private func remove(_ entry: Entry) {
        let (task, link) = links.withLock { links in
            entry.hasBegun = true
            return (entry.task.take(), entry.generation == links.generation ? links.unlink(entry) : nil)
        }
        withExtendedLifetime(task) {}
        link?.release()
    }

    /// Cancels all tasks, the last one first. In the other order a task could end by its cancellation, and the next
    /// could begin before it is cancelled itself. Tasks that cancellation handlers start count as later ones.
    func cancelAll() {
        var next = links.withLock { links in
            cancellations.store(links.generation, ordering: .releasing)
            return links.takeAll()
        }
        while let link = next {
            let entry = link.takeRetainedValue()
            next = entry.previous.take()
            entry.next = nil
            links.withLock { _ in entry.task.take() }?.cancel()
        }
    }

    /// The number of tasks that have not ended, for tests.
    var count: Int {
        links.withLock { links in
            var count = 0, next = links.first
            while let entry = next?.takeUnretainedValue() {
                count += 1
                next = entry.next
            }
            return count
        }
    }
}
