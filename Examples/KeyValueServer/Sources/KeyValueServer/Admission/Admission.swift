/// Decides when costly commands run, and on which threads: at most so many at once, the permits.
///
/// All ways run the same work. They differ in who is next, and in what a change of threads costs.
protocol Admission: Sendable {
    init(permits: Int)

    /// Runs `body` elsewhere, once, when it is its turn. Never blocks: it is called on event loops.
    func run(_ priority: ClientPriority, _ body: @escaping @Sendable () -> Void)

    /// Ends what threads there are. Called once, when nothing of what was given has still to run.
    func stop()
}

extension Admission {
    func stop() {}
}

/// The ways of admitting costly commands.
public enum AdmissionKind: String, CaseIterable, Sendable {
    /// `PrioritySemaphore` of this project, awaited.
    case prioritysemaphore
    /// A serial queue that waits for a `DispatchSemaphore` before it hands work to a concurrent one.
    case dispatchsemaphore
    /// `OperationQueue` and its priorities.
    case operationqueue
    /// swift-nio's `NIOThreadPool`, with a thread for each permit.
    case niothreadpool
    /// A semaphore of continuations that serves in order of arrival.
    case asyncsemaphore
    /// Actors, one for each permit.
    case actor

    func admission(permits: Int) -> any Admission {
        switch self {
        case .prioritysemaphore: PriorityAdmission(permits: permits)
        case .dispatchsemaphore: DispatchAdmission(permits: permits)
        case .operationqueue: OperationAdmission(permits: permits)
        case .niothreadpool: ThreadPoolAdmission(permits: permits)
        case .asyncsemaphore: ArrivalAdmission(permits: permits)
        case .actor: ActorAdmission(permits: permits)
        }
    }
}

extension ClientPriority {
    /// For the ways whose work is done by tasks.
    var ofTask: TaskPriority {
        switch self {
        case .low: .low
        case .normal: .medium
        case .high: .high
        }
    }
}
