/// Work of a ``FIFOQueue`` that no call waits for. (A closure by itself would be wrapped in another wherever it is
/// stored as a generic element, and each time that it is taken out.)
enum FIFOWork: Sendable {
    case plain(@Sendable () async -> Void)
    case cancellable(CancellableWork)

    var body: @Sendable () async -> Void {
        switch self {
        case .plain(let body): body
        case .cancellable(let work): work.body
        }
    }

    /// Returns the same work with another body.
    func with(_ body: @escaping @Sendable () async -> Void) -> FIFOWork {
        switch self {
        case .plain: .plain(body)
        case .cancellable(let work): .cancellable(CancellableWork(work, body))
        }
    }

    /// The entry of a task that is about to run this work alone; nil if the work is of no cancellable queue.
    func track() -> TrackedTasks.Entry? {
        if case .cancellable(let work) = self { TrackedTasks.Entry(for: work) } else { nil }
    }
}

/// Work of a ``CancellableQueue``: it runs in a task that is cancelled with the tasks of that queue.
final class CancellableWork: Sendable {
    let body: @Sendable () async -> Void
    let tasks: TrackedTasks
    /// The number of cancellations of all tasks before this work was submitted.
    let cancellations: UInt64

    init(_ body: @escaping @Sendable () async -> Void, of tasks: TrackedTasks) {
        self.body = body
        self.tasks = tasks
        cancellations = tasks.cancellationCount
    }

    fileprivate init(_ work: CancellableWork, _ body: @escaping @Sendable () async -> Void) {
        self.body = body
        tasks = work.tasks
        cancellations = work.cancellations
    }
}

/// What cancels the task of a pump: the cancellable queue whose work it runs, or nothing.
///
/// One task runs all work until it is cancelled. Then another task must run what is not cancelled with it.
struct FIFOPumpCancellation {
    private var entry: TrackedTasks.Entry?

    /// The calling task is about to run `work`. Returns false if it was cancelled with other work: then another task
    /// has to run `work`.
    mutating func begin(_ work: FIFOWork) -> Bool {
        switch work {
        case .plain: return end()
        case .cancellable(let work):
            if let entry, entry.isCancelled(with: work) {
                entry.catchUp()
                return true
            }
            guard end() else { return false }
            let entry = TrackedTasks.Entry(for: work)
            entry.begin()
            self.entry = entry
            return true
        }
    }

    /// The calling task has run the work. Returns false if it was cancelled with it.
    @discardableResult
    mutating func end() -> Bool { entry.take()?.end() ?? true }
}
