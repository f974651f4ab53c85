import CSyncKernel

/// The numbers of a pool, which never change.
struct ResourceLimits {
    let maximum: Int
    let minimum: Int
    let reserved: Int
    /// In nanoseconds.
    let idleTimeout: Int64
}

/// The resources of a pool, who uses them, and who waits. Its steps are taken under the pool's lock, and call nobody:
/// each returns what is to be done once the lock is free.
///
/// A resource has a place from before its factory is called until its `close` has returned. So
///
/// - `count` + `closing` <= `maximum`, and `count` is the number of those that are idle, in use, and being made;
/// - `common` <= `maximum` - `reserved`: the places that tasks of low priority have taken. Such a place stays theirs
///   until its resource is idle or gone. What a factory makes for a task that gave up, and what is being closed after
///   its use, is not idle.
///
/// Nobody waits who could go on: the first in order is asked whenever a resource becomes idle or a place free, and all
/// are refused by the shutdown. Either adds one resource or place, and so serves one of them at most.
@safe
struct ResourcePoolState {
    /// What is to be done outside of the lock.
    struct Effects {
        /// These are counted as closing.
        var toClose: [Closing] = []
        /// When ``ResourcePoolState/sweep(dueAt:now:)`` is to be called.
        var sweepAt: Int64?
        /// Waits that were decided, and whose tasks are parked.
        var toResume: [TaskWait] = []
    }

    /// A resource that is to be closed, and whether its place is one of those for all.
    struct Closing {
        let resource: PooledResource
        let isCommon: Bool
    }

    private let limits: ResourceLimits
    /// The one that was used last stands last.
    private var idle: [PooledResource] = []
    /// Those that are in use, each at its position.
    private var used: [PooledResource] = []
    private var queue = ResourceQueue()
    /// The calls of the factory for which a task waits.
    private var makings: [ResourceMaking] = []
    /// Those who wait until nothing is left.
    private var drains: [TaskWait] = []
    private(set) var count = 0
    private(set) var closing = 0
    private var common = 0
    private(set) var isShutDown = false
    /// When the next sweep is due, if one is.
    private var sweepDue: Int64?

    init(_ limits: ResourceLimits) { self.limits = limits }

    var idleCount: Int { idle.count }
    var inUseCount: Int { used.count }
    var waitingCount: Int { queue.count }

    // MARK: - Entering

    /// Gives a resource that is there, or nil: then it is for ``enter(_:)`` to say what becomes of the task.
    mutating func takeIdle(_ request: ResourceRequest) -> PooledResource? {
        guard case .use(let resource) = turn(for: request) else { return nil }
        take(.use(resource), request, at: csk_now())
        return resource
    }

    /// Gives what is there, or nil: then the task has to wait.
    mutating func enter(_ request: ResourceRequest) -> ResourceTurn? {
        guard let turn = turn(for: request) else { return nil }
        take(turn, request, at: csk_now())
        return turn
    }

    /// Does the same, or lets the task wait in order.
    mutating func enter(orQueue wait: ResourceWait) -> ResourceTurn? {
        if let turn = enter(wait.request) { return turn }
        queue.append(wait)
        return nil
    }

    /// A task waits no longer. It could not have gone on, so nobody else can either.
    mutating func leave(_ wait: ResourceWait) { queue.remove(wait) }

    /// What `request` would get now. It asks for no order: who waits can't go on.
    private func turn(for request: ResourceRequest) -> ResourceTurn? {
        if isShutDown { return .refusal }
        guard request.mayUseReserve || common < limits.maximum - limits.reserved else { return nil }
        if let last = idle.last { return .use(last) }
        return count + closing < limits.maximum ? .place : nil
    }

    /// Makes it so.
    private mutating func take(_ turn: ResourceTurn, _ request: ResourceRequest, at now: Int64) {
        switch turn {
        case .use(let resource):
            idle.removeLast()
            begin(resource, request, at: now)
        case .place: count += 1
        case .refusal: return
        }
        if !request.mayUseReserve { common += 1 }
    }

    /// Lets the first in order go on, if it can.
    private mutating func serve(_ effects: inout Effects, at now: Int64) {
        while let first = queue.first, let turn = turn(for: first.request) {
            queue.remove(first)
            first.turn = turn
            let claim = first.claim(0)
            // One that gave up meanwhile gets nothing.
            if claim == .lost { continue }
            take(turn, first.request, at: now)
            if claim == .mustResume { effects.toResume.append(first) }
        }
    }

    // MARK: - Uses

    private mutating func begin(_ resource: PooledResource, _ request: ResourceRequest, at now: Int64) {
        resource.request = request
        resource.since = now
        resource.position = used.count
        used.append(resource)
    }

    /// Ends a use.
    mutating func end(
        _ resource: PooledResource, _ disposition: ResourceLease.Disposition, at now: Int64
    ) -> Effects {
        let isCommon = !resource.request!.mayUseReserve
        resource.request = nil
        let last = used.removeLast()
        if last !== resource {
            used[resource.position] = last
            last.position = resource.position
        }
        return settle(resource, isKept: disposition == .keep, isCommon, at: now)
    }

    /// A resource that nobody uses becomes idle, or is closed.
    private mutating func settle(
        _ resource: PooledResource, isKept: Bool, _ isCommon: Bool, at now: Int64
    ) -> Effects {
        var effects = Effects()
        if isKept, !isShutDown {
            resource.since = now
            idle.append(resource)
            if isCommon { common -= 1 }
            serve(&effects, at: now)
            effects.sweepAt = nextSweep(at: now)
        } else {
            count -= 1
            closing += 1
            effects.toClose = [Closing(resource: resource, isCommon: isCommon)]
        }
        return effects
    }

    /// The place of a resource is free: that was closed, or could not be made.
    private mutating func freePlace(_ isCommon: Bool, _ effects: inout Effects, at now: Int64) {
        if isCommon { common -= 1 }
        serve(&effects, at: now)
        guard isShutDown, isEmpty else { return }
        for drain in drains where drain.claim(0) == .mustResume { effects.toResume.append(drain) }
        drains = []
    }

    // MARK: - Making

    /// Lets the shutdown know of a task that waits for the factory. It returns false if that has been already.
    mutating func begin(_ making: ResourceMaking) -> Bool {
        if isShutDown { return false }
        makings.append(making)
        return true
    }

    /// The factory has returned or thrown. Where its task has given up, the resource is for others.
    mutating func finish(
        _ making: ResourceMaking, _ made: Result<PooledResource, any Error>, at now: Int64
    ) -> Effects {
        makings.removeAll { $0 === making }
        switch made {
        case .success(let resource):
            making.made = made
            let claim = making.claim(0)
            if claim == .lost { return settle(resource, isKept: true, !making.request.mayUseReserve, at: now) }
            begin(resource, making.request, at: now)
            return Effects(toResume: claim == .mustResume ? [making] : [])
        case .failure:
            making.made = made
            let claim = making.claim(0)
            var effects = abandon(making.request, at: now)
            if claim == .mustResume { effects.toResume.append(making) }
            return effects
        }
    }

    /// Gives back a place for which nothing was made.
    mutating func abandon(_ request: ResourceRequest, at now: Int64) -> Effects {
        var effects = Effects()
        count -= 1
        freePlace(!request.mayUseReserve, &effects, at: now)
        return effects
    }

    // MARK: - Closing

    mutating func endClosing(_ resource: Closing, at now: Int64) -> Effects {
        var effects = Effects()
        closing -= 1
        freePlace(resource.isCommon, &effects, at: now)
        return effects
    }

    /// Takes those that have been idle for long enough, the oldest first, to be closed. It does nothing for a sweep in
    /// whose place there is another.
    mutating func sweep(dueAt due: Int64, now: Int64) -> Effects {
        if due != sweepDue { return Effects() }
        sweepDue = nil
        let extra = max(0, count - limits.minimum)
        let expired = idle.prefix(extra).prefix { now - $0.since >= limits.idleTimeout }.count
        return Effects(toClose: takeIdle(expired), sweepAt: nextSweep(at: now))
    }

    /// When a sweep is to be made that is not due yet. None is as long as there are no more than the fewest: when there
    /// are again, one of them comes back.
    private mutating func nextSweep(at now: Int64) -> Int64? {
        guard limits.idleTimeout != Deadline.never, count > limits.minimum, let oldest = idle.first else { return nil }
        // One that is as late as that was refused by the system.
        if let sweepDue, now - sweepDue < max(limits.idleTimeout, 1_000_000_000) { return nil }
        let (due, overflow) = oldest.since.addingReportingOverflow(limits.idleTimeout)
        sweepDue = overflow ? nil : due
        return sweepDue
    }

    /// Takes the oldest of those that nobody uses, to be closed.
    private mutating func takeIdle(_ number: Int) -> [Closing] {
        let taken = idle.prefix(number).map { Closing(resource: $0, isCommon: false) }
        idle.removeFirst(number)
        count -= number
        closing += number
        return taken
    }

    /// Takes all that nobody uses, to be closed.
    mutating func takeAllIdle() -> [Closing] { takeIdle(idle.count) }

    // MARK: - Shutdown

    /// Refuses whoever comes from now on, and whoever waits, for its turn or for the factory.
    mutating func shutDown() -> Effects {
        isShutDown = true
        var effects = Effects(toClose: takeAllIdle())
        serve(&effects, at: 0)
        for making in makings where making.claim(ESHUTDOWN) == .mustResume { effects.toResume.append(making) }
        return effects
    }

    private var isEmpty: Bool { count == 0 && closing == 0 }

    /// Lets `wait` be resolved once nothing is left. It returns false if that is so already.
    mutating func addDrain(_ wait: TaskWait) -> Bool {
        if isEmpty { return false }
        drains.append(wait)
        return true
    }

    mutating func removeDrain(_ wait: TaskWait) { drains.removeAll { $0 === wait } }

    func report(name: String) -> ResourcePoolReport {
        let now = csk_now(), holders = used.sorted { $0.since < $1.since }
        return ResourcePoolReport(
            poolName: name,
            holders: holders.map { holder in
                .init(
                    location: holder.request.map { "\($0.file):\($0.line)" } ?? "",
                    heldFor: .nanoseconds(max(0, now - holder.since)))
            }, unfinishedCount: count - holders.count + closing)
    }
}
