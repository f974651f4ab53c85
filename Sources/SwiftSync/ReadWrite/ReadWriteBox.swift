public import CSyncKernel

/// One allocation that holds a read-write lock and the value behind it.
@usableFromInline
final class ReadWriteBox<Value: ~Copyable>: ManagedBuffer<csk_rwlock_t, Value> {
    @inlinable
    static func make(_ value: consuming sending Value, policy: UInt32, readerBias: Bool) -> ReadWriteBox {
        let buffer = ReadWriteBox.create(minimumCapacity: 1) { _ in csk_rwlock_t() }
        let box = unsafeDowncast(buffer, to: ReadWriteBox.self)
        box.prepare(policy, readerBias)
        box.value.initialize(to: value)
        return box
    }

    /// Prepares the lock in place: a lock with reader bias is known by its address.
    @usableFromInline
    func prepare(_ policy: UInt32, _ readerBias: Bool) {
        KernelReports.arePassedOn
        var attributes = csk_rwlock_attr_t(policy: policy, reader_bias: readerBias ? 1 : 0)
        csk_rwlock_init(lock, &attributes)
    }

    @inlinable
    deinit {
        _ = withUnsafeMutablePointerToElements { $0.deinitialize(count: 1) }
    }

    @inlinable
    var lock: UnsafeMutablePointer<csk_rwlock_t> {
        lastingHeader
    }

    @inlinable
    var value: UnsafeMutablePointer<Value> {
        lastingElements
    }
}
