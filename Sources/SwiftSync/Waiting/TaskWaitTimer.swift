import CSyncKernel

/// The timer for the deadline of a ``TaskWait``. The task that waits starts it and stops it.
final class TaskWaitTimer {
    private let timer: UnsafeMutablePointer<csk_timer_t>
    /// The wait to which the started timer holds a reference, until the timer has fired or is stopped.
    private var wait: Unmanaged<TaskWait>?

    init() {
        timer = .allocate(capacity: 1)
        timer.initialize(to: csk_timer_t())
    }

    deinit { timer.deallocate() }

    /// Starts the timer. Returns zero, or the errno value for which the system has no timer.
    func start(for wait: TaskWait, _ deadline: Int64) -> Int32 {
        let reference = Unmanaged.passRetained(wait)
        self.wait = reference
        let status = csk_timer_start(
            timer, deadline,
            { _, context in Unmanaged<TaskWait>.fromOpaque(context!).takeRetainedValue().giveUp(ETIMEDOUT) },
            reference.toOpaque())
        if status != 0 {
            self.wait = nil
            reference.release()
        }
        return status
    }

    /// Stops the timer. It returns once the timer's function is over, unless it is called on the timer's thread.
    func stop() {
        guard let wait else { return }
        self.wait = nil
        if csk_timer_cancel(timer) == 0 { wait.release() }
    }
}
