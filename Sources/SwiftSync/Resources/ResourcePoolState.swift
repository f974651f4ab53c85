import CSyncKernel

/// The resources of a pool and who uses them. Its steps are taken under the pool's lock, and call nobody.
///
/// Each resource is counted in `made`, from before its factory is called until it is to be closed, and in `closing`
/// from then until its `close` has returned.
struct ResourcePoolState<Resource: Sendable> {
    struct Idle {
        let resource: Resource
        let since: Int64
    }

    struct Use {
        let file: StaticString
        let line: UInt
        let since: Int64
    }

    /// The one that was used last stands last.
    private(set) var idle: [Idle] = []
    private(set) var uses: [UInt64: Use] = [:]
    private(set) var made = 0
    private(set) var closing = 0
    private(set) var isShutDown = false
    private var nextUse: UInt64 = 0
    /// Those who wait until nothing is left.
    private var drains: [TaskWait] = []
    /// A sweep is due.
    private var sweeps = false

    // MARK: - Uses

    enum Taken {
        case idle(Resource)
        /// None is there, and the one that the caller makes is counted.
        case isMadeByCaller
        /// The pool is shut down.
        case refused
    }

    mutating func take() -> Taken {
        if isShutDown { return .refused }
        if let last = idle.popLast() { return .idle(last.resource) }
        made += 1
        return .isMadeByCaller
    }

    mutating func begin(_ file: StaticString, _ line: UInt) -> UInt64 {
        nextUse += 1
        uses[nextUse] = Use(file: file, line: line, since: csk_now())
        return nextUse
    }

    /// Ends a use. It says whether the resource was kept, and when a sweep is to be made, if none is due.
    mutating func end(
        _ use: UInt64?, _ resource: Resource, _ disposition: ResourceLease.Disposition, at now: Int64,
        idleTimeout: Int64
    ) -> (isKept: Bool, sweepAt: Int64?) {
        if let use { uses[use] = nil }
        if disposition == .discard || isShutDown {
            made -= 1
            closing += 1
            return (false, nil)
        }
        idle.append(Idle(resource: resource, since: now))
        if sweeps || idleTimeout == Deadline.never { return (true, nil) }
        sweeps = true
        return (true, now &+ idleTimeout < now ? Deadline.never : now + idleTimeout)
    }

    /// A resource that was counted was not made.
    mutating func loseOne() -> [TaskWait] {
        made -= 1
        return takeDrainsIfEmpty()
    }

    mutating func endClosing() -> [TaskWait] {
        closing -= 1
        return takeDrainsIfEmpty()
    }

    // MARK: - Closing

    /// Takes those that have been idle for long enough, the oldest first, and says when the next sweep is to be made.
    mutating func takeExpired(at now: Int64, idleTimeout: Int64, minimum: Int) -> (expired: [Resource], next: Int64?) {
        var expired: [Resource] = []
        while let oldest = idle.first, made > minimum, now - oldest.since >= idleTimeout {
            expired.append(oldest.resource)
            idle.removeFirst()
            made -= 1
            closing += 1
        }
        sweeps = !idle.isEmpty
        // One that is kept as one of the fewest is looked at again after one more timeout.
        return (expired, idle.first.map { max($0.since, made > minimum ? $0.since : now) + idleTimeout })
    }

    /// Takes all that nobody uses, to be closed.
    mutating func takeAllIdle() -> [Resource] {
        let all = idle.map(\.resource)
        made -= all.count
        closing += all.count
        idle = []
        return all
    }

    /// Refuses whoever comes from now on. It returns false if that was so before.
    mutating func shutDown() -> Bool {
        defer { isShutDown = true }
        return !isShutDown
    }

    private var isEmpty: Bool { made == 0 && closing == 0 }

    /// Lets `wait` be resolved once nothing is left. It returns false if that is so already.
    mutating func addDrain(_ wait: TaskWait) -> Bool {
        if isEmpty { return false }
        drains.append(wait)
        return true
    }

    mutating func removeDrain(_ wait: TaskWait) { drains.removeAll { $0 === wait } }

    private mutating func takeDrainsIfEmpty() -> [TaskWait] {
        guard isShutDown, isEmpty else { return [] }
        defer { drains = [] }
        return drains
    }

    func report() -> ResourcePoolReport {
        let now = csk_now(), holders = uses.values.sorted { $0.since < $1.since }
        return ResourcePoolReport(
            holders: holders.map {
                .init(location: "\($0.file):\($0.line)", heldFor: .nanoseconds(max(0, now - $0.since)))
            }, unfinishedCount: made - uses.count + closing)
    }
}
