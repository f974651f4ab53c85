internal import CSyncKernel

/// The kernel's slots for the keys of ``ThreadLocalValue``.
enum ThreadLocalSlots {
    /// The slot that points to the calling thread's innermost running instantiator.
    private static let instantiations = unsafe open(name: "SwiftSync.ThreadLocalValue", destructor: nil)

    /// The name gets a prefix that keeps Swift's keys apart from the names that C code chose.
    static func open(_ fullKey: String) -> csk_tls_slot_t {
        unsafe open(name: "SwiftSync.ThreadLocalValue:\(fullKey)") { unsafe AnyThreadLocalCell($0!).destroy() }
    }

    private static func open(name: String, destructor: csk_tls_destructor_t?) -> csk_tls_slot_t {
        var slot: csk_tls_slot_t = 0
        var name = name
        let status = name.withUTF8 { unsafe csk_tls_open_bytes(&slot, $0.baseAddress, $0.count, destructor) }
        if status != 0 { fatalError("ThreadLocalValue: \(statusText(status))") }
        return slot
    }

    /// Returns false if the thread is so near its end that nothing can be kept.
    static func set(_ slot: csk_tls_slot_t, _ pointer: UnsafeMutableRawPointer?) -> Bool {
        let status = unsafe csk_tls_set(slot, pointer)
        if status != 0, status != ESHUTDOWN {
            fatalError("ThreadLocalValue: \(statusText(status))")
        }
        return status == 0
    }

    /// A running instantiator, on the stack of its thread, with the instantiator inside which it runs.
    @safe
    private struct Instantiation {
        let slot: csk_tls_slot_t
        let outer: UnsafeMutableRawPointer?
    }

    /// Runs `make`, and returns what it returns. It returns nil at once if `make` would run inside itself, or if what
    /// it makes can't be kept.
    static func instantiate<T>(_ slot: csk_tls_slot_t, _ make: () -> T?) -> T? {
        let outer = unsafe csk_tls_get(instantiations)
        var next = unsafe outer
        while let running = unsafe next?.load(as: Instantiation.self) {
            if running.slot == slot { return nil }
            unsafe next = running.outer
        }
        var current = unsafe Instantiation(slot: slot, outer: outer)
        return unsafe withUnsafeMutablePointer(to: &current) { pointer in
            guard unsafe set(instantiations, pointer) else { return nil }
            defer { _ = unsafe set(instantiations, outer) }
            return make()
        }
    }
}
