import Dispatch

/// Runs `body` asynchronously, concurrently with other work of these functions, and returns at once.
///
/// ```swift
/// async { save(document) }
/// async(delay: 0.35) { search(text) }                        // not before 0.35 s have passed
/// asyncBarrier { print("nothing else of these runs now") }
/// mainThread { title = "Saved" }
/// ```
///
/// All of them share one queue, ``ConcurrentWorkQueue/shared``, which runs up to 64 closures at once. The function may
/// be called from anywhere. Inside a type that has a member called `async`, write `SwiftSync.async`. O(1).
///
/// - Returns: false, with a report to ``SyncDiagnostics``, when the system has no memory or no thread. `body` will not
///   run then.
@discardableResult
public func async(_ body: @escaping @Sendable () -> Void) -> Bool {
    ConcurrentWorkQueue.shared.async(body)
}

/// Runs `body` asynchronously. If `inheritingTaskLocals` is true, `body` runs as a separate task, which has the
/// task-local values and the priority of the caller. With false it is ``async(_:)``.
@discardableResult
public func async(inheritingTaskLocals: Bool, _ body: @escaping @Sendable () -> Void) -> Bool {
    ConcurrentWorkQueue.shared.async(inheritingTaskLocals: inheritingTaskLocals, body)
}

/// Runs `body` asynchronously once `delay` seconds have passed, never early.
///
/// A delay that is zero, negative or NaN queues `body` now, and a barrier that comes after this call waits for it. With
/// an infinite delay `body` never runs; the work waits until it is cancelled. The function may be called from anywhere.
///
/// - Returns: an object that can cancel `body` until it begins.
@discardableResult
public func async(delay: Double, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
    let queue = ConcurrentWorkQueue.shared
    return queue.core.async(at: Deadline.after(seconds: delay) ?? Deadline.passed, rank: queue.core.ownRank, body)
}

/// Runs `body` asynchronously and alone: after all earlier work of these functions has ended, and before any later work
/// of these functions begins.
///
/// Delayed work counts from its time on. The whole program shares the queue, so a barrier holds up all of it; a
/// ``ConcurrentWorkQueue`` of your own has barriers too. O(1).
///
/// - Returns: what ``async(_:)`` returns.
@discardableResult
public func asyncBarrier(_ body: @escaping @Sendable () -> Void) -> Bool {
    ConcurrentWorkQueue.shared.async(barrier: true, body)
}

/// Runs `body` on the main thread, after the work that was submitted to it before. It returns at once, even when it is
/// called on the main thread.
///
/// The main thread has to serve its queue: by `dispatchMain()`, by `RunLoop.main`, or by an asynchronous `main`. With
/// `dispatchMain()`, Dispatch on Linux lets any of its threads serve the queue, one at a time. The function may be
/// called from anywhere.
public func mainThread(_ body: @escaping @MainActor @Sendable () -> Void) {
    DispatchQueue.main.async { MainActor.assumeIsolated(body) }
}

/// Runs `body` on the main thread once `delay` seconds have passed, never early. A delay that is zero, negative or NaN
/// means now. An infinite delay means never.
///
/// - Returns: an object that can cancel `body` until it begins on the main thread.
@discardableResult
public func mainThread(delay: Double, _ body: @escaping @MainActor @Sendable () -> Void) -> DelayedWork {
    MainThreadWork(body).start(deadline: Deadline.after(seconds: delay) ?? Deadline.passed)
}
