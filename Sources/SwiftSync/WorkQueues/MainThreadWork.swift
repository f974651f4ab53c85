import CSyncKernel
import Dispatch
import Synchronization

/// Work that is queued for the main thread at a given time. The main thread and a caller that cancels compete for it:
/// the first to ask gets it.
@safe
final class MainThreadWork: DelayedWork, @unchecked Sendable {
    private let body: @MainActor @Sendable () -> Void
    private let isDecided = Atomic(false)
    @safe private let timer: UnsafeMutablePointer<csk_timer_t>

    init(_ body: @escaping @MainActor @Sendable () -> Void) {
        self.body = body
        timer = .allocate(capacity: 1)
        unsafe timer.initialize(to: csk_timer_t())
        super.init()
    }

    deinit { unsafe timer.deallocate() }

    func start(deadline: Int64) -> Self {
        if deadline == Deadline.passed {
            enqueue()
        } else if deadline != Deadline.never {
            // The timer holds a reference until it has fired or is cancelled.
            let reference = unsafe Unmanaged.passRetained(self as MainThreadWork)
            let status = unsafe csk_timer_start(
                timer, deadline, { unsafe Unmanaged<MainThreadWork>.fromOpaque($1!).takeRetainedValue().enqueue() },
                unsafe reference.toOpaque())
            if status != 0 {
                unsafe reference.release()
                SyncDiagnostics.report(
                    .outOfResources, subject: "mainThread(delay:)",
                    message: "work was refused: \(statusText(status))")
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
        if unsafe csk_timer_cancel(timer) == 0 { unsafe Unmanaged.passUnretained(self).release() }
        return true
    }
}
