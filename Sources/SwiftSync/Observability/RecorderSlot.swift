import Synchronization

/// The recorder of a queue, if it has one. It may be set at any time. A queue without a recorder pays for one load.
final class RecorderSlot: Sendable {
    private let isFilled: Atomic<Bool>
    private let content: PriorityMutex<EventRecorder?>

    init(_ recorder: EventRecorder?) {
        isFilled = Atomic(recorder != nil)
        content = PriorityMutex(recorder)
    }

    @inline(__always)
    var recorder: EventRecorder? {
        get { isFilled.load(ordering: .relaxed) ? content.withLock { $0 } : nil }
        set {
            // The former recorder may be released here, which must not happen inside the lock.
            let former = content.withLock { content in
                isFilled.store(newValue != nil, ordering: .relaxed)
                defer { content = newValue }
                return content
            }
            withExtendedLifetime(former) {}
        }
    }
}
