/// A part of a task that runs at another priority than the task.
///
/// A task can't change its priority, and a child task has at least that of its parent. So the part is a task of its
/// own, for which the caller waits. It has the caller's name, task-local values and cancellation, and not its preferred
/// task executor. The caller does not wait for the task's `value`, since that would raise the task to the caller's
/// priority.
enum PartOfTask {
    /// Runs `body` at `priority`, on `actor`, where the caller is. It begins within this call, without a suspension
    /// before.
    static func run(at priority: TaskPriority, on actor: isolated any Actor, _ body: () async -> Void) async {
        let parent = OrderedActivation(cancelledAt: Deadline.never), enclosing = OrderedActivation.enclosing
        let isCancelled = Task.isCancelled, ended = TaskWait()
        await withoutActuallyEscaping(body) { body in
            // The caller waits until the task has ended, so at no time do both use what `body` captures.
            nonisolated(unsafe) let body = body
            let task = Task.immediate(name: Task.name, priority: priority) {
                if isCancelled { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
                await unsafe parent.run(inside: enclosing, isolation: actor, body)
                ended.resolve(0)
            }
            await withTaskCancellationHandler {
                _ = await ended.wait(isCancellable: false)
            } onCancel: {
                task.cancel()
            }
        }
    }
}
