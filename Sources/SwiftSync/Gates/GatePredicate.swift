import CSyncKernel

/// A predicate as the kernel asks it, on whatever thread leaves the gate. It says whether somebody who waits can go on.
@safe
struct GatePredicate {
    private let isTrue: () -> Bool

    private init(_ isTrue: @escaping () -> Bool) {
        self.isTrue = isTrue
    }

    /// Calls `body` with what the kernel wants: a function, and its context.
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
