import Synchronization

/// An actor for each permit, which get the commands in turn. An actor runs one at a time; among those that wait for it,
/// a task of higher priority goes first.
final class ActorAdmission: Admission {
    private actor Worker {
        func run(_ body: @Sendable () -> Void) { body() }
    }

    private let workers: [Worker]
    private let next = Atomic(0)

    init(permits: Int) { workers = (0..<permits).map { _ in Worker() } }

    func run(_ priority: ClientPriority, _ body: @escaping @Sendable () -> Void) {
        let worker = workers[next.wrappingAdd(1, ordering: .relaxed).oldValue % workers.count]
        Task(priority: priority.ofTask) {
            await worker.run(body)
        }
    }
}
