import CSyncKernel
import Synchronization

/// A queue whose work may be suspended for long, with other work behind it: see ``StalledQueues``.
protocol StallableQueue: AnyObject, Sendable {
    /// Its name in reports.
    var subject: String { get }
    /// Returns what is held up at this instant. It never waits.
    var standstill: Standstill { get }
    /// True once the watch checks the queue.
    var isLookedAt: Atomic<Bool> { get }
}

/// The work behind the running work of a queue.
enum Standstill: Equatable {
    case nothing
    /// Something waits, and `begun` works have begun: the last of these may hold it up.
    case some(begun: UInt64)
    /// Another thread is changing the queue.
    case unknown
}

/// Measures for how long the same work has held up a queue. It is a pure value.
struct StallWatch {
    private var begun: UInt64?
    private var since: Int64 = 0
    private var isTold = false

    /// Returns for how long the same work was seen, in nanoseconds, if that reaches `limit` with this check. `isFirst`
    /// is true for a check without a predecessor: what happened before it was not observed.
    mutating func look(_ standstill: Standstill, now: Int64, limit: Int64, isFirst: Bool) -> Int64? {
        if isFirst { begun = nil }
        switch standstill {
        case .unknown: return nil
        case .nothing: begun = nil
        case .some(let number) where number != begun: (begun, since, isTold) = (number, now, false)
        case .some where !isTold && now - since >= limit:
            isTold = true
            return now - since
        case .some: break
        }
        return nil
    }
}

/// The queues of the overlay that the deadlock watch checks: those to which work came behind other work while it was
/// on. It reports a queue (`queueStalled`) where the same work has held up others for as long as the watch's limit,
/// once for that work.
///
/// A queue is added to a list that only grows at its head, and which the watch's thread takes as a whole: no thread
/// waits here, and idle queues cost nothing. That thread alone owns the list of the taken queues, and changes it by
/// single stores, so that a child of fork finds it whole; only queues that were added just before the fork are not
/// checked in the child.
enum StalledQueues {
    private final class Member {
        weak var queue: (any StallableQueue)?
        var watch = StallWatch()
        /// The address of the member that was added before it, retained, or 0; until it is taken.
        var earlier: UInt = 0
        var next: Member?

        init(_ queue: any StallableQueue) {
            self.queue = queue
        }
    }

    /// The address of the last added member, retained, or 0. The release of each addition pairs with the acquire of the
    /// thread that takes the list.
    private static let latest = Atomic<UInt>(0)
    /// Only the watch's thread uses these two.
    nonisolated(unsafe) private static var first: Member?
    nonisolated(unsafe) private static var lastLook = Int64.min

    /// True while queues that get work are to be added.
    static var areWatched: Bool { csk_deadlock_is_watching() }

    /// Adds the queue, unless it was added before. It may allocate.
    static func add(_ queue: any StallableQueue) {
        if queue.isLookedAt.load(ordering: .relaxed) { return }
        if queue.isLookedAt.exchange(true, ordering: .relaxed) { return }
        let member = Member(queue)
        let address = unsafe UInt(bitPattern: Unmanaged.passRetained(member).toOpaque())
        while true {
            member.earlier = latest.load(ordering: .relaxed)
            if latest.weakCompareExchange(expected: member.earlier, desired: address, ordering: .releasing).exchanged {
                return
            }
        }
    }

    /// Checks each queue. The watch's thread calls this at each of its checks.
    static func look(now: Int64, limit: Int64) {
        // A second on a busy machine is no pause.
        let isFirst = unsafe lastLook == .min || now - lastLook - 1_000_000_000 > limit
        if unsafe !isFirst && now - lastLook < limit / 4 { return }
        takeThoseThatCame()
        unsafe lastLook = now
        var previous: Member?, member = unsafe first
        while let found = member {
            member = found.next
            if let queue = found.queue {
                previous = found
                if let stalled = found.watch.look(queue.standstill, now: now, limit: limit, isFirst: isFirst) {
                    report(queue, for: stalled)
                }
            } else if let previous {
                previous.next = member
            } else {
                unsafe first = member
            }
        }
    }

    private static func takeThoseThatCame() {
        var address = latest.exchange(0, ordering: .acquiring)
        while let member = unsafe UnsafeRawPointer(bitPattern: address) {
            let taken = unsafe Unmanaged<Member>.fromOpaque(member).takeRetainedValue()
            address = taken.earlier
            taken.next = unsafe first
            unsafe first = taken
        }
    }

    private static func report(_ queue: any StallableQueue, for stalled: Int64) {
        SyncDiagnostics.report(
            .queueStalled, subject: queue.subject,
            message: "work waits, and none has begun for \(Double(stalled / 100_000_000) / 10) s: the one that has its "
                + "turn runs, is suspended, or has no thread")
    }
}
