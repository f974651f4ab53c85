public import CSyncKernel

/// The one allocation of a semaphore. The pointer stays valid for as long as the box exists. A call that uses it keeps
/// the box alive until it ends, and so does whatever waits.
@usableFromInline
@safe
final class SemaphoreBox: ManagedBuffer<csk_placed_sem_t, Never> {
    @inlinable
    @safe var semaphore: UnsafeMutablePointer<csk_sem_t> {
        unsafe RuntimeFacts.first(of: lastingHeader)
    }

    /// What messages and reports call the semaphore.
    var name: String { unsafe lastingHeader.pointee.place.name(of: semaphore) }

    /// It returns nil where the numbers are out of their bounds.
    static func make(_ permits: UInt32, most: UInt32, _ place: csk_place_t) -> SemaphoreBox? {
        guard let made = unsafe csk_placed_sem_t.make(permits, most: most, place) else { return nil }
        let buffer = unsafe SemaphoreBox.create(minimumCapacity: 0) { _ in unsafe made }
        return unsafe unsafeDowncast(buffer, to: SemaphoreBox.self)
    }

    deinit { unsafe lastingHeader.pointee.place.end() }
}

extension csk_placed_sem_t {
    /// Makes a semaphore before it is shared. It returns nil where the numbers are out of their bounds.
    @usableFromInline
    static func make(_ permits: UInt32, most: UInt32, _ place: csk_place_t) -> csk_placed_sem_t? {
        KernelReports.arePassedOn
        var placed = unsafe csk_placed_sem_t()
        guard unsafe csk_sem_init(&placed.sem, permits, most) == 0 else { return nil }
        unsafe csk_sem_set_place(&placed, place)
        return unsafe placed
    }
}
