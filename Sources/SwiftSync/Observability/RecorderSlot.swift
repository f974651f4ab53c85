import Synchronization

/// Which recorder a queue has, if any. May be set at any time; a queue without one pays for one look.
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
            // The former one may go, which is not to happen inside.
            let former = content.withLock { content in
                isFilled.store(newValue != nil, ordering: .relaxed)
                defer { content = newValue }
                return content
            }
            withExtendedLifetime(former) {}
        }
    }
}
