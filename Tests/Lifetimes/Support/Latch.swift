import Dispatch
import Glibc
import Synchronization

/// What holds a queue, a lock or an executor while the probes hand things over.
final class Latch: Sendable {
    private let arrived = Atomic(0)
    private let isOpen = Atomic(false)
    private let blocked = DispatchSemaphore(value: 0)

    /// Blocks until it is opened.
    func block() {
        arrived.add(1, ordering: .sequentiallyConsistent)
        blocked.wait()
        blocked.signal()
    }

    /// Suspends until it is opened.
    func wait() async {
        arrived.add(1, ordering: .sequentiallyConsistent)
        while !isOpen.load(ordering: .sequentiallyConsistent) { try? await Task.sleep(for: .microseconds(200)) }
    }

    func open() {
        isOpen.store(true, ordering: .sequentiallyConsistent)
        blocked.signal()
    }

    /// Returns once somebody has come to it; false where that takes too long.
    func awaitArrival() -> Bool { comes(within: .seconds(10)) { arrived.now > 0 } }
}

/// Looks again and again until `condition` holds, or the time is over.
func comes(within limit: Duration, _ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + limit
    var pause: useconds_t = 20
    while !condition() {
        if ContinuousClock.now > end { return false }
        usleep(pause)
        pause = min(pause * 2, 2000)
    }
    return true
}
