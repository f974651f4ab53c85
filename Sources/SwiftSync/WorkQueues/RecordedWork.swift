import CSyncKernel

/// A closure of a queue that has a recorder. A queue without a recorder does not use this type.
final class RecordedWork: Sendable {
    private let recorder: EventRecorder
    private let id: UInt64
    private let tag: String
    private let body: @Sendable () -> Void

    /// Records that the closure was pushed. This happens before it is queued, so before it can start.
    init(_ recorder: EventRecorder, tag: String, _ body: @escaping @Sendable () -> Void) {
        self.recorder = recorder
        self.tag = tag
        self.body = body
        id = recorder.makeID()
        recorder.record(.pushed, id: id, tag: tag)
    }

    func run() {
        recorder.record(.started, id: id, tag: tag)
        body()
        recorder.record(.finished, id: id, tag: tag)
    }

    func drop() {
        recorder.record(.dropped, id: id, tag: tag)
    }

    static let called: csk_work_function_t = { work, status in
        if unsafe WorkItem.isLeftToAnother(work!, status, called) { return }
        let recorded = unsafe WorkItem.take(work!, as: RecordedWork.self)
        if status == 0 { recorded.run() } else { recorded.drop() }
    }
}

extension WorkQueueCore {
    func async(
        tag: String?, rank: Int64, barrier: Bool = false, _ recorder: EventRecorder,
        _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        let recorded = RecordedWork(recorder, tag: tag ?? label, body)
        guard let work = unsafe WorkItem.make(recorded) else {
            recorded.drop()
            return reportNoMemory()
        }
        let status =
            unsafe barrier
            ? csk_workqueue_submit(queue, rank, work, CSK_WORK_BARRIER, Deadline.never, RecordedWork.called)
            : submit(work, rank: rank, RecordedWork.called)
        return unsafe accepted(status, work) { unsafe WorkItem.take($0, as: RecordedWork.self).drop() }
    }

    /// Waits for a caller's turn, and records the caller. Without a recorder it only waits.
    func recorded(_ body: @escaping () -> Void, _ wait: (@escaping () -> Void) -> Int32) -> Int32 {
        guard let recorder else { return wait(body) }
        let id = recorder.makeID()
        recorder.record(.pushed, id: id, tag: label)
        let status = wait {
            recorder.record(.started, id: id, tag: label)
            body()
            recorder.record(.finished, id: id, tag: label)
        }
        if status != 0 { recorder.record(.cancelled, id: id, tag: label) }
        return status
    }
}
