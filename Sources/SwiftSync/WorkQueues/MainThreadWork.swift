import CSyncKernel
import Dispatch
import Synchronization

/// Work that is queued for the main thread at a given time. The main thread and a cancelling caller compete for it: the
/// first gets it, and with it the closure, which it releases outside of every lock.
@safe
final class MainThreadWork: DelayedWork, @unchecked Sendable {
    /// Only the party that has decided uses it.
    private var body: (@MainActor @Sendable () -> Void)?
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
                _ = decide()
                SyncDiagnostics.report(
                    .outOfResources, subject: "mainThread(delay:)",
                    message: "work was refused: \(statusText(status))")
            }
        }
        return self
    }

    /// Returns the closure to the first caller. No other caller gets it afterwards.
    private func decide() -> (@MainActor @Sendable () -> Void)? {
        isDecided.exchange(true, ordering: .acquiringAndReleasing) ? nil : body.take()
    }

    private func enqueue() {
        mainThread { self.decide()?() }
    }

    override func cancel() -> Bool {
        guard decide() != nil else { return false }
        if unsafe csk_timer_cancel(timer) == 0 { unsafe Unmanaged.passUnretained(self).release() }
        return true
    }
}
