import CSyncKernel

/// Decides between speed and strict order when threads contend for a lock.
///
/// ```swift
/// let log = PriorityMutex([String](), policy: .strict)
/// let table = QueueSafeValue(value: [Int: String](), bypassLimit: 100)    // .fast, and no waiter is overtaken by more
/// ```
///
/// A policy is a plain value: nothing here blocks, and it may be used from anywhere.
@frozen
public enum GatePolicy: Sendable, Hashable {
    /// The default. The order among waiters is strict, but a new arrival may take a free lock if no waiter has a higher
    /// priority. A waiter that was overtaken that way for 0.25 to 0.78 ms is handed the lock directly. A task that runs
    /// may go before a suspended one whose turn has come and that has yet to be started; at the same priority four
    /// times, and only where sections are brief.
    case fast
    /// Every release hands the lock to the next waiter. No arrival overtakes a waiter, and each hand-off costs a wake.
    /// Use it for sections of 10 us and more.
    case strict

    @usableFromInline
    var kernelPolicy: UInt32 {
        switch self {
        case .fast: UInt32(CSK_GATE_FAST)
        case .strict: UInt32(CSK_GATE_STRICT)
        }
    }
}
