import CSyncKernel

/// A predicate in the kernel's form. The thread that leaves the gate evaluates it, to decide whether a waiter can go
/// on.
@safe
struct GatePredicate {
    private let isTrue: () -> Bool

    private init(_ isTrue: @escaping () -> Bool) {
        self.isTrue = isTrue
    }

    /// Calls `body` with the function and the context that the kernel expects.
    static func withKernelForm<Result>(
        of isTrue: () -> Bool, _ body: (csk_gate_predicate_t, UnsafeMutableRawPointer) -> Result
    ) -> Result {
        withoutActuallyEscaping(isTrue) { isTrue in
            var predicate = GatePredicate(isTrue)
            return unsafe withUnsafeMutablePointer(to: &predicate) { unsafe body(ask, $0) }
        }
    }

    private static let ask: csk_gate_predicate_t = { context in
        unsafe context!.assumingMemoryBound(to: GatePredicate.self).pointee.isTrue()
    }
}
