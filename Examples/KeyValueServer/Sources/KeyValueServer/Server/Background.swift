import Dispatch
import SwiftSync
import Synchronization

/// What the server does off its event loops, on two queues.
///
/// Slow commands run two at a time, so that a `SCAN` does not have to wait for a `KEYS` over millions, and only so many
/// wait: one more is refused, and its client told. Maintenance is what nobody waits for: active expiry, statistics, the
/// freeing of what a `FLUSHALL` took out.
///
/// The library's workers serve nothing else in this program, so they take the smallest share of a busy processor.
final class Background: Sendable {
    let slow: ConcurrentWorkQueue
    let maintenance = WorkQueue(name: "maintenance", priority: .low)
    let slowLimit: Int
    private let periodic = Mutex<[DelayedWork]>([])
    private let wakeSleepers = DispatchSemaphore(value: 0)

    init(slowLimit: Int) {
        self.slowLimit = slowLimit
        slow = ConcurrentWorkQueue(name: "slow commands", width: 2, capacity: slowLimit, whenFull: .refuse)
    }

    /// Runs a slow command when it is its turn. False: too many wait, and it will not run.
    func runSlow(_ body: @escaping @Sendable () -> Void) -> Bool {
        slow.async {
            yieldProcessorToOthers()
            body()
        }
    }

    /// Runs `body` again and again on the maintenance queue, until the end.
    func maintain(every period: Duration, _ body: @escaping @Sendable () -> Void) {
        let work = maintenance.async(every: period) {
            yieldProcessorToOthers()
            body()
        }
        periodic.withLock { $0.append(work) }
    }

    /// Frees what a `FLUSHALL` took out, bucket by bucket, after its client has the answer.
    func free(_ removed: consuming FlushJob) {
        let place = Handover(removed)
        maintenance.async {
            yieldProcessorToOthers()
            var removed = place.take()
            while removed.freeBucket() {}
        }
    }

    /// Blocks for so long, or until the end.
    func sleep(seconds: Double) {
        // Longer than anybody waits, and yet within what a time can be.
        guard wakeSleepers.wait(timeout: .now() + min(max(seconds, 0), 1e9)) == .success else { return }
        wakeSleepers.signal()
    }

    /// Lets what was accepted end, and accepts nothing more. Blocks until `deadline` at most.
    ///
    /// - Returns: whether all of it has ended; the rest is given up.
    func stop(until deadline: ContinuousClock.Instant) -> Bool {
        for work in periodic.withLock({ $0 }) { work.cancel() }
        slow.shutdown()
        let slowEnded = ended(slow, until: deadline)
        // Slow commands leave work to the other queue.
        maintenance.shutdown()
        let maintenanceEnded = ended(maintenance, until: deadline)
        guard slowEnded && maintenanceEnded else {
            wakeSleepers.signal()
            slow.shutdown(cancelsPending: true)
            maintenance.shutdown(cancelsPending: true)
            // What runs ends on its own, and has an event loop to end on meanwhile.
            _ = ended(slow, until: .now + .seconds(1))
            return false
        }
        return true
    }

    private func ended(_ queue: WorkQueueBase, until deadline: ContinuousClock.Instant) -> Bool {
        (try? queue.blockingDrain(timeout: .until(deadline))) != nil
    }
}
