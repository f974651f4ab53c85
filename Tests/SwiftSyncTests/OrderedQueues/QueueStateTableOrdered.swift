import Testing

@testable import SwiftSync

/// What each call of an ordered queue comes to in each state of the queue: the rule is that a state of a queue refuses
/// what nobody waits for, is thrown by what can throw, and is waited out by the rest.
@Suite(.endsInTime)
struct QueueStateTableOrdered {
    enum Family: CaseIterable {
        case fifo, actor, mainActor, cancellableFIFO, cancellableActor, cancellableMainActor

        var isCancellable: Bool {
            self == .cancellableFIFO || self == .cancellableActor || self == .cancellableMainActor
        }

        func has(_ call: Call) -> Bool {
            !isCancellable || call.startsTask || self == .cancellableFIFO && call.isEnqueue
        }
    }

    /// In each, nothing begins until the end of the test.
    enum State {
        /// The queue is full, by the name of what it does then. Where it drops the oldest, others submit more work
        /// after the call.
        case fullWaiting, fullRefusing, fullDropping
        /// What has the turn is suspended, and there is room.
        case suspended
        case shutDown
        /// Its last reference goes after the call.
        case ownerGone
    }

    enum Call {
        case enqueue, enqueueInheriting, enqueueWaitingForRoom
        case enqueueAndWait, throwingEnqueueAndWait
        case task, throwingTask
        case drain

        var startsTask: Bool { self == .task || self == .throwingTask }
        var isEnqueue: Bool { self == .enqueue || self == .enqueueInheriting }
    }

    enum Mode: CaseIterable {
        case plain, timeout, cancelled
    }

    enum Outcome: Equatable {
        /// Its turn has come; for a cancelled call, with `Task.isCancelled` true.
        case runs, runsCancelled
        /// Nobody waits for it, and it was told so at once; or it was accepted and released later.
        case refused, dropped
        /// A drain returns, once everything that is before it has ended.
        case ends
        case fails(OrderedQueueError)
        /// There is no such call.
        case none
    }

    typealias Row = (State, Call, plain: Outcome, timeout: Outcome, cancelled: Outcome)

    static let table: [Row] = [
        (.fullWaiting, .enqueue, .refused, .none, .none),
        (.fullWaiting, .enqueueInheriting, .refused, .none, .none),
        (.fullWaiting, .enqueueWaitingForRoom, .runs, .fails(.timedOut), .fails(.cancelled)),
        (.fullWaiting, .enqueueAndWait, .runs, .none, .runsCancelled),
        (.fullWaiting, .throwingEnqueueAndWait, .runs, .fails(.timedOut), .fails(.cancelled)),
        (.fullWaiting, .task, .runs, .none, .runsCancelled),
        (.fullWaiting, .throwingTask, .runs, .none, .runsCancelled),
        (.fullWaiting, .drain, .ends, .fails(.timedOut), .fails(.cancelled)),

        (.fullRefusing, .enqueue, .refused, .none, .none),
        (.fullRefusing, .enqueueInheriting, .refused, .none, .none),
        (.fullRefusing, .enqueueWaitingForRoom, .fails(.full), .fails(.full), .fails(.full)),
        (.fullRefusing, .enqueueAndWait, .runs, .none, .runsCancelled),
        (.fullRefusing, .throwingEnqueueAndWait, .fails(.full), .fails(.full), .fails(.full)),
        (.fullRefusing, .task, .runs, .none, .runsCancelled),
        (.fullRefusing, .throwingTask, .fails(.full), .none, .fails(.full)),
        (.fullRefusing, .drain, .ends, .fails(.timedOut), .fails(.cancelled)),

        (.fullDropping, .enqueue, .dropped, .none, .none),
        (.fullDropping, .enqueueInheriting, .dropped, .none, .none),
        (.fullDropping, .enqueueWaitingForRoom, .dropped, .dropped, .dropped),
        (.fullDropping, .enqueueAndWait, .runs, .none, .runsCancelled),
        (.fullDropping, .throwingEnqueueAndWait, .runs, .fails(.timedOut), .fails(.cancelled)),
        (.fullDropping, .task, .runs, .none, .runsCancelled),
        (.fullDropping, .throwingTask, .runs, .none, .runsCancelled),
        (.fullDropping, .drain, .ends, .fails(.timedOut), .fails(.cancelled)),

        (.suspended, .enqueue, .runs, .none, .none),
        (.suspended, .enqueueInheriting, .runs, .none, .none),
        (.suspended, .enqueueWaitingForRoom, .runs, .runs, .runs),
        (.suspended, .enqueueAndWait, .runs, .none, .runsCancelled),
        (.suspended, .throwingEnqueueAndWait, .runs, .fails(.timedOut), .fails(.cancelled)),
        (.suspended, .task, .runs, .none, .runsCancelled),
        (.suspended, .throwingTask, .runs, .none, .runsCancelled),
        (.suspended, .drain, .ends, .fails(.timedOut), .fails(.cancelled)),

        (.shutDown, .enqueue, .refused, .none, .none),
        (.shutDown, .enqueueInheriting, .refused, .none, .none),
        (.shutDown, .enqueueWaitingForRoom, .fails(.shutDown), .fails(.shutDown), .fails(.shutDown)),
        (.shutDown, .enqueueAndWait, .runs, .none, .runsCancelled),
        (.shutDown, .throwingEnqueueAndWait, .fails(.shutDown), .fails(.shutDown), .fails(.shutDown)),
        (.shutDown, .task, .runs, .none, .runsCancelled),
        (.shutDown, .throwingTask, .fails(.shutDown), .none, .fails(.shutDown)),
        (.shutDown, .drain, .ends, .fails(.timedOut), .fails(.cancelled)),

        (.ownerGone, .enqueue, .runs, .none, .none),
        (.ownerGone, .enqueueInheriting, .runs, .none, .none),
        (.ownerGone, .enqueueWaitingForRoom, .runs, .runs, .runs),
        (.ownerGone, .enqueueAndWait, .runs, .none, .runsCancelled),
        (.ownerGone, .throwingEnqueueAndWait, .runs, .fails(.timedOut), .fails(.cancelled)),
        (.ownerGone, .task, .runs, .none, .runsCancelled),
        (.ownerGone, .throwingTask, .runs, .none, .runsCancelled),
        (.ownerGone, .drain, .ends, .fails(.timedOut), .fails(.cancelled)),
    ]

    struct Cell: Sendable, CustomTestStringConvertible {
        let family: Family, state: State, call: Call, mode: Mode, expected: Outcome

        var testDescription: String { "\(family), \(state): \(call), \(mode): \(expected)" }

        /// Whether the outcome is there while nothing begins.
        var endsBeforeOthers: Bool {
            switch expected {
            case .runs, .runsCancelled, .ends, .dropped, .none: false
            case .refused, .fails: true
            }
        }
    }

    static let cells: [Cell] = Family.allCases.flatMap { family in
        table.flatMap { row in
            [(Mode.plain, row.plain), (.timeout, row.timeout), (.cancelled, row.cancelled)].compactMap {
                mode, expected in
                if expected == .none || !family.has(row.1) { return nil }
                return Cell(family: family, state: row.0, call: row.1, mode: mode, expected: expected)
            }
        }
    }

    @Test(arguments: cells)
    func eachCallComesToWhatTheRuleSays(_ cell: Cell) async throws {
        let subject = await makeSubject(cell.family, cell.state)
        let ran = Shared<Outcome?>(nil), outcome = Shared<Outcome?>(nil), pending = subject.pendingCount
        let isCancelled = Flag()
        let caller = Task {
            let result = await subject.perform(cell.call, cell.mode, isCancelled) {
                ran.access { $0 = Task.isCancelled ? .runsCancelled : .runs }
            }
            outcome.access { $0 = result }
        }
        await waitUntil { outcome.value != nil || subject.pendingCount > pending }
        #expect(ran.value == nil, "nothing begins before the queue goes on")
        if cell.state == .fullDropping { for _ in 0..<3 { _ = subject.enqueue(inheriting: false) {} } }
        if cell.state == .ownerGone { subject.release() }
        if cell.mode == .cancelled {
            caller.cancel()
            // A task that it has started is pending before it is set to cancel that.
            if cell.call.startsTask { await waitUntil { isCancelled.isRaised || outcome.value != nil } }
        }
        if cell.endsBeforeOthers { await caller.value }
        await subject.goOn()
        await caller.value
        try await subject.waitForEnd()
        let accepted = outcome.value == .runs
        #expect((accepted ? ran.value ?? .dropped : outcome.value) == cell.expected)
        if !accepted { #expect(ran.value == nil) }
        #expect(subject.waitingCount == 0)
    }

    private func makeSubject(_ family: Family, _ state: State) async -> any OrderedSubject {
        let overflow: OverflowPolicy = state == .fullWaiting ? .wait : state == .fullDropping ? .dropOldest : .refuse
        let subject: any OrderedSubject
        switch family {
        case .fifo, .cancellableFIFO:
            subject = await FIFOSubject(FIFOQueue(capacity: 2, whenFull: overflow), family.isCancellable)
        case .actor, .cancellableActor:
            let actor = Bare(), queue = ActorQueue<Bare>(capacity: 2, whenFull: overflow)
            queue.adoptExecutionContext(of: actor)
            subject = await ActorSubject(queue, family.isCancellable)
        case .mainActor, .cancellableMainActor:
            subject = await ActorSubject(MainActorQueue(capacity: 2, whenFull: overflow), family.isCancellable)
        }
        switch state {
        case .fullWaiting, .fullRefusing, .fullDropping: for _ in 0..<2 { _ = subject.enqueue(inheriting: false) {} }
        case .shutDown: subject.shutdown()
        case .suspended, .ownerGone: break
        }
        return subject
    }
}

private actor Bare {}
private typealias Body = @Sendable () -> Void

/// A queue that is stopped, whose calls are alike whatever it is.
private protocol OrderedSubject: Sendable {
    func enqueue(inheriting: Bool, _ body: @escaping Body) -> Bool
    func enqueueWaitingForRoom(_ timeout: TimeLimit, _ body: @escaping Body) async throws
    func enqueueAndWait(_ body: Body) async
    func throwingEnqueueAndWait(_ timeout: TimeLimit, _ body: Body) async throws
    func task(_ body: @escaping Body) -> Task<Void, Never>
    func throwingTask(_ body: @escaping Body) -> Task<Void, any Error>
    func cancel<Failure>(_ task: Task<Void, Failure>)
    func drain(_ timeout: TimeLimit) async throws
    func shutdown()
    /// Lets go of the queue object.
    func release()
    var pendingCount: Int { get }
    var waitingCount: Int { get }
    /// Ends what has the turn.
    func goOn() async
    func waitForEnd() async throws
}

extension OrderedSubject {
    /// `.runs` for what was accepted.
    fileprivate func perform(
        _ call: QueueStateTableOrdered.Call, _ mode: QueueStateTableOrdered.Mode, _ isCancelled: Flag,
        _ body: @escaping Body
    ) async -> QueueStateTableOrdered.Outcome {
        let timeout: TimeLimit = mode == .timeout ? .milliseconds(1) : .never
        do {
            switch call {
            case .enqueue: return enqueue(inheriting: false, body) ? .runs : .refused
            case .enqueueInheriting: return enqueue(inheriting: true, body) ? .runs : .refused
            case .enqueueWaitingForRoom: try await enqueueWaitingForRoom(timeout, body)
            case .enqueueAndWait: await enqueueAndWait(body)
            case .throwingEnqueueAndWait: try await throwingEnqueueAndWait(timeout, body)
            case .task:
                let task = task(body)
                await withTaskCancellationHandler {
                    await task.value
                } onCancel: {
                    cancel(task)
                    isCancelled.raise()
                }
            case .throwingTask:
                let task = throwingTask(body)
                try await withTaskCancellationHandler {
                    try await task.value
                } onCancel: {
                    cancel(task)
                    isCancelled.raise()
                }
            case .drain:
                try await drain(timeout)
                return .ends
            }
            return .runs
        } catch { return .fails(error as! OrderedQueueError) }
    }
}

private final class FIFOSubject: OrderedSubject {
    private let owner: Shared<FIFOQueue?>
    private let cancellable: CancellableQueue<FIFOQueue>?
    private let storage: FIFOQueueStorage
    private let door: Door

    init(_ queue: FIFOQueue, _ isCancellable: Bool) async {
        door = await queue.stopAtDoor()
        storage = queue.storage
        owner = Shared(queue)
        cancellable = isCancellable ? CancellableQueue(underlyingQueue: queue) : nil
    }

    private var queue: FIFOQueue { owner.value! }

    func enqueue(inheriting: Bool, _ body: @escaping Body) -> Bool {
        if let cancellable { return cancellable.enqueue(inheritingTaskLocals: inheriting) { body() } }
        return inheriting ? queue.enqueue(inheritingTaskLocals: true) { body() } : queue.enqueue { body() }
    }
    func enqueueWaitingForRoom(_ timeout: TimeLimit, _ body: @escaping Body) async throws {
        try await queue.enqueueWaitingForRoom(timeout: timeout) { body() }
    }
    func enqueueAndWait(_ body: Body) async { await queue.enqueueAndWait { body() } }
    func throwingEnqueueAndWait(_ timeout: TimeLimit, _ body: Body) async throws {
        let work: @Sendable () async throws -> Void = { body() }
        try await queue.enqueueAndWait(timeout: timeout, work)
    }
    func task(_ body: @escaping Body) -> Task<Void, Never> {
        if let cancellable { Task(on: cancellable) { body() } } else { Task(on: queue) { body() } }
    }
    func throwingTask(_ body: @escaping Body) -> Task<Void, any Error> {
        if let cancellable { Task(on: cancellable) { body() } } else { Task(on: queue) { body() } }
    }
    func cancel<Failure>(_ task: Task<Void, Failure>) {
        if let cancellable { cancellable.cancelTasks() } else { task.cancel() }
    }
    func drain(_ timeout: TimeLimit) async throws { try await queue.drain(timeout: timeout) }
    func shutdown() { queue.shutdown() }
    func release() { owner.access { $0 = nil } }
    var pendingCount: Int { storage.pendingCount }
    var waitingCount: Int { storage.waitingCount }
    func goOn() async { door.open() }
    func waitForEnd() async throws {
        try await storage.takeTurn(.end, until: Deadline.never)
        storage.passTurnOn()
    }
}

private final class ActorSubject<ActorType: Actor>: OrderedSubject {
    private let owner: Shared<ActorQueue<ActorType>?>
    private let cancellable: CancellableQueue<ActorQueue<ActorType>>?
    private let storage: ActorQueueStorage
    private let actor: any Actor
    private let end: @Sendable () async -> Void

    init(_ queue: ActorQueue<ActorType>, _ isCancellable: Bool) async {
        end = await queue.stop()
        storage = queue.storage
        actor = queue.storage.actorOrStop()
        owner = Shared(queue)
        cancellable = isCancellable ? CancellableQueue(underlyingQueue: queue) : nil
    }

    private var queue: ActorQueue<ActorType> { owner.value! }

    func enqueue(inheriting: Bool, _ body: @escaping Body) -> Bool {
        inheriting ? queue.enqueue(inheritingTaskLocals: true) { _ in body() } : queue.enqueue { _ in body() }
    }
    func enqueueWaitingForRoom(_ timeout: TimeLimit, _ body: @escaping Body) async throws {
        try await queue.enqueueWaitingForRoom(timeout: timeout) { _ in body() }
    }
    func enqueueAndWait(_ body: Body) async { await queue.enqueueAndWait { _ in body() } }
    func throwingEnqueueAndWait(_ timeout: TimeLimit, _ body: Body) async throws {
        let work: @Sendable (isolated ActorType) async throws -> Void = { _ in body() }
        try await queue.enqueueAndWait(timeout: timeout, work)
    }
    func task(_ body: @escaping Body) -> Task<Void, Never> {
        if let cancellable { Task(on: cancellable) { _ in body() } } else { Task(on: queue) { _ in body() } }
    }
    func throwingTask(_ body: @escaping Body) -> Task<Void, any Error> {
        if let cancellable { Task(on: cancellable) { _ in body() } } else { Task(on: queue) { _ in body() } }
    }
    func cancel<Failure>(_ task: Task<Void, Failure>) {
        if let cancellable { cancellable.cancelTasks() } else { task.cancel() }
    }
    func drain(_ timeout: TimeLimit) async throws { try await queue.drain(timeout: timeout) }
    func shutdown() { queue.shutdown() }
    func release() { owner.access { $0 = nil } }
    var pendingCount: Int { storage.pendingCount }
    var waitingCount: Int { storage.waitingCount }
    func goOn() async { await end() }
    func waitForEnd() async throws {
        try await storage.drain(until: Deadline.never)
        withExtendedLifetime(actor) {}
    }
}
