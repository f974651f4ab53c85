import CSyncKernel
import Synchronization

/// A task that waits for a section to have run on a worker. The kernel decides between running, timeout and cancellation: exactly one of
/// them resumes the task.
final class SuspendedSection<Result: Sendable>: @unchecked Sendable {
    private let isCancelled = Atomic(false)
    private let body: @Sendable () throws -> Result
    private let box: ReadWriteBox<Void>
    /// Written before `isQueued`, read after it.
    private var work: ReadWriteWork?
    private let isQueued = Atomic(false)

    init(_ box: ReadWriteBox<Void>, _ body: @escaping @Sendable () throws -> Result) {
        self.box = box
        self.body = body
    }

    /// Queues the section, from inside of the suspension.
    func begin(_ continuation: UnsafeContinuation<Swift.Result<Result, any Error>, Never>, write: Bool, deadline: Int64) {
        // Else it could run all the same, where nobody is before it.
        if isCancelled.load(ordering: .acquiring) { return continuation.resume(returning: .failure(ReadWriteError.cancelled)) }
        let body = body
        let work = ReadWriteWork.make(box) { status in
            let result = status == 0 ? Swift.Result { try body() } : .failure(ReadWriteError(status: status))
            return { continuation.resume(returning: result) }
        }
        self.work = work
        let status = work.enqueue(write: write, deadline: deadline)
        if status != 0 { return continuation.resume(returning: .failure(ReadWriteError(status: status))) }
        // Of this store and the one in `cancel` with their looks at the other, the later one sees the other.
        isQueued.store(true, ordering: .sequentiallyConsistent)
        if isCancelled.load(ordering: .sequentiallyConsistent) { work.cancel() }
    }

    func cancel() {
        isCancelled.store(true, ordering: .sequentiallyConsistent)
        if isQueued.load(ordering: .sequentiallyConsistent) { work?.cancel() }
    }
}
