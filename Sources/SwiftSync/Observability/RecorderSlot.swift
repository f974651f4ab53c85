import Synchronization

/// The recorder of a queue, if it has one. It may be set at any time. A queue without a recorder pays for one load.
final class RecorderSlot: Sendable {
    /// Whether work takes the slow path.
    private let isFilled: Atomic<Bool>
    private let content: PriorityMutex<EventRecorder?>
    private let staysFilled: Bool

    /// - Parameter staysFilled: work takes the slow path without a recorder too.
    init(_ recorder: EventRecorder?, staysFilled: Bool = false) {
        isFilled = Atomic(recorder != nil || staysFilled)
        content = PriorityMutex(recorder)
        self.staysFilled = staysFilled
    }

    @inline(__always)
    var isEmpty: Bool { !isFilled.load(ordering: .relaxed) }

    @inline(__always)
    var recorder: EventRecorder? {
        get { isFilled.load(ordering: .relaxed) ? content.withLock { $0 } : nil }
        set {
            // The former recorder may be released here, which must not happen inside the lock.
            let former = content.withLock { content in
                isFilled.store(newValue != nil || staysFilled, ordering: .relaxed)
                defer { content = newValue }
                return content
            }
            withExtendedLifetime(former) {}
        }
    }
}
