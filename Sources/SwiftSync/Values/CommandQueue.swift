import CSyncKernel

/// Commands that run one at a time, in order of priority, on the thread that calls ``perform()``.
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
@safe
public final class CommandQueue: @unchecked Sendable {
    /// The type of a command.
    public typealias Closure = @Sendable () -> Void

    /// The gate is held while a command runs. A performer enters at the lowest rank, and `performNow` above all others,
    /// so the gate decides which of them is next.
    @safe private let turn: UnsafeMutablePointer<csk_gate_t>
    /// The gate with its place.
    @safe private let placed: UnsafeMutablePointer<csk_placed_gate_t>
    private let pending = PendingCommands()

    /// Makes an empty queue. It never blocks.
    ///
    /// - Parameters:
    ///   - name: a name, which is copied, for messages and reports. Nil stands for the place.
    ///   - fileID: where the queue is made.
    ///   - line: the line there.
    public convenience init(name: String? = nil, fileID: StaticString = #fileID, line: UInt = #line) {
        unsafe self.init(at: .named(name, fileID, line))
    }

    /// Makes an empty queue without a recorded place, for references to the initializer.
    @_disfavoredOverload
    public convenience init() {
        unsafe self.init(at: .unknown)
    }

    private init(at place: csk_place_t) {
        placed = .allocate(capacity: 1)
        unsafe placed.initialize(to: csk_placed_gate_t())
        turn = unsafe Layout.first(of: placed)
        unsafe csk_placed_gate_t.prepare(placed, .fast, 0, place)
    }

    deinit {
        unsafe placed.pointee.place.end()
        unsafe placed.deallocate()
    }

    /// The name in reports: the given one, or where it was made (`Module/File.swift:12`), or its address. Never blocks.
    public var name: String { unsafe placed.pointee.place.name(of: turn) }

    /// Adds a command to the queue. It runs when a thread performs the queue's commands.
    ///
    /// It never waits for a command. A command of higher priority overtakes waiting commands, but not the command that
    /// is running now.
    /// - Complexity: O(1); the command's removal is O(log n) amortized.
    public func append(priority: Priority, closure: @escaping Closure) {
        pending.insert(closure, at: priority)
    }

    /// Runs all queued commands, in order, on the calling thread, including those appended meanwhile.
    ///
    /// When another thread is performing, or when the call comes from inside a command, it returns at once, and the
    /// active performer runs the queued commands. It does not recurse: commands that append and perform need no extra
    /// stack. It waits while `performNow` is running a closure on another thread.
    public func perform() {
        guard unsafe pending.beginPerforming(insideCommand: csk_gate_is_mine(turn)) else { return }
        withExtendedLifetime(self) {
            while performNext() {}
        }
    }

    /// Runs `closure` now and alone, on the calling thread, before all commands that wait in the queue.
    ///
    /// It blocks while a command runs on another thread, and while earlier callers of `performNow` have their turn. A
    /// call from inside a command of this queue runs `closure` inline. Don't call it from a thread that a running
    /// command waits for, nor from async code.
    /// - Returns: what `closure` returns.
    /// - Throws: what `closure` throws. The queue continues.
    @discardableResult
    public func performNow<R, E: Error>(closure: () throws(E) -> R) throws(E) -> R {
        if unsafe csk_gate_is_mine(turn) { return try closure() }
        enter(at: csk_rank(CommandPriority.highest.rawValue, Int32(CSK_PLACE_BACK)))
        defer {
            leave()
            if pending.takePerformRequest() { perform() }
        }
        return try closure()
    }

    /// The number of threads that waited for their turn at some instant during the call.
    package var waitingCount: Int { unsafe Int(csk_gate_waiting(turn)) }

    /// Runs the first command in order. It returns false when none was left; then this thread performs no more.
    private func performNext() -> Bool {
        enter(at: csk_rank(CommandPriority.lowest.rawValue, Int32(CSK_PLACE_LAST)))
        defer { leave() }
        guard let command = pending.nextOrEndPerforming() else { return false }
        command()
        return true
    }

    private func enter(at rank: csk_rank_t) {
        let status = unsafe csk_gate_lock_ranked(turn, rank, CSK_NEVER)
        guard status == 0 else {
            fatalError("CommandQueue \(name): can't take its turn: \(statusText(status))")
        }
    }

    private func leave() {
        unsafe csk_gate_unlock(turn)
    }
}
