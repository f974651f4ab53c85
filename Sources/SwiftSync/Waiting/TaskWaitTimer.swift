import CSyncKernel

/// The deadline of a ``TaskWait``. It is started, and stopped, by the task that waits.
final class TaskWaitTimer {
    private let timer: UnsafeMutablePointer<csk_timer_t>
    /// What the started timer holds a reference to, until it has fired or is stopped.
    private var wait: Unmanaged<TaskWait>?

    init() {
        timer = .allocate(capacity: 1)
        timer.initialize(to: csk_timer_t())
    }

    deinit { timer.deallocate() }

    /// Zero, or why the system has no timer.
    func start(for wait: TaskWait, _ deadline: Int64) -> Int32 {
        let reference = Unmanaged.passRetained(wait)
        self.wait = reference
        let status = csk_timer_start(
            timer, deadline, { _, context in Unmanaged<TaskWait>.fromOpaque(context!).takeRetainedValue().giveUp(ETIMEDOUT) },
            reference.toOpaque())
        if status != 0 {
            self.wait = nil
            reference.release()
        }
        return status
    }

    /// Returns once the timer's function is over, unless this is the timer's thread.
    func stop() {
        guard let wait else { return }
        self.wait = nil
        if csk_timer_cancel(timer) == 0 { wait.release() }
    }
}
