import Synchronization

/// A call that starts a task on its own thread, by `Task.immediate`. The task may wait for its turn there, but must not
/// work there.
///
/// It looks for the end of the call, and not at which thread it is on: the compiler may ask for that only once.
final class StartingCall: Sendable {
    private let hasEnded = Atomic(false)

    func end() { hasEnded.store(true, ordering: .releasing) }

    /// Goes to a thread of the tasks' pool, unless the task has waited and is on one already.
    func leave() async {
        // More than once: where the pool is quicker than the suspension, the task goes on in place.
        while !hasEnded.load(ordering: .acquiring) { await Task.yield() }
    }
}
