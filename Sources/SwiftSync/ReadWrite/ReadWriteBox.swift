public import CSyncKernel

/// One allocation that holds a read-write lock and the value behind it.
@usableFromInline
@safe
final class ReadWriteBox<Value: ~Copyable>: ManagedBuffer<csk_rwlock_t, Value> {
    @inlinable
    static func make(_ value: consuming sending Value, policy: UInt32, readerBias: Bool) -> ReadWriteBox {
        let buffer = unsafe ReadWriteBox.create(minimumCapacity: 1) { _ in unsafe csk_rwlock_t() }
        let box = unsafe unsafeDowncast(buffer, to: ReadWriteBox.self)
        box.prepare(policy, readerBias)
        unsafe box.value.initialize(to: value)
        return box
    }

    /// Prepares the lock in place: a lock with reader bias is known by its address.
    @usableFromInline
    func prepare(_ policy: UInt32, _ readerBias: Bool) {
        KernelReports.arePassedOn
        var attributes = csk_rwlock_attr_t(policy: policy, reader_bias: readerBias ? 1 : 0)
        unsafe csk_rwlock_init(lock, &attributes)
    }

    @inlinable
    deinit {
        _ = unsafe withUnsafeMutablePointerToElements { unsafe $0.deinitialize(count: 1) }
    }

    @inlinable
    @safe var lock: UnsafeMutablePointer<csk_rwlock_t> {
        lastingHeader
    }

    @inlinable
    @safe var value: UnsafeMutablePointer<Value> {
        lastingElements
    }
}
