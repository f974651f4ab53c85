/// What owns a protected value. ``QueueSafeValue`` is the only one.
///
/// `value.wait` is there twice, since it is used in two ways, and the compiler chooses by what follows.
///
/// - Where a command follows at once, as in `value.wait.lowestPriority.set { … }`, it takes this class's, whose
///   schedule refers to the owner. The owner is a reference that the caller holds already, so the call retains and
///   releases nothing, which would cost as much as the lock.
/// - Where the schedule, its commands or one of their functions are kept, it takes the one of ``ValueOwning``, which is
///   a ``SyncSchedule``. It holds the value's box, and lets the owner go.
///
/// A protocol that asks for `wait` names its type, `SyncSchedule<Value>`; left to be inferred, it would be the first.
///
/// Neither keeps the owner alive. Of a temporary, as in `makeValue().wait.lowestPriority.get()`, the value may be gone
/// before the command begins, which then says ``QueueSafeValueError/valueContainerDeinited``: keep the owner in a
/// variable. The release of a temporary may come before the end of its scope, which is what `@_eagerMove` says.
/// Variables of users are of the type ``QueueSafeValue``, and live as long as any other.
@_eagerMove
public class ValueOwner<Value>: @unchecked Sendable {
    @usableFromInline
    final let box: ValueBox<Value>

    @inlinable
    init(box: ValueBox<Value>) {
        self.box = box
    }

    /// The commands of ``SyncSchedule``, for a call that follows at once.
    @_disfavoredOverload
    @inlinable
    @inline(__always)
    public final var wait: SyncSchedule<Value>.AtOnce {
        SyncSchedule.AtOnce(owner: self)
    }
}

/// Gives ``QueueSafeValue`` the `wait` that can be kept.
public protocol ValueOwning<Value>: AnyObject {
    /// The type of the protected value.
    associatedtype Value

    /// The owner itself, by the name of its class.
    var valueOwner: ValueOwner<Value> { get }
}

extension ValueOwning {
    /// Commands that block the calling thread until they are done, and run their closures on it.
    @inlinable
    public var wait: SyncSchedule<Value> {
        SyncSchedule(box: valueOwner.box, limit: .never)
    }
}

extension QueueSafeValue: ValueOwning {
    /// The value itself, by the name of the class that ``wait`` needs.
    @inlinable
    public var valueOwner: ValueOwner<Value> { self }
}
