public import CSyncKernel

/// The one allocation of a semaphore. The pointer stays valid for as long as the box exists. A call that uses it keeps
/// the box alive until it ends, and so does whatever waits.
@usableFromInline
@safe
final class SemaphoreBox: ManagedBuffer<csk_sem_t, Never> {
    @inlinable
    @safe var semaphore: UnsafeMutablePointer<csk_sem_t> { lastingHeader }

    /// It returns nil where the numbers are out of their bounds.
    static func make(_ permits: UInt32, most: UInt32) -> SemaphoreBox? {
        guard let made = unsafe csk_sem_t.make(permits, most: most) else { return nil }
        let buffer = unsafe SemaphoreBox.create(minimumCapacity: 0) { _ in unsafe made }
        return unsafe unsafeDowncast(buffer, to: SemaphoreBox.self)
    }
}

extension csk_sem_t {
    /// Makes a semaphore before it is shared. It returns nil where the numbers are out of their bounds.
    @usableFromInline
    static func make(_ permits: UInt32, most: UInt32) -> csk_sem_t? {
        KernelReports.arePassedOn
        var semaphore = unsafe csk_sem_t()
        guard unsafe csk_sem_init(&semaphore, permits, most) == 0 else { return nil }
        return unsafe semaphore
    }
}
