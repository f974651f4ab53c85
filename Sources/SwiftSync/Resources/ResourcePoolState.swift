import CSyncKernel

// More than 400 lines: one state, whose steps share its private properties, and the argument why it is right.

/// The resources of a pool, their users, the preparations, and the waiting requests. Its steps are taken under the
/// pool's lock, and call no other code: each adds to its ``Effects`` the actions to take once the lock is free.
/// Factory, check, `close`, and the releases of resources and errors are users' code, and run outside.
///
/// The states of a resource, and the steps between them:
///
/// | from | to | by |
/// |---|---|---|
/// | - | being made | ``prepare(_:at:)``, for waiting requests or for the minimum |
/// | being made | in use, or idle | ``finish(_:_:at:)``: the first in order gets it |
/// | being made | - | ``finish(_:_:at:)`` of a factory that threw: the first in order gets the error |
/// | being made | late, without a place | ``ring(_:dueAt:now:)``, once the factory has lasted for too long |
/// | late | being closed, without a place | ``finish(_:_:at:)`` |
/// | idle | in use | ``takeIdle(_:)``, ``enter(_:at:)``, ``serve(_:at:)``, where nothing is checked |
/// | idle | being checked | ``prepare(_:at:)``, for waiting requests |
/// | being checked | in use, or idle | ``finish(_:_:at:)`` |
/// | being checked | being closed | ``finish(_:_:at:)`` of one that is unfit, or late |
/// | in use | in use by the next, or idle | ``end(_:_:at:)`` |
/// | in use | being closed | ``end(_:_:at:)`` of one that is given up, or too old |
/// | idle | being closed | ``ring(_:dueAt:now:)``, ``popIdle(_:at:)`` of one that is too old, ``shutDown()`` |
/// | being closed | - | ``endClosing(_:at:)`` |
///
/// No request owns a factory's call or a check (a *preparation*). A request waits in the queue, and leaves it when it
/// gives up: nothing else changes then. So no deadline of a request ends a preparation that others need.
///
/// The invariants between the steps:
///
/// - `count` + `closing` <= `maximum`, and `count` is the number of resources that are idle, in use, being checked or
///   being made.
/// - `common` <= `maximum` - `reserved`: the places that low priorities have taken for uses, for preparations, and for
///   the closing after these. So a hanging call for them takes no reserved place.
/// - A preparation begins only while there are fewer preparations than waiting requests, or while resources of the
///   minimum are missing. For requests that may use the reserve, only preparations count that were not begun for low
///   priorities. Nor do low priorities take all calls that may run at once, if places are reserved and `makings` > 1,
///   or all that may be late.
/// - No request is refused for which a preparation begins. Besides these, more than `waiters` wait only while
///   preparations get slow or end.
/// - No request waits that could go on. Without a check, the first in order takes each resource that becomes idle,
///   under the same hold of the lock. If it can't, no request can, since those that may use the reserve are first. If
///   idle resources are checked, each waiting request has a preparation under way, as far as there are places and
///   `makingLimit` allows. Each preparation ends, by itself or by its timeout, and then the next begins.
/// - A factory that always fails is not called endlessly: each failure takes one request out of the queue, and the
///   minimum is made again after a pause that doubles.
@safe
struct ResourcePoolState {
    typealias Turn = Result<PooledResource, any Error>

    private let limits: ResourceLimits
    /// The resources that are idle, in use or being checked.
    private var members = ResourceList<PooledResource>()
    private var idle = IdleResources()
    /// Those of `members` that may get too old, the oldest first. A resource that got too old during its use is not in
    /// here.
    private var lifetimes = ResourceHeap<PooledResource>()
    private var queue: ResourceQueue
    private var preparations = ResourcePreparations()
    /// The number of late calls of factories, and of resources from such calls that are being closed.
    private var late = 0
    /// The number of these calls that were begun for low priorities.
    private var commonLate = 0
    /// The shutdowns that wait until nothing is left.
    private var drains: [TaskWait] = []
    private(set) var inUseCount = 0
    private(set) var closing = 0
    private var common = 0
    private(set) var isShutDown = false
    private var alarms = ResourceAlarms()
    private var pause = ResourcePause()

    init(_ limits: ResourceLimits) {
        self.limits = limits
        queue = ResourceQueue(bypassLimit: limits.bypassLimit)
    }

    var count: Int { members.count + preparations.makingCount }
    var idleCount: Int { idle.count }
    var waitingCount: Int { queue.count }

    // MARK: - Entering

    /// Takes an available resource in the common case. Nil decides nothing.
    mutating func takeIdle(_ request: ResourceRequest) -> PooledResource? {
        guard !isShutDown, !limits.checks, mayHaveOne(request), let newest = idle.newest else { return nil }
        let now = csk_now()
        if newest.expires <= now { return nil }
        idle.remove(newest)
        queue.countPass()
        begin(newest, request, at: now)
        return newest
    }

    /// Takes a resource without waiting, if there is one. It ignores the order, since no waiting request can go on.
    mutating func attempt(_ request: ResourceRequest, _ effects: inout Effects, at now: Int64) -> Turn? {
        if isShutDown { return .failure(ResourcePoolError.shutDown) }
        guard !limits.checks, mayHaveOne(request), let resource = popIdle(&effects, at: now) else { return nil }
        queue.countPass()
        begin(resource, request, at: now)
        return .success(resource)
    }

    /// Takes a resource, or queues the task in order, and begins missing preparations.
    mutating func enter(_ wait: ResourceWait, _ effects: inout Effects, at now: Int64) -> Turn? {
        if let turn = attempt(wait.request, &effects, at: now) { return turn }
        queue.append(wait, isCommon: isCommon(wait.request))
        wait.hasBegunSomething = prepare(&effects, at: now)
        if !wait.hasBegunSomething, queue.count - preparations.count > limits.waiters {
            queue.remove(wait, isServed: false)
            return .failure(ResourcePoolError.full)
        }
        hurry(for: wait, &effects)
        return nil
    }

    /// Records that a task waits no longer. It could not have gone on, so no other request can either.
    mutating func leave(_ wait: ResourceWait) { queue.remove(wait, isServed: false) }

    /// Records that a waiting task was escalated. No waiting request can go on, in whatever order, so this serves none.
    mutating func raise(_ wait: ResourceWait, to rank: Int64, below reserved: Int64) {
        queue.raise(wait, to: rank, below: reserved)
    }

    /// Records that this request's task has that priority now. The preparations for the waiting requests are raised to
    /// it.
    mutating func hurry(for wait: ResourceWait, at priority: TaskPriority) -> Effects {
        var effects = Effects()
        wait.ownPriority = max(wait.ownPriority, priority)
        hurry(for: wait, &effects)
        return effects
    }

    private mutating func hurry(for wait: ResourceWait, _ effects: inout Effects) {
        if wait.outcome != nil { return }
        let priority = wait.priority
        effects.steps += preparations.raise(to: priority).map { .escalate($0, priority) }
    }

    private func isCommon(_ request: ResourceRequest) -> Bool { limits.reserved > 0 && !request.mayUseReserve }
    private func mayHaveOne(_ request: ResourceRequest) -> Bool { !isCommon(request) || common < limits.common }

    // MARK: - Giving

    /// The request that is served next: one that was overtaken too often, if it can have a resource, or else the first
    /// in order.
    private var next: ResourceWait? {
        mutating get {
            if let overdue = queue.overdue(withCommon: common < limits.common) { return overdue }
            guard let first = queue.first, mayHaveOne(first.request) else { return nil }
            return first
        }
    }

    /// Gives a resource to the first in order, if it can have one.
    private mutating func give(_ resource: PooledResource, _ effects: inout Effects, at now: Int64) -> Bool {
        while let first = next {
            // A request that gave up meanwhile gets nothing.
            if !resolve(first, .success(resource), &effects) { continue }
            begin(resource, first.request, at: now)
            return true
        }
        return false
    }

    /// Takes a wait out of the queue with its outcome. It returns false if the wait was over.
    private mutating func resolve(_ wait: ResourceWait, _ turn: Turn, _ effects: inout Effects) -> Bool {
        wait.turn = turn
        let claim = wait.claim(0)
        var isServed = claim != .lost
        if case .failure = turn { isServed = false }
        queue.remove(wait, isServed: isServed)
        if claim == .mustResume { effects.steps.append(.resume(wait)) }
        return claim != .lost
    }

    /// Gives a free resource to the first in order, or lets it be idle.
    private mutating func offer(_ resource: PooledResource, _ effects: inout Effects, at now: Int64) {
        if give(resource, &effects, at: now) { return }
        resource.since = now
        idle.append(resource)
        setAlarm(.idle, &effects, at: now)
    }

    /// Without a check, gives idle resources to the requests that can have them now.
    private mutating func serve(_ effects: inout Effects, at now: Int64) {
        while !limits.checks, next != nil, let resource = popIdle(&effects, at: now) {
            if !give(resource, &effects, at: now) { idle.append(resource) }
        }
    }

    /// Takes the resource that was used last. Those that are too old are closed.
    private mutating func popIdle(_ effects: inout Effects, at now: Int64) -> PooledResource? {
        while let newest = idle.newest {
            idle.remove(newest)
            if newest.expires > now { return newest }
            close(newest, isCommon: false, &effects)
        }
        return nil
    }

    /// Serves all requests that can go on, and begins missing preparations. It is called whenever a place or a common
    /// place is free, or a resource is gone.
    private mutating func goOn(_ effects: inout Effects, at now: Int64) {
        if isShutDown { return wakeDrains(&effects) }
        serve(&effects, at: now)
        prepare(&effects, at: now)
    }

    // MARK: - Uses

    private mutating func begin(_ resource: PooledResource, _ request: ResourceRequest, at now: Int64) {
        resource.request = request
        resource.since = now
        inUseCount += 1
        if isCommon(request) { common += 1 }
    }

    /// Ends a use.
    mutating func end(_ resource: PooledResource, _ disposition: ResourceLease.Disposition, at now: Int64) -> Effects {
        var effects = Effects()
        let isCommon = isCommon(resource.request!)
        resource.request = nil
        inUseCount -= 1
        if disposition == .keep, !isShutDown, resource.expires > now {
            if isCommon { common -= 1 }
            offer(resource, &effects, at: now)
        } else {
            close(resource, isCommon: isCommon, &effects)
        }
        if queue.count > 0 || count < limits.minimum { goOn(&effects, at: now) }
        return effects
    }

    // MARK: - Preparing

    /// Begins the preparations for the minimum at the start.
    mutating func fill(at now: Int64) -> Effects {
        var effects = Effects()
        prepare(&effects, at: now)
        return effects
    }

    /// Begins checks and calls of the factory while fewer are under way than requests wait, or resources of the minimum
    /// are missing, and there are places. It returns whether any has begun.
    @discardableResult
    private mutating func prepare(_ effects: inout Effects, at now: Int64) -> Bool {
        preparations.noteSlow(at: now)
        var hasBegun = false
        while !isShutDown {
            let isForOthers = queue.count - queue.commonCount > preparations.count - preparations.commonCount
            var isForCommon = false
            if !isForOthers, queue.count > preparations.count, queue.commonCount > 0 {
                isForCommon = common < limits.common
            }
            if isForOthers || isForCommon, limits.checks, let resource = popIdle(&effects, at: now) {
                begin(resource, isForCommon, &effects, at: now)
            } else {
                // Low priorities that have their share of the calls don't keep the minimum from being made.
                isForCommon = isForCommon && mayMakeForCommon
                guard isForOthers || isForCommon || areFewestMissing(at: now), mayMake else { break }
                begin(nil, isForCommon, &effects, at: now)
            }
            hasBegun = true
        }
        return hasBegun
    }

    private func areFewestMissing(at now: Int64) -> Bool { count < limits.minimum && !pause.lasts(at: now) }

    /// Whether another call of the factory may run. Late calls for low priorities beyond their share count for low
    /// priorities alone.
    private var mayMake: Bool {
        if preparations.makingCount >= limits.makings || count + closing >= limits.maximum { return false }
        return late - max(commonLate - limits.commonLate, 0) < limits.late
    }

    /// Whether such a call may be for low priorities. If there is a reserve, they leave some to the others.
    private var mayMakeForCommon: Bool {
        preparations.commonMakingCount < limits.commonMakings && commonLate < limits.commonLate
    }

    private mutating func begin(
        _ checked: PooledResource?, _ isCommon: Bool, _ effects: inout Effects, at now: Int64
    ) {
        let preparation = ResourcePreparation(
            checking: checked, isCommon: isCommon, priority: queue.first?.priority, begin: now,
            deadline: Deadline.sum(now, limits.preparationTimeout))
        preparations.append(preparation, at: now)
        if isCommon { common += 1 }
        effects.steps.append(.start(preparation))
        setAlarm(.preparation, &effects, at: now)
    }

    /// Keeps the task of a preparation, which may have ended by now.
    func keep(_ task: Task<Void, Never>, for preparation: ResourcePreparation) -> Effects {
        var effects = Effects()
        preparation.task = task
        if isShutDown || preparation.isLate { effects.steps.append(.cancel(task)) }
        if preparation.priority > preparation.firstPriority ?? .medium {
            effects.steps.append(.escalate(task, preparation.priority))
        }
        return effects
    }

    /// Records that a factory or a check has ended. The caller keeps the result until the lock is free.
    mutating func finish(
        _ preparation: ResourcePreparation, _ outcome: ResourcePreparation.Outcome, at now: Int64
    ) -> Effects {
        var effects = Effects()
        preparations.remove(preparation)
        if preparation.isLate {
            finishLate(preparation, outcome, &effects, at: now)
            return effects
        }
        if let checked = preparation.checked, !isReady(outcome) || isShutDown || checked.expires <= now {
            // Its place is that of the check until it is closed.
            close(checked, isCommon: preparation.isCommon, &effects)
        } else {
            if preparation.isCommon { common -= 1 }
            switch outcome {
            case .ready(let resource):
                if preparation.checked == nil { add(resource, &effects, at: now) }
                if isShutDown {
                    close(resource, isCommon: false, &effects)
                } else {
                    offer(resource, &effects, at: now)
                }
            case .failed(let error): fail(preparation, error, &effects, at: now)
            case .unfit: break
            }
        }
        goOn(&effects, at: now)
        return effects
    }

    private func isReady(_ outcome: ResourcePreparation.Outcome) -> Bool {
        if case .ready = outcome { true } else { false }
    }

    /// A checked resource has its place, and is counted as closing. A made one has no place.
    private mutating func finishLate(
        _ preparation: ResourcePreparation, _ outcome: ResourcePreparation.Outcome, _ effects: inout Effects,
        at now: Int64
    ) {
        if let checked = preparation.checked {
            effects.steps.append(.close(.init(resource: checked, isCommon: preparation.isCommon, hasPlace: true)))
        } else if case .ready(let resource) = outcome {
            effects.steps.append(.close(.init(resource: resource, isCommon: preparation.isCommon, hasPlace: false)))
        } else {
            countLate(preparation.isCommon, -1)
            goOn(&effects, at: now)
        }
    }

    private mutating func countLate(_ isCommon: Bool, _ difference: Int) {
        late += difference
        if isCommon { commonLate += difference }
    }

    /// Gives up preparations that have lasted for too long. A factory's place is free; a check still has its resource.
    private mutating func giveUpLate(_ effects: inout Effects, at now: Int64) {
        while let given = preparations.giveUpLate(at: now) {
            if let task = given.task { effects.steps.append(.cancel(task)) }
            if let resource = given.checked {
                remove(resource)
                closing += 1
            } else {
                countLate(given.isCommon, 1)
                if given.isCommon { common -= 1 }
                fail(given, ResourcePoolError.makingTimedOut, &effects, at: now)
            }
        }
    }

    /// Records that a factory has failed. Its error goes to the first in order, or else to the report.
    private mutating func fail(
        _ call: ResourcePreparation, _ error: any Error, _ effects: inout Effects, at now: Int64
    ) {
        if isShutDown { return }
        var isTold = false
        while !isTold, let first = queue.first { isTold = resolve(first, .failure(error), &effects) }
        if !isTold { effects.steps.append(.report(error)) }
        if count >= limits.minimum { return }
        pause.begin(afterCallSince: call.begin, at: now)
        setAlarm(.minimum, &effects, at: now)
    }

    private mutating func add(_ resource: PooledResource, _ effects: inout Effects, at now: Int64) {
        members.append(resource)
        pause = ResourcePause()
        if resource.expires == Deadline.never { return }
        lifetimes.insert(resource, rank: -resource.expires)
        setAlarm(.lifetime, &effects, at: now)
    }

    private mutating func remove(_ resource: PooledResource) {
        lifetimes.remove(resource)
        members.remove(resource)
    }

    // MARK: - Closing

    /// Closes a resource that is neither in use nor idle any more.
    private mutating func close(_ resource: PooledResource, isCommon: Bool, _ effects: inout Effects) {
        remove(resource)
        closing += 1
        effects.steps.append(.close(.init(resource: resource, isCommon: isCommon, hasPlace: true)))
    }

    mutating func endClosing(_ resource: Closing, at now: Int64) -> Effects {
        var effects = Effects()
        if resource.hasPlace {
            closing -= 1
            if resource.isCommon { common -= 1 }
        } else {
            countLate(resource.isCommon, -1)
        }
        goOn(&effects, at: now)
        return effects
    }

    // MARK: - Times

    /// Takes the action that is due. It does nothing for a time that was replaced by another.
    mutating func ring(_ alarm: ResourceAlarm, dueAt due: Int64, now: Int64) -> Effects {
        var effects = Effects()
        guard alarms.begin(alarm, dueAt: due) else { return effects }
        switch alarm {
        case .idle:
            while count > limits.minimum, let oldest = idle.oldest, now - oldest.since >= limits.idleTimeout {
                idle.remove(oldest)
                close(oldest, isCommon: false, &effects)
            }
        case .lifetime:
            while let first = lifetimes.first, first.expires <= now {
                lifetimes.remove(first)
                // One that is used is closed when it comes back.
                if !idle.contains(first) { continue }
                idle.remove(first)
                close(first, isCommon: false, &effects)
            }
        case .preparation: giveUpLate(&effects, at: now)
        case .minimum: break
        }
        goOn(&effects, at: now)
        setAlarm(alarm, &effects, at: now)
        return effects
    }

    /// Asks for a call when the first of its kind is due. An alarm that is set stays: a later need is checked then.
    /// Only lifetimes may be due before an alarm that is set, since they differ; that alarm is still in time, since it
    /// is not later than the longest lifetime of any resource that was made after it.
    private mutating func setAlarm(_ alarm: ResourceAlarm, _ effects: inout Effects, at now: Int64) {
        let time: Int64, span: Int64
        switch alarm {
        case .idle:
            // Nothing is due at or below `minimum`: the next return of a resource checks again.
            guard limits.idleTimeout != Deadline.never, count > limits.minimum, let oldest = idle.oldest else { return }
            (time, span) = (Deadline.sum(oldest.since, limits.idleTimeout), limits.idleTimeout)
        case .lifetime:
            guard let first = lifetimes.first else { return }
            (time, span) = (first.expires, 0)
        case .preparation:
            guard let first = preparations.firstDeadline else { return }
            (time, span) = (first, 0)
        case .minimum:
            guard pause.lasts(at: now) else { return }
            (time, span) = (pause.end, 0)
        }
        if alarms.set(alarm, at: time, span: span, now: now) { effects.steps.append(.call(alarm, at: time)) }
    }

    // MARK: - Shutdown

    /// Refuses present and later requests; closes idle resources, and cancels preparations.
    mutating func shutDown() -> Effects {
        var effects = Effects()
        isShutDown = true
        while let oldest = idle.oldest {
            idle.remove(oldest)
            close(oldest, isCommon: false, &effects)
        }
        while let first = queue.first { _ = resolve(first, .failure(ResourcePoolError.shutDown), &effects) }
        for task in preparations.tasks { effects.steps.append(.cancel(task)) }
        return effects
    }

    private var isEmpty: Bool { count == 0 && closing == 0 && late == 0 }

    private mutating func wakeDrains(_ effects: inout Effects) {
        guard isShutDown, isEmpty else { return }
        for drain in drains where drain.claim(0) == .mustResume { effects.steps.append(.resume(drain)) }
        drains = []
    }

    /// Registers `wait`, to be resolved once nothing is left. It returns false if nothing is left already.
    mutating func addDrain(_ wait: TaskWait) -> Bool {
        if isEmpty { return false }
        drains.append(wait)
        return true
    }

    mutating func removeDrain(_ wait: TaskWait) { drains.removeAll { $0 === wait } }

    func report(name: String) -> ResourcePoolReport {
        let now = csk_now(), used = members.members.filter { $0.request != nil }.sorted { $0.since < $1.since }
        return ResourcePoolReport(
            poolName: name,
            holders: used.map { holder in
                .init(
                    location: holder.request.map { "\($0.file):\($0.line)" } ?? "",
                    heldFor: .nanoseconds(max(0, now - holder.since)))
            }, unfinishedCount: count - used.count - idle.count + closing + late)
    }
}
