import CSyncKernel

/// A section that a task waits for, and that runs on a worker once it is its turn: one allocation with the closure and what the kernel
/// queues. It can be cancelled, so whoever may do that holds it too.
///
/// The kernel holds one reference from the moment that it accepts the work until it calls its function; the work holds the box.
final class ReadWriteWork: ManagedBuffer<ReadWriteWork.Section, csk_rwlock_work_t> {
    struct Section {
        let box: ReadWriteBox<Void>
        /// Given the status; what it returns is done once the lock has been left.
        let body: @Sendable (Int32) -> (() -> Void)?
    }

    static func make(_ box: ReadWriteBox<Void>, _ body: @escaping @Sendable (Int32) -> (() -> Void)?) -> ReadWriteWork {
        let buffer = ReadWriteWork.create(minimumCapacity: 1) { _ in Section(box: box, body: body) }
        let work = unsafeDowncast(buffer, to: ReadWriteWork.self)
        work.kernelWork.initialize(to: csk_rwlock_work_t())
        return work
    }

    private var kernelWork: UnsafeMutablePointer<csk_rwlock_work_t> {
        withUnsafeMutablePointerToElements { $0 }
    }

    private static let called: csk_rwlock_work_function_t = { _, context, status in
        let section = Unmanaged<ReadWriteWork>.fromOpaque(context!).takeRetainedValue().header
        let afterwards = section.body(status)
        if status == 0 { csk_rwlock_unlock(section.box.lock) }
        afterwards?()
    }

    /// Queues the work: 0, or an errno value; then nothing was queued.
    func enqueue(write: Bool, deadline: Int64) -> Int32 {
        let reference = Unmanaged.passRetained(self)
        let mode = write ? CSK_RWLOCK_WRITE : CSK_RWLOCK_READ
        let status = csk_rwlock_enqueue(header.box.lock, kernelWork, Int32(mode), deadline, Self.called, reference.toOpaque())
        if status != 0 { reference.release() }
        return status
    }

    /// Resolves the work with `ECANCELED` if it waits; nothing happens otherwise.
    func cancel() {
        csk_rwlock_cancel(header.box.lock, &kernelWork.pointee.waiter)
    }
}
