import CSyncKernel

/// A task that waits for a section of a read-write lock, and runs the section on a worker. The kernel decides between
/// running, timeout and cancellation.
@safe
final class SuspendedSection: TurnWait, @unchecked Sendable {
    /// It keeps the lock.
    private let box: AnyObject
    @safe let lock: UnsafeMutablePointer<csk_rwlock_t>
    private let mode: Int32
    private let sectionDeadline: Int64
    @safe private let work: UnsafeMutablePointer<csk_rwlock_work_t>

    init<Value: ~Copyable>(_ box: ReadWriteBox<Value>, write: Bool, deadline: Int64) {
        self.box = box
        lock = box.lock
        mode = Int32(write ? CSK_RWLOCK_WRITE : CSK_RWLOCK_READ)
        sectionDeadline = deadline
        work = .allocate(capacity: 1)
        unsafe work.initialize(to: csk_rwlock_work_t())
        super.init()
    }

    deinit { unsafe work.deallocate() }

    /// The kernel holds a reference from here until it calls the function.
    override func register() -> Int32 {
        let reference = unsafe Unmanaged.passRetained(self)
        let status = unsafe csk_rwlock_enqueue(lock, work, mode, sectionDeadline, Self.called, reference.toOpaque())
        if status != 0 { unsafe reference.release() }
        return status
    }

    /// Unless the kernel has granted the lock, it calls the function with `ECANCELED`.
    override func withdraw(_ cause: Int32) {
        unsafe csk_rwlock_cancel(lock, &work.pointee.waiter)
    }

    override func leave() {
        testStep("SuspendedSection: leaves", self)
        unsafe csk_rwlock_unlock(lock)
    }

    private static let called: csk_rwlock_work_function_t = { _, context, status in
        let section = unsafe Unmanaged<SuspendedSection>.fromOpaque(context!).takeRetainedValue()
        _ = withExtendedLifetime(section) { section.resolve(status) }
    }
}
