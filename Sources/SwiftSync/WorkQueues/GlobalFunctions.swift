import Dispatch

/// Runs `body` asynchronously, together with other work of these functions, and returns at once.
///
/// ```swift
/// async { save(document) }
/// async(delay: 0.35) { search(text) }                        // not before 0.35 s have passed
/// asyncBarrier { print("nothing else of these runs now") }
/// mainThread { title = "Saved" }
/// ```
///
/// All share one queue, ``ConcurrentWorkQueue/shared``, up to 64 at once. May be called from anywhere. Inside a type
/// that has a member called `async`, write `SwiftSync.async`. O(1).
///
/// - Returns: false, with a report to ``SyncDiagnostics``, when the system has no memory or no thread; then `body` will
///   not run.
@preconcurrency
@discardableResult
public func async(_ body: @escaping @Sendable () -> Void) -> Bool {
    ConcurrentWorkQueue.shared.async(body)
}

/// The same as a task of its own, which has the task-local values and the priority of the caller. With false it is
/// ``async(_:)``.
@discardableResult
public func async(inheritingTaskLocals: Bool, _ body: @escaping @Sendable () -> Void) -> Bool {
    ConcurrentWorkQueue.shared.async(inheritingTaskLocals: inheritingTaskLocals, body)
}

/// Runs `body` asynchronously once `delay` seconds have passed, never early.
///
/// Zero, less, and NaN: now, and then a barrier that comes after this call waits for it; infinity: never, until it is
/// cancelled. May be called from anywhere.
///
/// - Returns: what cancels it until it begins.
@preconcurrency
@discardableResult
public func async(delay: Double, _ body: @escaping @Sendable () -> Void) -> DelayedWork {
    let queue = ConcurrentWorkQueue.shared
    return queue.core.async(at: Deadline.after(seconds: delay) ?? Deadline.passed, rank: queue.core.ownRank, body)
}

/// Runs `body` asynchronously and alone: after all that was given to these functions before has ended, and before what
/// is given to them later begins.
///
/// Delayed work counts from its time on. Since the whole program shares the queue, a barrier holds up all of it: a
/// ``ConcurrentWorkQueue`` of one's own has barriers too. O(1).
///
/// - Returns: as ``async(_:)``.
@preconcurrency
@discardableResult
public func asyncBarrier(_ body: @escaping @Sendable () -> Void) -> Bool {
    ConcurrentWorkQueue.shared.async(flags: .barrier, body)
}

/// Runs `body` on the main thread, after what was given to it before, and returns at once, also on the main thread
/// itself.
///
/// The main thread has to serve its queue: by `dispatchMain()`, by `RunLoop.main`, or by an asynchronous `main`. Where
/// it is `dispatchMain()`, Dispatch on Linux lets any of its threads serve it, one at a time. May be called from
/// anywhere.
@preconcurrency
public func mainThread(_ body: @escaping @MainActor @Sendable () -> Void) {
    DispatchQueue.main.async { MainActor.assumeIsolated(body) }
}

/// Runs `body` on the main thread once `delay` seconds have passed, never early. Zero, less, and NaN: now; infinity:
/// never.
///
/// - Returns: what cancels it until it begins on the main thread.
@preconcurrency
@discardableResult
public func mainThread(delay: Double, _ body: @escaping @MainActor @Sendable () -> Void) -> DelayedWork {
    MainThreadWork(body).start(deadline: Deadline.after(seconds: delay) ?? Deadline.passed)
}
