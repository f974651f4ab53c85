#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The thread that starts a task there, by `Task.immediate`. The task may wait for its turn on that thread, but must
/// not work on it.
struct CallingThread: @unchecked Sendable {
    // Sendable because a thread's name is only compared.
    private let thread = pthread_self()

    /// Goes to a thread of the tasks' pool, unless the task has waited and is on one already.
    func leave() async {
        // More than once: where the pool is quicker than the suspension, the task goes on in place.
        while pthread_equal(pthread_self(), thread) != 0 { await Task.yield() }
    }
}
