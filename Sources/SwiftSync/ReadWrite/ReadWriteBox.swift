public import CSyncKernel

/// One allocation that holds a read-write lock, what it is called, and the value behind it.
@usableFromInline
@safe
final class ReadWriteBox<Value: ~Copyable>: ManagedBuffer<csk_placed_rwlock_t, Value> {
    @inlinable
    static func make(
        _ value: consuming sending Value, policy: UInt32, readerBias: Bool, _ place: csk_place_t
    ) -> ReadWriteBox {
        let buffer = unsafe ReadWriteBox.create(minimumCapacity: 1) { _ in unsafe csk_placed_rwlock_t() }
        let box = unsafe unsafeDowncast(buffer, to: ReadWriteBox.self)
        unsafe csk_rwlock_t.prepare(box.lock, policy, readerBias)
        unsafe csk_rwlock_set_place(box.lastingHeader, place)
        unsafe box.value.initialize(to: value)
        return box
    }

    @inlinable
    deinit {
        unsafe place.end()
        _ = unsafe withUnsafeMutablePointerToElements { unsafe $0.deinitialize(count: 1) }
    }

    @inlinable
    @safe var lock: UnsafeMutablePointer<csk_rwlock_t> {
        unsafe RuntimeFacts.first(of: lastingHeader)
    }

    @inlinable
    var place: csk_place_t { unsafe lastingHeader.pointee.place }

    /// What messages and reports call the lock.
    @usableFromInline
    var name: String { unsafe place.name(of: lock) }

    @inlinable
    @safe var value: UnsafeMutablePointer<Value> {
        lastingElements
    }
}

extension csk_rwlock_t {
    /// Prepares the lock in its place in memory: a lock with reader bias is known by its address.
    @usableFromInline
    static func prepare(_ lock: UnsafeMutablePointer<csk_rwlock_t>, _ policy: UInt32, _ readerBias: Bool) {
        KernelReports.arePassedOn
        var attributes = csk_rwlock_attr_t(policy: policy, reader_bias: readerBias ? 1 : 0)
        unsafe csk_rwlock_init(lock, &attributes)
    }
}
