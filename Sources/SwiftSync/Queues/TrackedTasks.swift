import CSyncKernel

/// The tasks of a ``CancellableQueue`` that have not ended, in the order in which they were started: a list linked through its
/// entries, so that nothing is allocated or freed under the lock.
final class TrackedTasks: @unchecked Sendable {
    /// One task. Its fields are under the list's lock.
    final class Entry: @unchecked Sendable {
        private let list: TrackedTasks
        fileprivate var task: AnyTask?
        fileprivate var hasEnded = false
        /// Which list it is in: that of now, or one that was taken away whole. 0: none.
        fileprivate var generation: UInt64 = 0
        fileprivate var next: Unmanaged<Entry>?
        fileprivate var previous: Unmanaged<Entry>?

        init(of list: TrackedTasks) {
            self.list = list
        }

        /// The task was started. It may have ended meanwhile.
        func begin<Success, Failure>(_ task: Task<Success, Failure>) {
            list.insert(self, unsafeBitCast(task, to: AnyTask.self))
        }

        func end() {
            list.remove(self)
        }
    }

    /// A task of whatever type: a `Task` is one reference to a task object, which is cancelled in one way.
    fileprivate typealias AnyTask = Task<Void, Never>

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

        /// The list's reference is the caller's from now on.
        mutating func unlink(_ entry: Entry) -> Unmanaged<Entry> {
            if let previous = entry.previous { previous.takeUnretainedValue().next = entry.next } else { first = entry.next }
            if let next = entry.next { next.takeUnretainedValue().previous = entry.previous } else { last = entry.previous }
            entry.next = nil
            entry.previous = nil
            entry.generation = 0
            return Unmanaged.passUnretained(entry)
        }

        /// The whole list, by its last entry, with its references. O(1).
        mutating func takeAll() -> Unmanaged<Entry>? {
            generation += 1
            first = nil
            return last.take()
        }
    }

    private let links: OwningGateBox<Links> = .make(Links(), .fast, 0)

    private func insert(_ entry: Entry, _ task: AnyTask) {
        links.withLock { links in
            if entry.hasEnded { return }
            entry.task = task
            links.append(entry)
        }
    }

    private func remove(_ entry: Entry) {
        let (task, link) = links.withLock { links in
            entry.hasEnded = true
            return (entry.task.take(), entry.generation == links.generation ? links.unlink(entry) : nil)
        }
        withExtendedLifetime(task) {}
        link?.release()
    }

    /// The last is cancelled first: else one would end by its cancellation and the next could begin before it is cancelled itself. Tasks that
    /// handlers start are later ones.
    func cancelAll() {
        var next = links.withLock { $0.takeAll() }
        while let link = next {
            let entry = link.takeRetainedValue()
            next = entry.previous.take()
            entry.next = nil
            links.withLock { _ in entry.task.take() }?.cancel()
        }
    }

    /// Tasks that have not ended, for tests.
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
