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

    /// Runs `body` in a section of its own, and returns what it returns. It throws a ``ReadWriteError`` where `body`
    /// has not run, and what `body` throws.
    @concurrent
    static func run<Value: ~Copyable, R: Sendable>(
        _ box: ReadWriteBox<Value>, write: Bool, deadline: Int64, _ body: @Sendable () throws -> R
    ) async throws -> R {
        let section = SuspendedSection(box, write: write, deadline: deadline)
        var result: Result<R, any Error>?
        // A try is made even in a task that was cancelled because its deadline has passed.
        let isCancellable = deadline != Deadline.passed || Task.isCancelledByOthers
        let status = await section.run(isCancellable: isCancellable) { result = Result(catching: body) }
        if let result { return try result.get() }
        throw ReadWriteError(status: status)
    }

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
