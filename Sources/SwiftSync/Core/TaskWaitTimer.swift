import CSyncKernel

/// The timer for the deadline of a ``TaskWait``. The task that waits starts it and stops it.
@safe
final class TaskWaitTimer {
    @safe private let timer: UnsafeMutablePointer<csk_timer_t>
    /// The wait to which the started timer holds a reference, until the timer has fired or is stopped.
    @safe private var wait: Unmanaged<TaskWait>?

    init() {
        timer = .allocate(capacity: 1)
        unsafe timer.initialize(to: csk_timer_t())
    }

    deinit { unsafe timer.deallocate() }

    /// Starts the timer. Returns zero, or the errno value for which the system has no timer.
    func start(for wait: TaskWait, _ deadline: Int64) -> Int32 {
        let reference = unsafe Unmanaged.passRetained(wait)
        self.wait = unsafe reference
        let status = unsafe csk_timer_start(
            timer, deadline,
            { _, context in unsafe Unmanaged<TaskWait>.fromOpaque(context!).takeRetainedValue().giveUp(ETIMEDOUT) },
            unsafe reference.toOpaque())
        if status != 0 {
            self.wait = nil
            unsafe reference.release()
        }
        return status
    }

    /// Stops the timer. It returns once the timer's function is over, unless it is called on the timer's thread.
    func stop() {
        guard let wait else { return }
        self.wait = nil
        if unsafe csk_timer_cancel(timer) == 0 { unsafe wait.release() }
    }
}
