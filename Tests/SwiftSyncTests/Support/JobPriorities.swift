@testable import SwiftSync

/// Runs jobs on threads of their own, and notes their priorities.
final class JobPriorities: TaskExecutor {
    let seen = Shared([TaskPriority]())

    func enqueue(_ job: consuming ExecutorJob) {
        let priority = TaskPriority(job.priority) ?? .medium
        seen.access { $0.append(priority) }
        let job = UnownedJob(job), executor = asUnownedTaskExecutor()
        onThread { job.runSynchronously(on: executor) }
    }
}
