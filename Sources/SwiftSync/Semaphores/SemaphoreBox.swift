public import CSyncKernel

/// The one allocation of a semaphore. The pointer stays valid for as long as the box exists. A call that uses it keeps
/// the box alive until it ends, and so does each waiter.
@usableFromInline
@safe
final class SemaphoreBox: ManagedBuffer<csk_scoped_sem_t, Never> {
    @inlinable
    @safe var semaphore: UnsafeMutablePointer<csk_sem_t> {
        unsafe Layout.first(of: lastingHeader)
    }

    /// Calls `body` with the semaphore, and keeps the box until it has returned.
    @inlinable
    @inline(__always)
    @discardableResult
    func withSemaphore<Result>(_ body: (UnsafeMutablePointer<csk_sem_t>) -> Result) -> Result {
        unsafe withUnsafeMutablePointerToHeader { unsafe body(Layout.first(of: $0)) }
    }

    /// The semaphore's name in messages and reports.
    var name: String { unsafe withSemaphore { unsafe place.name(of: $0) } }

    /// Makes a semaphore. The numbers are within their bounds.
    static func make(_ permits: UInt32, _ attributes: csk_sem_attr_t, _ place: csk_place_t) -> SemaphoreBox {
        let buffer = unsafe SemaphoreBox.create(minimumCapacity: 0) { _ in unsafe csk_scoped_sem_t() }
        let box = unsafe unsafeDowncast(buffer, to: SemaphoreBox.self)
        return unsafe box.withUnsafeMutablePointerToHeader { scoped in
            let placed = unsafe Layout.first(of: scoped, as: csk_placed_sem_t.self)
            unsafe csk_placed_sem_t.prepare(placed, permits, attributes, place)
            unsafe csk_scoped_sem_begin(scoped)
            return box
        }
    }

    private var place: csk_place_t { unsafe withUnsafeMutablePointerToHeader { unsafe $0.pointee.held.placed.place } }

    deinit { unsafe place.end() }
}

extension csk_placed_sem_t {
    /// Prepares a semaphore in its place in memory, before it is shared. The numbers are within their bounds.
    static func prepare(
        _ placed: UnsafeMutablePointer<csk_placed_sem_t>, _ permits: UInt32, _ attributes: csk_sem_attr_t,
        _ place: csk_place_t
    ) {
        KernelReports.arePassedOn
        var attributes = attributes
        unsafe csk_sem_init_attr(Layout.first(of: placed), permits, &attributes)
        unsafe csk_sem_set_place(placed, place)
    }
}
