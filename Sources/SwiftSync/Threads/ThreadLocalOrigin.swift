public import CSyncKernel

/// The parts of a ``ThreadLocalValue``, and its slow paths for a thread without a value of its type.
///
/// It is an object, so that a ``ThreadLocalValue`` is three words. If all of this were inside, each read would first
/// copy it to the stack, to have an address for what the slow path calls.
@usableFromInline
final class ThreadLocalOrigin<T>: Sendable {
    let namespace: String?
    let key: String
    let fullKey: String
    private let instantiator: ThreadLocalValue<T>.Instantiator?

    init(namespace: String?, key: String, fullKey: String, _ instantiator: ThreadLocalValue<T>.Instantiator?) {
        self.namespace = namespace
        self.key = key
        self.fullKey = fullKey
        self.instantiator = instantiator
    }

    /// A cell with the thread's value, cast where it is of another type; nil if there is none that can be cast.
    @usableFromInline @inline(never)
    func cell(_ slot: csk_tls_slot_t) -> UnsafeMutablePointer<ThreadLocalCell<T>>? {
        while let address = unsafe csk_tls_get(slot) {
            let found = unsafe AnyThreadLocalCell(address)
            if let own = unsafe found.ofType(T.self) { return unsafe own }
            guard let conversion = unsafe found.conversion else {
                guard let stored = unsafe found.value, let value = stored as? T else { return nil }
                let made = unsafe ThreadLocalCell.make(value)
                unsafe found.beginConversion(made)
                return unsafe made
            }
            if let own = unsafe conversion.ofType(T.self) { return unsafe own }
            unsafe found.endConversion()
        }
        return nil
    }

    /// A cell with the thread's value, cast if it is of another type; without a value, the cell with the one that the
    /// instantiator makes.
    @usableFromInline @inline(never)
    func filledCell(_ slot: csk_tls_slot_t) -> UnsafeMutablePointer<ThreadLocalCell<T>>? {
        if let cell = unsafe cell(slot), unsafe cell.pointee.value != nil { return unsafe cell }
        let own = ThreadLocalValue(slot: slot, origin: self)
        guard let instantiator, let value = ThreadLocalSlots.instantiate(slot, { instantiator(own) }) else {
            return nil
        }
        own.keep(value)
        // The release of the old value may have used the key, also as another type.
        return unsafe cell(slot)
    }

    /// Puts a cell of this type in the place of a cell of another type, or where there is none.
    @usableFromInline @inline(never)
    func replaceCell(_ slot: csk_tls_slot_t, _ newValue: T?) {
        let old = unsafe csk_tls_get(slot)
        let new = unsafe newValue.map { unsafe ThreadLocalCell.make($0) }
        if unsafe ThreadLocalSlots.set(slot, new) {
            // The old cell is destroyed after the exchange, because the old value's deinit may use the slot.
            if let old = unsafe old { unsafe AnyThreadLocalCell(old).destroy() }
        } else if let new = unsafe new {
            unsafe AnyThreadLocalCell(new).destroy()
        }
    }
}
