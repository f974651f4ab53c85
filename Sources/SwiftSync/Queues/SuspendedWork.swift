import CSyncKernel
import Synchronization

/// A task that waits for its closure to have run on a queue. Of the worker, the timer and whoever cancels, the first to ask gets to resume it; the
/// kernel may hold the rest in its queue for a while longer, which then does nothing.
class SuspendedWork: @unchecked Sendable {
    private let isCancelled = Atomic(false)
    private let isQueued = Atomic(false)
    private let isDecided = Atomic(false)
    private let timer: UnsafeMutablePointer<csk_timer_t>?
    private let deadline: Int64
    private let recorder: EventRecorder?
    private let label: String
    private let id: UInt64

    init(_ core: WorkQueueCore, deadline: Int64) {
        self.deadline = deadline
        recorder = core.recorder
        label = core.label
        id = recorder?.makeID() ?? 0
        timer = deadline == Deadline.never ? nil : .allocate(capacity: 1)
        timer?.initialize(to: csk_timer_t())
    }

    deinit { timer?.deallocate() }

    /// On a worker, when it is its turn. What it returns resumes the task.
    func run() -> () -> Void { fatalError("\(Self.self) does not say what it runs") }
    /// It was not run and will not be.
    func fail(_ error: WorkQueueError) { fatalError("\(Self.self) does not say how it fails") }

    private func decide() -> Bool {
        !isDecided.exchange(true, ordering: .acquiringAndReleasing)
    }

    /// Queues the closure, from inside of the suspension.
    final func begin(on core: WorkQueueCore, rank: Int64, barrier: Bool) {
        // Else it could run all the same, where nobody is before it.
        if isCancelled.load(ordering: .acquiring) { return fail(.cancelled) }
        guard let work = WorkItem.make(self) else { return fail(.outOfResources) }
        startTimer()
        recorder?.record(.pushed, id: id, tag: label)
        let status =
            barrier
            ? csk_workqueue_enqueue_barrier(core.queue, work, Self.called) : csk_workqueue_enqueue_ranked(core.queue, work, rank, Self.called)
        if status != 0 {
            _ = WorkItem.take(work, as: SuspendedWork.self)
            return giveUp(WorkQueueError(status: status))
        }
        // Of this store and the one in `cancel` with their looks at the other, the later one sees the other.
        isQueued.store(true, ordering: .sequentiallyConsistent)
        if isCancelled.load(ordering: .sequentiallyConsistent) { giveUp(.cancelled) }
    }

    final func cancel() {
        isCancelled.store(true, ordering: .sequentiallyConsistent)
        if isQueued.load(ordering: .sequentiallyConsistent) { giveUp(.cancelled) }
    }

    private func giveUp(_ error: WorkQueueError) {
        guard decide() else { return }
        stopTimer()
        recorder?.record(.cancelled, id: id, tag: label)
        fail(error)
    }

    private static let called: csk_work_function_t = { work, status in
        let waiting = WorkItem.take(work!, as: SuspendedWork.self)
        if status != 0 { return waiting.giveUp(WorkQueueError(status: status)) }
        guard waiting.decide() else { return }
        waiting.stopTimer()
        waiting.recorder?.record(.started, id: waiting.id, tag: waiting.label)
        let resume = waiting.run()
        waiting.recorder?.record(.finished, id: waiting.id, tag: waiting.label)
        resume()
    }

    // MARK: - The timeout

    /// The timer holds a reference while it runs.
    private func startTimer() {
        guard let timer else { return }
        let reference = Unmanaged.passRetained(self)
        let status = csk_timer_start(
            timer, deadline, { _, context in Unmanaged<SuspendedWork>.fromOpaque(context!).takeRetainedValue().giveUp(.timedOut) }, reference.toOpaque())
        if status != 0 { reference.release() }
    }

    /// By who has decided.
    private func stopTimer() {
        if let timer, csk_timer_cancel(timer) == 0 { Unmanaged.passUnretained(self).release() }
    }
}

/// The same with a closure and what it gives.
final class SuspendedWorkOf<Success: Sendable>: SuspendedWork, @unchecked Sendable {
    private let body: @Sendable () -> Success
    private var continuation: UnsafeContinuation<Result<Success, WorkQueueError>, Never>?

    init(_ core: WorkQueueCore, deadline: Int64, _ body: @escaping @Sendable () -> Success) {
        self.body = body
        super.init(core, deadline: deadline)
    }

    func begin(_ continuation: UnsafeContinuation<Result<Success, WorkQueueError>, Never>, on core: WorkQueueCore, rank: Int64, barrier: Bool) {
        self.continuation = continuation
        begin(on: core, rank: rank, barrier: barrier)
    }

    override func run() -> () -> Void {
        let success = body(), continuation = continuation.unsafelyUnwrapped
        return { continuation.resume(returning: .success(success)) }
    }
    override func fail(_ error: WorkQueueError) { continuation.unsafelyUnwrapped.resume(returning: .failure(error)) }
}

extension WorkQueueCore {
    /// Runs `body` on the queue while the task is suspended.
    func run<T: Sendable, E: Error>(rank: Int64, barrier: Bool, _ body: @escaping @Sendable () throws(E) -> T) async throws(E) -> T {
        let waiting = SuspendedWorkOf<Result<T, E>>(self, deadline: Deadline.never) {
            do throws(E) { return .success(try body()) } catch { return .failure(error) }
        }
        let outcome = await withUnsafeContinuation { waiting.begin($0, on: self, rank: rank, barrier: barrier) }
        switch outcome {
        case .success(let result): return try result.get()
        case .failure(let error): fatalError("\(type) \(label): run: \(error)")
        }
    }

    /// The same with a timeout and cancellation.
    func run<T: Sendable>(rank: Int64, barrier: Bool, timeout: Duration?, _ body: @escaping @Sendable () throws -> T) async throws -> T {
        let waiting = SuspendedWorkOf<Result<T, any Error>>(self, deadline: Deadline.after(timeout: timeout)) { Result(catching: body) }
        return try await withTaskCancellationHandler {
            await withUnsafeContinuation { waiting.begin($0, on: self, rank: rank, barrier: barrier) }
        } onCancel: {
            waiting.cancel()
        }.get().get()
    }

    /// Suspends the task until all that was accepted before has ended.
    func drain() async {
        let wait = UnsafeMutablePointer<csk_workqueue_wait_t>.allocate(capacity: 1)
        wait.initialize(to: csk_workqueue_wait_t())
        defer { wait.deallocate() }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            csk_workqueue_drain_async(
                queue, wait, { unsafeBitCast($0!.pointee.context, to: UnsafeContinuation<Void, Never>.self).resume() },
                unsafeBitCast(continuation, to: UnsafeMutableRawPointer.self))
        }
    }
}
