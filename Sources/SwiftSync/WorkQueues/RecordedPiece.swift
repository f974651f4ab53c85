/// A piece of work whose events the queue's recorder keeps. If it is released without having begun, it was dropped.
final class RecordedPiece: @unchecked Sendable {
    private let recorder: EventRecorder
    private let id: UInt64
    private let tag: String
    /// Only the code whose turn it is writes it.
    private var hasBegun = false

    /// Records that the work was pushed, which happens before it can begin. Returns nil if there is no recorder. (A
    /// failing initializer would allocate first.)
    @inline(__always)
    static func make(_ recorder: EventRecorder?, _ tag: @autoclosure () -> String) -> RecordedPiece? {
        if let recorder { RecordedPiece(recorder, tag()) } else { nil }
    }

    @inline(never)
    private init(_ recorder: EventRecorder, _ tag: String) {
        self.recorder = recorder
        self.tag = tag
        id = recorder.makeID()
        recorder.record(.pushed, id: id, tag: tag)
    }

    deinit {
        if !hasBegun { recorder.record(.dropped, id: id, tag: tag) }
    }

    func begin() {
        hasBegun = true
        recorder.record(.started, id: id, tag: tag)
    }

    func end() {
        recorder.record(.finished, id: id, tag: tag)
    }

    /// Records that the work was given up, and won't begin.
    func cancel() {
        hasBegun = true
        recorder.record(.cancelled, id: id, tag: tag)
    }
}
