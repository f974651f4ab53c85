import CSyncKernel

/// Passes to ``SyncDiagnostics`` what the kernel detects by itself: a holder that has ended, a reader that does not
/// end, a pool that can't continue.
enum KernelReports {
    /// Everybody who makes a gate touches this. If C code of the program has set a reporter before, that reporter
    /// stays.
    static let arePassedOn: Void = {
        if let earlier = csk_set_reporter(passOn) { csk_set_reporter(earlier) }
    }()

    private static let passOn: csk_reporter_t = { event in
        guard let event = event?.pointee else { return }
        let subject = "lock at 0x\(String(UInt(bitPattern: event.object), radix: 16))"
        let seconds = Double(event.waited_ns / 100_000_000) / 10
        if event.kind == UInt32(CSK_EVENT_HOLDER_ENDED) {
            SyncDiagnostics.report(
                .holderEnded, subject: subject,
                message: "the thread that holds it has ended, so it will never be released; "
                    + "this thread has waited for \(seconds) s")
        } else if event.kind == UInt32(CSK_EVENT_LONG_READ) {
            SyncDiagnostics.report(
                .longRead, subject: subject,
                message:
                    "thread \(event.thread_id) reads it, for which this thread has waited for \(seconds) s to write")
        } else if event.kind == UInt32(CSK_EVENT_POOL_STUCK) {
            SyncDiagnostics.report(
                .workersExhausted,
                subject: event.name.map { "queue \(String(cString: $0))" } ?? "queue without a label",
                message: "no worker has come for it for \(seconds) s, and no further one can be started")
        } else if event.kind == UInt32(CSK_EVENT_HELD_BACK) {
            SyncDiagnostics.report(
                .nicenessNotRestored, subject: "threads of the library",
                message: "they stay as nice as the thread that used the library first: "
                    + String(cString: csk_status_text(event.status)))
        } else if event.kind == UInt32(CSK_EVENT_THREAD_ENDED_BY_WORK) {
            SyncDiagnostics.report(
                .workEndedThread,
                subject: event.name.map { "queue \(String(cString: $0))" } ?? "worker \(event.thread_id)",
                message: "work has ended thread \(event.thread_id), a worker (pthread_exit); "
                    + "its section was ended, and another worker takes the thread's place")
        }
    }
}
