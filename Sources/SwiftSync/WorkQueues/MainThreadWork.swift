import CSyncKernel
import Dispatch
import Synchronization

/// Work that is queued for the main thread at a given time. The main thread and a caller that cancels compete for it:
/// the first to ask gets it.
final class MainThreadWork: DelayedWork, @unchecked Sendable {
    private let body: @MainActor @Sendable () -> Void
    private let isDecided = Atomic(false)
    private let timer: UnsafeMutablePointer<csk_timer_t>

    init(_ body: @escaping @MainActor @Sendable () -> Void) {
        self.body = body
        timer = .allocate(capacity: 1)
        timer.initialize(to: csk_timer_t())
        super.init()
    }

    deinit { timer.deallocate() }

    func start(deadline: Int64) -> Self {
        if deadline == Deadline.passed {
            enqueue()
        } else if deadline != Deadline.never {
            // The timer holds a reference until it has fired or is cancelled.
            let reference = Unmanaged.passRetained(self as MainThreadWork)
            let status = csk_timer_start(
                timer, deadline, { Unmanaged<MainThreadWork>.fromOpaque($1!).takeRetainedValue().enqueue() },
                reference.toOpaque())
            if status != 0 {
                reference.release()
                SyncDiagnostics.report(
                    .outOfResources, subject: "mainThread(delay:)",
                    message: "work was refused: \(String(cString: csk_status_text(status)))")
            }
        }
        return self
    }

    private func decide() -> Bool {
        !isDecided.exchange(true, ordering: .acquiringAndReleasing)
    }

    private func enqueue() {
        mainThread { if self.decide() { self.body() } }
    }

    override func cancel() -> Bool {
        guard decide() else { return false }
        if csk_timer_cancel(timer) == 0 { Unmanaged.passUnretained(self).release() }
        return true
    }
}
