import CSyncKernel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Passes the kernel's own reports to ``SyncDiagnostics``: a holder that has ended, a reader that does not end, a pool
/// that can't continue, locks that are taken in a circle, a thread that blocks and must not, memory that waits for
/// reads.
enum KernelReports {
    /// Every initializer of a gate touches this. If C code of the program has set a reporter before, that reporter
    /// stays.
    static let arePassedOn: Void = {
        RuntimeFacts.areChecked
        if let earlier = unsafe csk_set_reporter(passOn) { unsafe csk_set_reporter(earlier) }
        unsafe csk_deadlock_know_tasks(
            { UInt64(RuntimeFacts.addressOfTask()) },
            { unsafe RuntimeFacts.context(ofTask: UInt($0)) })
        csk_deadlock_look_along { StalledQueues.look(now: $0, limit: $1) }
    }()

    /// The thread of a long wait, by its kind.
    private static func waiter(_ event: csk_event_t) -> String {
        if unsafe event.rank == csk_rank_t(CSK_THREAD_MAIN) { return "the main actor" }
        return unsafe event.thread_id == getpid() ? "the main thread" : "thread \(event.thread_id)"
    }

    /// Memory waits for read sections, or no longer does.
    private static func reportMemory(_ event: csk_event_t, seconds: Double) {
        let count = unsafe event.rank, reads = unsafe event.name.map { unsafe String(cString: $0) }
        SyncDiagnostics.report(
            .memoryWaits, subject: "retired memory",
            message: unsafe event.status == 0
                ? "the reads have ended for which it has waited for \(seconds) s; \(count) objects are retired"
                : "\(count) objects wait for reads that have lasted for \(seconds) s: "
                    + (reads ?? "of no thread that is known here"))
    }

    private static let passOn: csk_reporter_t = { event in
        guard let event = unsafe event?.pointee else { return }
        // Several objects may have one name, or have been made in one place: the address tells them apart.
        let kind = unsafe SyncObjectKind(event.object_kind)
        let name = unsafe event.name.map { unsafe "\(String(cString: $0)) " } ?? ""
        let address = unsafe String(UInt(bitPattern: event.object), radix: 16)
        let subject = "\(kind == .other ? "object" : kind.rawValue) \(name)at 0x\(address)"
        let seconds = unsafe Double(event.waited_ns / 100_000_000) / 10, thread = unsafe event.thread_id
        if unsafe event.kind == UInt32(CSK_EVENT_HOLDER_ENDED) {
            SyncDiagnostics.report(
                .holderEnded, subject: subject,
                message: "the thread that holds it has ended, so it will never be released; "
                    + "this thread has waited for \(seconds) s")
        } else if unsafe event.kind == UInt32(CSK_EVENT_LONG_READ) {
            SyncDiagnostics.report(
                .longRead, subject: subject,
                message: "thread \(thread) reads it, for which this thread has waited for \(seconds) s to write")
        } else if unsafe event.kind == UInt32(CSK_EVENT_LOCK_ORDER) {
            unsafe SyncDiagnostics.report(
                .lockOrder, subject: "locks", message: "they are taken in a circle: \(String(cString: event.name))")
        } else if unsafe event.kind == UInt32(CSK_EVENT_DEADLOCK) {
            unsafe SyncDiagnostics.report(
                .deadlock, subject: "threads and tasks", message: String(cString: event.name))
        } else if unsafe event.kind == UInt32(CSK_EVENT_QUEUE_STALLED) {
            unsafe SyncDiagnostics.report(
                .queueStalled,
                subject: event.name.map { unsafe "queue \(String(cString: $0))" } ?? "queue without a label",
                message: "work waits behind the one that runs on thread \(thread), which has itself waited "
                    + "for \(seconds) s")
        } else if unsafe event.kind == UInt32(CSK_EVENT_MEMORY_WAITS) {
            unsafe reportMemory(event, seconds: seconds)
        } else if unsafe event.kind == UInt32(CSK_EVENT_LONG_WAIT) {
            SyncDiagnostics.report(
                .longWait, subject: subject,
                message: "\(unsafe waiter(event)), which must not block, has waited for it for \(seconds) s")
        } else if unsafe event.kind == UInt32(CSK_EVENT_POOL_STUCK) {
            unsafe SyncDiagnostics.report(
                .workersExhausted,
                subject: event.name.map { unsafe "queue \(String(cString: $0))" } ?? "queue without a label",
                message: "no worker has come for it for \(seconds) s, and no further one can be started")
        } else if unsafe event.kind == UInt32(CSK_EVENT_HELD_BACK) {
            unsafe SyncDiagnostics.report(
                .nicenessNotRestored, subject: "threads of the library",
                message: "they stay as nice as the thread that used the library first: \(statusText(event.status))")
        } else if unsafe event.kind == UInt32(CSK_EVENT_THREAD_ENDED_BY_WORK) {
            unsafe SyncDiagnostics.report(
                .workEndedThread,
                subject: event.name.map { unsafe "queue \(String(cString: $0))" } ?? "worker \(thread)",
                message: "work has ended thread \(thread), a worker (pthread_exit); "
                    + "its section was ended, and another worker takes the thread's place")
        }
    }
}
