import CSyncKernel

/// How a lock chooses between speed and strictness when threads contend.
///
/// ```swift
/// let log = PriorityMutex([String](), policy: .strict)
/// let table = QueueSafeValue(value: [Int: String](), bypassLimit: 100)    // .fast, and no waiter is overtaken by more
/// ```
///
/// A plain value: nothing here blocks, and it may be used from anywhere.
@frozen
public enum GatePolicy: Sendable, Hashable {
    /// The default. Among those that wait the order is strict; a new arrival may take a free lock if nobody of higher
    /// priority waits. A waiter that was overtaken that way for 0.25 to 0.75 ms is handed the lock directly.
    case fast
    /// Every release hands the lock to the next waiter: nobody overtakes a waiter, and each hand-over pays for a wake.
    /// For sections of 10 us and more.
    case strict

    @usableFromInline
    var kernelPolicy: UInt32 {
        switch self {
        case .fast: UInt32(CSK_GATE_FAST)
        case .strict: UInt32(CSK_GATE_STRICT)
        }
    }
}
