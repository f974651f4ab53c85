@testable import SwiftSync

/// Runs jobs on threads of their own, and notes their priorities.
///
/// A task that counts as waiting may still run for a moment: it goes on without a further job where what it waits for
/// comes first. `isIdle` says that it is suspended.
final class JobPriorities: TaskExecutor {
    let seen = Shared([TaskPriority]())
    private let ended = Shared(0)

    /// Whether each job has run to its end.
    var isIdle: Bool { seen.value.count == ended.value }

    func enqueue(_ job: consuming ExecutorJob) {
        let priority = TaskPriority(job.priority) ?? .medium
        seen.access { $0.append(priority) }
        let job = UnownedJob(job), executor = asUnownedTaskExecutor()
        onThread { [ended] in
            job.runSynchronously(on: executor)
            ended.access { $0 += 1 }
        }
    }
}
