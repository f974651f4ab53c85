import Dispatch

extension ConcurrentWorkQueue {
    /// The queue that the functions ``async(inheritingTaskLocals:_:)``, ``async(delay:_:)`` and ``asyncBarrier(_:)``
    /// use. Through it a program can observe their work and wait for it.
    ///
    /// ```swift
    /// ConcurrentWorkQueue.shared.recorder = EventRecorder(name: "async")
    /// try await ConcurrentWorkQueue.shared.drain()
    /// ```
    ///
    /// The whole program uses this queue: code that suspends it or shuts it down does so for all. Never blocks.
    public static let shared = ConcurrentWorkQueue(name: "SwiftSync.async")
}

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
/// - Parameters:
///   - inheritingTaskLocals: if true, `body` runs as a separate task, which has the task-local values and the priority
///     of the caller.
///   - body: what runs, on a thread of the library's.
/// - Returns: false, with a report to ``SyncDiagnostics``, when the system has no memory or no thread. `body` will not
///   run then.
@discardableResult
public func async(inheritingTaskLocals: Bool = false, _ body: @escaping @Sendable () -> Void) -> Bool {
    let queue = ConcurrentWorkQueue.shared
    return inheritingTaskLocals ? queue.async(inheritingTaskLocals: true, body) : queue.async(body)
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
/// - Returns: what ``async(inheritingTaskLocals:_:)`` returns.
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
