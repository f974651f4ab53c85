public import CSyncKernel

/// One allocation that holds a read-write lock, its name, and the value behind it.
@usableFromInline
@safe
final class ReadWriteBox<Value: ~Copyable>: ManagedBuffer<csk_placed_rwlock_t, Value> {
    @inlinable
    static func make(
        _ value: consuming sending Value, policy: UInt32, readerBias: Bool, _ place: csk_place_t
    ) -> ReadWriteBox {
        let buffer = unsafe ReadWriteBox.create(minimumCapacity: 1) { _ in unsafe csk_placed_rwlock_t() }
        let box = unsafe unsafeDowncast(buffer, to: ReadWriteBox.self)
        unsafe box.place(value) { placed in
            unsafe csk_rwlock_t.prepare(Layout.first(of: placed), policy, readerBias)
            unsafe csk_rwlock_set_place(placed, place)
        }
        return box
    }

    @inlinable
    deinit {
        unsafe place.end()
        unsafe endElement()
    }

    @inlinable
    @safe var lock: UnsafeMutablePointer<csk_rwlock_t> {
        unsafe Layout.first(of: lastingHeader)
    }

    /// Calls `body` with the lock, and keeps the box until it has returned.
    @inlinable
    @inline(__always)
    @discardableResult
    func withLock<Result>(_ body: (UnsafeMutablePointer<csk_rwlock_t>) -> Result) -> Result {
        unsafe withUnsafeMutablePointerToHeader { unsafe body(Layout.first(of: $0)) }
    }

    @inlinable
    var place: csk_place_t { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.place } }

    /// The lock's name in messages and reports.
    @usableFromInline
    var name: String { unsafe withLock { unsafe place.name(of: $0) } }

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
        var attributes = csk_rwlock_attr_t(size: 0, policy: policy, reader_bias: readerBias ? 1 : 0)
        unsafe csk_rwlock_init(lock, &attributes)
    }
}
