import Dispatch
import Testing

/// What only the primitive under test protects: ThreadSanitizer sees an access that it does not.
final class Unprotected<Value>: @unchecked Sendable {
    var value: Value
    init(_ value: Value) { self.value = value }
}

/// What a section waits on without spinning.
struct Semaphore: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func signal() { semaphore.signal() }
    func wait() { semaphore.wait() }
}

/// The same numbers at each run (SplitMix64).
struct Seeded: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// What a section does that must not be entered.
func mustNotRun(sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record("the section ran", sourceLocation: sourceLocation)
}
