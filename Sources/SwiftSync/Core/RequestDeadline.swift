import CSyncKernel

/// The deadline of the calling thread's or task's request.
@usableFromInline
enum RequestDeadline {
    /// The earliest deadline in force, by the kernel's clock.
    @TaskLocal static var nearest: Int64 = Deadline.never

    /// Whether it has passed. It is checked only after a task was found to be cancelled.
    @usableFromInline
    static var hasPassed: Bool { nearest <= csk_now() }

    static func within<R>(_ deadline: Int64, _ body: () throws -> R) rethrows -> R {
        try $nearest.withValue(min(nearest, deadline), operation: body)
    }
}

extension Task where Success == Never, Failure == Never {
    /// Whether a wait of the calling task must not begin, since the task is cancelled. If the deadline of its request
    /// has cancelled it, each wait tries once instead.
    @inlinable
    static var isCancelledByOthers: Bool { isCancelled && !RequestDeadline.hasPassed }
}

extension Deadline {
    /// The earlier of `deadline` and the request's. One that has passed becomes ``passed``: a wait that only tries is
    /// not queued.
    static func nearer(_ deadline: Int64) -> Int64 {
        testStep("Deadline: asks for the request's")
        let ofRequest = RequestDeadline.nearest
        if ofRequest >= deadline { return deadline }
        return ofRequest <= csk_now() ? passed : ofRequest
    }

    /// The outcome of a wait. If it was cancelled because the request's deadline has passed, it timed out.
    static func outcome(_ status: Int32) -> Int32 {
        status == ECANCELED && RequestDeadline.hasPassed ? ETIMEDOUT : status
    }
}
