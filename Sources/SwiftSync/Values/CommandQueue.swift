import CSyncKernel

/// Commands that run one at a time, in order of priority, on the thread that asks for it.
///
/// ```swift
/// let queue = CommandQueue()
/// queue.append(priority: .lowest) { print("second") }
/// queue.append(priority: .highest) { print("first") }
/// queue.perform()
/// ```
///
/// Every member may be called from any thread, and from inside a command, but not from a signal handler. Commands that
/// never ran are released with the queue.
public final class CommandQueue: @unchecked Sendable {
    /// What a command is.
    public typealias Closure = @Sendable () -> Void

    /// Held while a command runs. A performer enters at the lowest rank and `performNow` above all, so the gate decides
    /// who is next.
    private let turn: UnsafeMutablePointer<csk_gate_t>
    private let pending = PendingCommands()

    /// Makes an empty queue. Never blocks.
    public init() {
        KernelReports.arePassedOn
        turn = .allocate(capacity: 1)
        turn.initialize(to: csk_gate_t())
    }

    deinit {
        turn.deallocate()
    }

    /// Puts a command into the queue. It runs when somebody performs.
    ///
    /// Never waits for a command. A command that is running now is not overtaken, one that waits is, by a higher
    /// priority.
    /// - Complexity: O(1); the command's removal is O(log n) amortized.
    @preconcurrency
    public func append(priority: Priority, closure: @escaping Closure) {
        pending.insert(closure, at: priority)
    }

    /// Runs everything that is queued, in order, on the calling thread, and what is appended meanwhile.
    ///
    /// When another thread is performing, or this is called from inside a command, it returns at once, and the active
    /// performer runs what is queued. It does not recurse: commands that append and perform need no stack. Waits while
    /// `performNow` is running a closure on another thread.
    public func perform() {
        guard pending.beginPerforming(insideCommand: csk_gate_is_mine(turn)) else { return }
        withExtendedLifetime(self) {
            while performNext() {}
        }
    }

    /// Runs `closure` now, on the calling thread, before everything that waits in the queue, alone.
    ///
    /// Blocks while a command runs on another thread, and while others that came here earlier have their turn. Inside a
    /// command of this queue, `closure` runs inline. Don't call it from a command's thread for which that command
    /// waits, nor from async code.
    /// - Returns: what `closure` returns.
    /// - Throws: what `closure` throws; the queue goes on.
    @discardableResult
    public func performNow<R, E: Error>(closure: () throws(E) -> R) throws(E) -> R {
        if csk_gate_is_mine(turn) { return try closure() }
        enter(at: csk_rank(CommandPriority.highest.rawValue, Int32(CSK_PLACE_BACK)))
        defer {
            leave()
            if pending.takePerformRequest() { perform() }
        }
        return try closure()
    }

    /// How many threads were waiting for their turn at some instant during the call.
    package var waitingCount: Int { Int(csk_gate_waiting(turn)) }

    /// Runs the first command in order; false when there was none left, and this thread performs no more.
    private func performNext() -> Bool {
        enter(at: csk_rank(CommandPriority.lowest.rawValue, Int32(CSK_PLACE_LAST)))
        defer { leave() }
        guard let command = pending.nextOrEndPerforming() else { return false }
        command()
        return true
    }

    private func enter(at rank: csk_rank_t) {
        let status = csk_gate_lock_ranked(turn, rank, CSK_NEVER)
        guard status == 0 else { fatalError("CommandQueue: can't take its turn: \(String(cString: csk_status_text(status)))") }
    }

    private func leave() {
        csk_gate_unlock(turn)
    }
}
