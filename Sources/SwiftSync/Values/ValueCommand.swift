import CSyncKernel
import Dispatch

/// A command whose body captures nothing: it holds the value and the user's closures in its own allocation.
///
/// Only the body calls the closures. The body is made where the type of the value is known, so it needs no type
/// look-up, unlike an overridden method of a generic class.
@usableFromInline
@safe
final class ValueCommand<Value>: AsyncCommand, @unchecked Sendable {
    /// The value, which is valid while the body runs with the status 0.
    @usableFromInline @safe let value: UnsafeMutablePointer<Value>
    @usableFromInline let accessClosure: (@Sendable (inout Value) -> Void)?
    @usableFromInline let completion: (@Sendable (Result<Value, QueueSafeValueError>) -> Void)?

    @inlinable
    init(
        _ schedule: AsyncSchedule<Value>, access: consuming (@Sendable (inout Value) -> Void)?,
        completion: consuming (@Sendable (Result<Value, QueueSafeValueError>) -> Void)?, body: @escaping Body
    ) {
        value = schedule.box.value
        accessClosure = access
        self.completion = completion
        unsafe super.init(schedule.box.gate, of: schedule.box, on: schedule.queue, limit: schedule.limit, body: body)
    }

    @inlinable
    deinit {}
}

extension AsyncCommand {
    /// Runs `access` with a closure `done`. The section ends once `access` has returned and `done` has been called.
    /// Whichever comes second runs `end`, which leaves the gate. The argument of `end` says whether it runs on the
    /// queue.
    final func leaveOnCompletion(
        _ access: (@escaping CommandCompletionClosure) -> Void,
        end: @escaping @Sendable (AsyncCommand, _ onQueue: Bool) -> Void
    ) -> Ending {
        let order = SectionEnd()
        let finish: @Sendable (Bool) -> Void = { [self] onQueue in
            if order.isSecond() { end(self, onQueue) }
        }
        access(unsafe ManualCompletion.closure(at: gate) { finish(false) })
        disown()
        finish(true)
        return .isSeenTo
    }
}
