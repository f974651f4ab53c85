import CSyncKernel

/// The deadline of the request that a thread or task works for.
@usableFromInline
enum RequestDeadline {
    /// The nearest of those that are in force, by the kernel's clock.
    @TaskLocal static var nearest: Int64 = Deadline.never

    /// Whether it has passed. It is looked up where a task was found to be cancelled, and not before.
    @usableFromInline
    static var hasPassed: Bool { nearest <= csk_now() }

    static func within<R>(_ deadline: Int64, _ body: () throws -> R) rethrows -> R {
        try $nearest.withValue(min(nearest, deadline), operation: body)
    }
}

extension Task where Success == Never, Failure == Never {
    /// Whether a wait of the calling task must not begin, since the task is cancelled. Where the deadline of its
    /// request has passed, which cancels it too, each wait tries once instead.
    @inlinable
    static var isCancelledByOthers: Bool { isCancelled && !RequestDeadline.hasPassed }
}

extension Deadline {
    /// The nearer of `deadline` and the request's. One that has passed is ``passed``: who only tries stands in no
    /// queue.
    static func nearer(_ deadline: Int64) -> Int64 {
        testStep("Deadline: asks for the request's")
        let ofRequest = RequestDeadline.nearest
        if ofRequest >= deadline { return deadline }
        return ofRequest <= csk_now() ? passed : ofRequest
    }

    /// The outcome of a wait: one that was cancelled because the request's deadline has passed was too long.
    static func outcome(_ status: Int32) -> Int32 {
        status == ECANCELED && RequestDeadline.hasPassed ? ETIMEDOUT : status
    }
}
