/// The owner of a protected value. ``QueueSafeValue`` is the only subclass.
///
/// `value.wait` has two forms, and the compiler chooses by what follows.
///
/// - Where a command follows at once, as in `value.wait.lowestPriority.set { … }`, it chooses the form of this class,
///   whose schedule refers to the owner. The caller already holds that reference, so the call retains and releases
///   nothing; counting would cost as much as the lock.
/// - Where the schedule, its commands or one of their functions are kept, it chooses the form of ``ValueOwning``, which
///   is a ``SyncSchedule``. That form keeps the value's box, not the owner.
///
/// A protocol that requires `wait` names its type, `SyncSchedule<Value>`; an inferred type would be the first form's.
///
/// Neither form keeps the owner alive. The value of a temporary, as in `makeValue().wait.lowestPriority.get()`, may be
/// gone before the command begins, which then fails with ``QueueSafeValueError/valueContainerDeinited``: keep the owner
/// in a variable. `@_eagerMove` allows a temporary to be released before the end of its scope. Users' variables have
/// the type ``QueueSafeValue``, and live as long as any other.
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
