/// A part of a task that runs at another priority than the task.
///
/// A task can't change its priority, and a child task has at least that of its parent. So the part is a separate task,
/// for which the caller waits. It has the caller's name, task-local values and cancellation, but not its preferred task
/// executor. The caller does not wait for the task's `value`, since that would raise the task to the caller's priority.
enum PartOfTask {
    /// Runs `body` at `priority`, on `actor`, where the caller runs. It begins within this call, before any suspension.
    static func run(at priority: TaskPriority, on actor: isolated any Actor, _ body: () async -> Void) async {
        let parent = OrderedActivation(cancelledAt: Deadline.never), enclosing = OrderedActivation.enclosing
        let ended = TaskWait(), cancellation = PartCancellation()
        await withoutActuallyEscaping(body) { body in
            // The caller waits until the task has ended, so at no time do both use what `body` captures. The task ends
            // without a suspension on the actor at which the caller continues, so nothing of the task is left then.
            nonisolated(unsafe) let body = body
            // The part runs up to its first suspension on the starting thread. It may be cancelled meanwhile.
            await withTaskCancellationHandler {
                _ = Task.immediate(name: Task.name, priority: priority) {
                    cancellation.begin()
                    await unsafe parent.run(inside: enclosing, isolation: actor, body)
                    ended.resolve(0)
                }
                _ = await ended.wait(isCancellable: false)
            } onCancel: {
                cancellation.cancel()
            }
        }
    }
}

/// Cancels a part with its task, also before it begins.
private final class PartCancellation: Sendable {
    private struct State {
        var isCancelled = false
        var part: RuntimeFacts.AnyTask?
    }
    private let state = PriorityMutex(State())

    /// Called at the start of the part.
    func begin() {
        let part = unsafe withUnsafeCurrentTask { unsafe RuntimeFacts.anyTask($0!) }
        let isCancelled = state.withLock { state in
            state.part = part
            return state.isCancelled
        }
        if isCancelled { part.cancel() }
    }

    func cancel() {
        let part = state.withLock { state in
            state.isCancelled = true
            return state.part
        }
        part?.cancel()
    }
}
