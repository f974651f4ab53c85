import CSyncKernel

/// The commands of a ``CommandQueue`` that wait, in order, and whether a thread is performing them.
///
/// Each command is one allocation: a heap node followed by the two words of its closure. The lock is held only to
/// change links and flags. It is never held while a closure runs, is allocated or is released.
@safe
final class PendingCommands: @unchecked Sendable {
    @safe
    private struct Command {
        var node: csk_heap_node_t
        let closure: CommandQueue.Closure
    }

    /// Guarded by `lock`.
    @safe
    private struct State {
        var heap = unsafe csk_heap_t()
        var nextTicket: Int64 = 0
        /// Some thread is in `perform` and has not since seen the queue empty.
        var isPerforming = false
        /// `perform` was called inside a `performNow` while no other thread was performing. The thread of that
        /// `performNow` performs afterwards.
        var isPerformRequested = false
    }

    @safe private let lock: UnsafeMutablePointer<csk_gate_t>
    @safe private let state: UnsafeMutablePointer<State>

    init() {
        lock = .allocate(capacity: 1)
        unsafe lock.initialize(to: csk_gate_t())
        state = .allocate(capacity: 1)
        unsafe state.initialize(to: State())
    }

    deinit {
        while let command = unsafe pop() { unsafe release(command) }
        unsafe state.deallocate()
        unsafe lock.deallocate()
    }

    func insert(_ closure: @escaping CommandQueue.Closure, at priority: CommandQueue.Priority) {
        var node = unsafe csk_heap_node_t()
        unsafe node.rank = priority.rank
        let command = UnsafeMutablePointer<Command>.allocate(capacity: 1)
        unsafe command.initialize(to: Command(node: node, closure: closure))
        let link = unsafe command.pointer(to: \.node)!
        let direction: Int64 = priority.takesTheFront ? -1 : 1
        withLock {
            state.pointee.nextTicket += 1
            unsafe link.pointee.ticket = direction * state.pointee.nextTicket
            unsafe csk_heap_insert(state.pointer(to: \.heap)!, link)
        }
    }

    /// Returns true if the caller is to perform what is pending.
    func beginPerforming(insideCommand: Bool) -> Bool {
        withLock {
            if state.pointee.isPerforming { return false }
            if insideCommand {
                state.pointee.isPerformRequested = true
                return false
            }
            state.pointee.isPerforming = unsafe csk_heap_top(state.pointer(to: \.heap)!) != nil
            return state.pointee.isPerforming
        }
    }

    /// Returns the next command in order, or nil, after which the caller performs no more. Both are decided under one
    /// hold of the lock, so that no append falls in between.
    func nextOrEndPerforming() -> CommandQueue.Closure? {
        let first = unsafe withLock {
            let first = unsafe pop()
            if unsafe first == nil { state.pointee.isPerforming = false }
            return unsafe first
        }
        guard let first = unsafe first else { return nil }
        let closure = unsafe first.pointee.closure
        unsafe release(first)
        return closure
    }

    /// Returns true once after a request.
    func takePerformRequest() -> Bool {
        withLock {
            defer { state.pointee.isPerformRequested = false }
            return state.pointee.isPerformRequested
        }
    }

    private func pop() -> UnsafeMutablePointer<Command>? {
        guard let node = unsafe csk_heap_pop(state.pointer(to: \.heap)!) else { return nil }
        return unsafe Layout.whole(of: node, at: \Command.node)
    }

    private func release(_ command: UnsafeMutablePointer<Command>) {
        unsafe command.deinitialize(count: 1)
        unsafe command.deallocate()
    }

    private func withLock<R>(_ body: () -> R) -> R {
        unsafe csk_gate_lock(lock, CommandPriority.normal.rawValue)
        defer { unsafe csk_gate_unlock(lock) }
        return body()
    }
}
