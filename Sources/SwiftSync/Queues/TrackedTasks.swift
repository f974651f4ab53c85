import CSyncKernel

/// The tasks of a ``CancellableQueue`` that have not ended, in the order in which they were started: a list linked through its
/// entries, so that nothing is allocated or freed under the lock.
final class TrackedTasks: @unchecked Sendable {
    /// One task. Its fields are under the list's lock.
    final class Entry: @unchecked Sendable {
        private let list: TrackedTasks
        fileprivate var task: AnyTask?
        fileprivate var number: UInt64 = 0
        fileprivate var hasEnded = false
        /// True while the list holds a reference to this entry.
        fileprivate var isLinked = false
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
        var lastNumber: UInt64 = 0

        mutating func append(_ entry: Entry) {
            let link = Unmanaged.passRetained(entry)
            lastNumber += 1
            entry.number = lastNumber
            entry.isLinked = true
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
            entry.isLinked = false
            return Unmanaged.passUnretained(entry)
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
            return (entry.task.take(), entry.isLinked ? links.unlink(entry) : nil)
        }
        withExtendedLifetime(task) {}
        link?.release()
    }

    func cancelAll() {
        // Handlers may start tasks, which are later ones.
        let last = links.withLock { $0.lastNumber }
        while let (task, link) = takeFirst(upTo: last) {
            task?.cancel()
            link.release()
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

    private func takeFirst(upTo last: UInt64) -> (task: AnyTask?, Unmanaged<Entry>)? {
        links.withLock { links in
            guard let first = links.first?.takeUnretainedValue(), first.number <= last else { return nil }
            return (first.task.take(), links.unlink(first))
        }
    }
}
