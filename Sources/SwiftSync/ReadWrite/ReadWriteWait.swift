public import CSyncKernel

/// The entries of threads into a read-write lock, with a limit that is read only if they have to wait. They return 0 or
/// an errno value.
extension TimeLimit {
    @usableFromInline
    func read(_ lock: UnsafeMutablePointer<csk_rwlock_t>) -> Int32 {
        let status = unsafe csk_rwlock_tryrdlock(lock)
        return status == EBUSY ? unsafe csk_rwlock_timedrdlock(lock, deadline()) : status
    }

    @usableFromInline
    func write(_ lock: UnsafeMutablePointer<csk_rwlock_t>) -> Int32 {
        let status = unsafe csk_rwlock_trywrlock(lock)
        return status == EBUSY ? unsafe csk_rwlock_timedwrlock(lock, deadline()) : status
    }

    @usableFromInline
    func upgrade(_ lock: UnsafeMutablePointer<csk_rwlock_t>) -> Int32 {
        let status = unsafe csk_rwlock_timedupgrade(lock, Deadline.passed)
        return status == ETIMEDOUT ? unsafe csk_rwlock_timedupgrade(lock, deadline()) : status
    }
}
