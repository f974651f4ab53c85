import Synchronization

/// Which recorder a queue has, if any: read by each submission, set at any time.
///
/// A reader looks and retains in two steps, so a recorder that was set stays alive until the slot goes, whatever is set after it.
final class RecorderSlot: @unchecked Sendable {
    private let current: Atomic<Unmanaged<EventRecorder>?>
    private let kept: PriorityMutex<[EventRecorder]>

    init(_ recorder: EventRecorder?) {
        kept = PriorityMutex(recorder.map { [$0] } ?? [])
        current = Atomic(recorder.map(Unmanaged.passUnretained))
    }

    @inline(__always)
    var recorder: EventRecorder? {
        get {
            current.load(ordering: .acquiring)?.takeUnretainedValue()
        }
        set {
            kept.withLock { kept in
                if let newValue, !kept.contains(where: { $0 === newValue }) { kept.append(newValue) }
                current.store(newValue.map(Unmanaged.passUnretained), ordering: .releasing)
            }
        }
    }
}
