import CSyncKernel
import Synchronization

/// A queue whose work may be suspended for long, with other work behind it: see ``StalledQueues``.
protocol StallableQueue: AnyObject, Sendable {
    /// What reports call it.
    var subject: String { get }
    /// What is held up just now. It waits for nobody.
    var standstill: Standstill { get }
    /// True once the watch looks at the queue.
    var isLookedAt: Atomic<Bool> { get }
}

/// What stands behind the running work of a queue.
enum Standstill: Equatable {
    case nothing
    /// Something waits, and `begun` works have begun: the last of these may hold it up.
    case some(begun: UInt64)
    /// Somebody is changing the queue just now.
    case unknown
}

/// Says for how long the same work has held up a queue. It is a pure value.
struct StallWatch {
    private var begun: UInt64?
    private var since: Int64 = 0
    private var isTold = false

    /// Returns for how long the same work was seen, in nanoseconds, if that has become `limit` with this look.
    /// `isFirst` is true for a look that does not follow another one: what happened before it was not watched.
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

/// The queues of the overlay at which the deadlock watch looks: those to which work came behind other work while it
/// was on. It reports a queue (`queueStalled`) where the same work has held up others for as long as the watch's limit,
/// once for that work.
///
/// A queue comes by a list that only grows at its head, and which the watch's thread takes as a whole: nobody waits for
/// anybody here, and nothing is done for queues that are idle. The list of those that have come is that thread's own,
/// and is changed by single stores, so that a child of fork finds it whole; but for queues that came just before the
/// fork, which the child's watch does not look at.
enum StalledQueues {
    private final class Member {
        weak var queue: (any StallableQueue)?
        var watch = StallWatch()
        /// The address of the one that came before it, retained, or 0; until it is taken.
        var earlier: UInt = 0
        var next: Member?

        init(_ queue: any StallableQueue) {
            self.queue = queue
        }
    }

    /// The address of the member that came last, retained, or 0. The release of each that comes pairs with the acquire
    /// of the thread that takes them.
    private static let latest = Atomic<UInt>(0)
    /// These two are the watch's thread's.
    nonisolated(unsafe) private static var first: Member?
    nonisolated(unsafe) private static var lastLook = Int64.min

    /// True while queues to which work comes are to be added.
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

    /// Looks at each queue. It is called on the watch's thread, each time that one looks.
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
