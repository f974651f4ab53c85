extension ConcurrentWorkQueue {
    /// The queue that the functions ``async(_:)``, ``async(delay:_:)`` and ``asyncBarrier(_:)`` use. Through it a
    /// program can observe their work and wait for it.
    ///
    /// ```swift
    /// ConcurrentWorkQueue.shared.recorder = EventRecorder(name: "async")
    /// try await ConcurrentWorkQueue.shared.drain()
    /// ```
    ///
    /// The whole program uses this queue: code that suspends it or shuts it down does so for all. Never blocks.
    public static let shared = ConcurrentWorkQueue(name: "SwiftSync.async")
}
