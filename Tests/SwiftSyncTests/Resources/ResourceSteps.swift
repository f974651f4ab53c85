import Testing

@testable import SwiftSync

// Steps of a pool's state, for tests that take them one at a time and without a thread.

extension ResourcePoolState.Effects {
    var toClose: [ResourcePoolState.Closing] {
        steps.compactMap { if case .close(let closing) = $0 { closing } else { nil } }
    }
    var toResume: [TaskWait] { steps.compactMap { if case .resume(let wait) = $0 { wait } else { nil } } }
    var started: [ResourcePreparation] {
        steps.compactMap { if case .start(let preparation) = $0 { preparation } else { nil } }
    }
    var cancelled: [Task<Void, Never>] { steps.compactMap { if case .cancel(let task) = $0 { task } else { nil } } }
    /// What the tasks that are raised are raised to.
    var raised: [TaskPriority] {
        steps.compactMap { if case .escalate(_, let priority) = $0 { priority } else { nil } }
    }
    /// The times at which the state is to be called.
    var calls: [Int64] { steps.compactMap { if case .call(_, let time) = $0 { time } else { nil } } }
    var reports: Int { steps.count { if case .report = $0 { true } else { false } } }
    /// The numbers of those that are to be closed.
    var closed: [Int] { toClose.map { number($0.resource) } }
}

func number(_ resource: PooledResource) -> Int { ResourcePool<Int>.resource(of: resource) }

func request(
    _ priority: CommandPriority = .normal, file: StaticString = #fileID, line: UInt = #line
) -> ResourceRequest {
    ResourceRequest(rank: CommandRank.of(priority), mayUseReserve: priority >= .high, file: file, line: line)
}

/// Queues a wait, and returns what that begins. The wait is never freed: the queue holds no reference, and the
/// optimizer may end the life of a test's variable early.
func enter(
    _ priority: CommandPriority, in state: inout ResourcePoolState, file: StaticString = #fileID, line: UInt = #line,
    at now: Int64 = 0
) throws -> (ResourceWait, ResourcePoolState.Effects) {
    let wait = ResourceWait(request(priority, file: file, line: line)), waiting = state.waitingCount
    var effects = ResourcePoolState.Effects()
    _ = Unmanaged.passRetained(wait)
    let turn = state.enter(wait, &effects, at: now)
    try #require(turn == nil && state.waitingCount == waiting + 1)
    return (wait, effects)
}

/// Queues a wait for which nothing begins.
func queue(_ priority: CommandPriority, in state: inout ResourcePoolState) -> ResourceWait {
    let (wait, effects) = try! enter(priority, in: &state)
    #expect(effects.started.isEmpty)
    return wait
}

/// Queues a wait for which a call of the factory, or a check, begins.
func queueMaking(
    _ priority: CommandPriority = .normal, in state: inout ResourcePoolState, file: StaticString = #fileID,
    line: UInt = #line, at now: Int64 = 0
) throws -> (ResourceWait, ResourcePreparation) {
    let (wait, effects) = try enter(priority, in: &state, file: file, line: line, at: now)
    try #require(effects.started.count == 1)
    return (wait, effects.started[0])
}

/// Makes a resource. Its use has begun.
func make(
    _ resource: Int, in state: inout ResourcePoolState, _ priority: CommandPriority = .normal, expires: Int64? = nil,
    at now: Int64 = 0
) throws -> PooledResource {
    let (wait, making) = try queueMaking(priority, in: &state, at: now), pooled = Pooled(resource)
    if let expires { pooled.expires = expires }
    let effects = state.finish(making, .ready(pooled), at: now)
    #expect(effects.toClose.isEmpty && effects.toResume.isEmpty)
    let made = try #require(wait.turn).get()
    #expect(wait.outcome == 0 && made === pooled)
    return made
}

/// Takes what must be idle.
func takeIdle(in state: inout ResourcePoolState) throws -> PooledResource {
    let resource = state.takeIdle(request())
    return try #require(resource)
}
