extension ConcurrentWorkQueue {
    /// The queue of the functions ``async(_:)``, ``async(delay:_:)`` and ``asyncBarrier(_:)``, to watch and to wait
    /// for.
    ///
    /// ```swift
    /// ConcurrentWorkQueue.shared.recorder = EventRecorder(label: "async")
    /// await ConcurrentWorkQueue.shared.drain()
    /// ```
    ///
    /// The whole program uses it: one that suspends it or shuts it down does so for all. Never blocks.
    public static let shared = ConcurrentWorkQueue(label: "SwiftSync.async")
}
